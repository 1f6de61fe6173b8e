"""What a file uses of some import packages; not a line of it is run."""

import ast
import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import BLOCKS, ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, Signature, dotted, signature_of
from patchkit.analysis.uses.scopes import Deciding, Guards, catches, imported, names_of
from patchkit.core.rows.target import Target

_FUNCTIONS = (*DEFS, ast.Lambda)
_ASKS = {"hasattr": 2, "getattr": 3}  # with how many arguments they reckon with an absence
_IMPORTS = {"import_module": False, "find_spec": True}
_PLAIN = frozenset({"override", "abstractmethod"})


class Call(NamedTuple):
    """How something is called: so many by position, these by name; whether `*` or `**` adds any."""

    places: int
    names: tuple[str, ...] = ()
    more: bool = False
    bound: bool = False  # whether `self` comes by itself, as with `super().method()`


class Use(NamedTuple):
    """A name of upstream that a file uses."""

    target: Target
    how: str  # import, attribute, call, base or override
    path: str
    line: int
    guarded: bool  # whether the file reckons with its absence
    at_import: bool  # whether it is used as the file is imported
    call: Call | None = None
    ours: Signature | None = None  # of an override

    def as_data(self) -> tuple[Any, ...]:
        """Write it as JSON has it."""
        return (str(self.target), *self[1:-1], self.ours and self.ours.as_data())

    @classmethod
    def of_data(cls, data: Sequence[Any]) -> "Use":
        """Read what `as_data` has written."""
        target, how, path, line, guarded, at_import, call, ours = data
        known = None if call is None else Call(call[0], tuple(call[1]), *call[2:])
        signature = None if ours is None else Signature.of_data(ours)
        return cls(Target.parse(target), how, path, line, guarded, at_import, known, signature)


def uses_of(trees: Iterable[ModuleTree], roots: Collection[str]) -> list[Use]:
    """List what files use of import packages; what they set there themselves counts as guarded."""
    found: list[Use] = []
    given: set[str] = set()
    for tree in trees:
        reader = _Reader(tree, frozenset(roots))
        reader.read()
        found += reader.found
        given |= reader.given
    return [
        one if given.isdisjoint(_around(one.target)) else one._replace(guarded=True)
        for one in found
    ]


def _around(target: Target) -> Iterator[str]:
    """Name what has to be set for a target to be there: it, what holds it, its module."""
    whole = str(target).replace(":", ".")
    yield from (f"{target.module}:", f"{whole}:")
    while whole != target.module:
        yield whole
        whole = whole.rpartition(".")[0]


class _Reader:
    def __init__(self, tree: ModuleTree, roots: frozenset[str]) -> None:
        self._tree, self._roots = tree, roots
        nodes: list[ast.AST] = [tree.tree]
        for node in nodes:  # it grows by all statements
            nodes += (inner for block in BLOCKS for inner in getattr(node, block, ()))
        self._guards, self._names = Guards(nodes, roots), names_of(tree)
        self._guarded = self._in_function = False
        self._bases: list[Target] = []
        plain = (one for one in nodes if isinstance(one, ast.Import))
        names = [alias.name.split(".") for one in plain for alias in one.names]
        self._modules = {".".join(one[: end + 1]) for one in names for end in range(len(one))}
        assigned = (one for one in nodes if isinstance(one, ast.Assign) and _text(one.value))
        self._texts = {dotted(one.targets[0]): _text(one.value) for one in assigned}
        futures = (one for one in nodes if isinstance(one, ast.ImportFrom))
        self._is_lazy = any(one.module == "__future__" for one in futures)
        self.found: list[Use] = []
        self.given: set[str] = set()

    def read(self) -> None:
        self._block(self._tree.tree.body)

    def _is_ours(self, target: Target) -> bool:
        return target.module.partition(".")[0] in self._roots

    def _use(self, node: ast.AST, target: Target, how: str, **more: Call | Signature) -> None:
        if self._is_ours(target):
            place = (self._tree.path, getattr(node, "lineno", 0))
            state = (self._guarded, not self._in_function)
            self.found.append(Use(target, how, *place, *state, **more))  # type: ignore[arg-type]

    # --- where it stands

    def _block(self, body: Sequence[ast.stmt]) -> None:
        with self._as():
            for statement in body:
                with contextlib.suppress(RecursionError):  # those behind it are read
                    self._visit(statement)
                at_import = not self._in_function
                self._guarded |= self._guards.leaves(statement, at_import=at_import)

    @contextlib.contextmanager
    def _as(self, *, guarded: bool = False, called: bool = False) -> Iterator[None]:
        before = (self._guarded, self._in_function, self._bases)
        self._guarded |= guarded
        self._in_function |= called
        try:
            yield
        finally:
            self._guarded, self._in_function, self._bases = before

    def _visit(self, node: ast.AST) -> None:
        special = getattr(self, f"_{type(node).__name__}", self._children)
        special(node)

    def _children(self, node: ast.AST) -> None:
        # Python evaluates no annotation of a local variable.
        is_bare = self._is_lazy or (self._in_function and isinstance(node, ast.AnnAssign))
        for name, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            if name == "body" and isinstance(node, _FUNCTIONS):
                with self._as(called=True):
                    self._parts(parts)
            elif not (is_bare and name in ("annotation", "returns")):
                self._parts(parts)

    def _parts(self, several: Sequence[Any]) -> None:
        if several and isinstance(several[0], ast.stmt):
            self._block(several)
            return
        for one in several:
            if isinstance(one, ast.AST):
                self._visit(one)

    def _Try(self, node: ast.Try) -> None:  # noqa: N802 - ast's name
        with self._as(guarded=catches(node, at_import=not self._in_function)):
            self._block(node.body)
            for handler in node.handlers:
                self._visit(handler)
        self._block(node.orelse)
        self._block(node.finalbody)

    _TryStar = _Try

    def _decided(self, node: Deciding) -> None:
        with self._as(guarded=self._guards.decides(node)):
            self._children(node)

    _With = _AsyncWith = _If = _IfExp = _Assert = _While = _Match = _BoolOp = _decided

    def _ClassDef(self, node: ast.ClassDef) -> None:  # noqa: N802 - ast's name
        bases = [(base, self._place(base)) for base in node.bases]
        for base, place in bases:
            if place:
                self._use(base, place, "base")
            else:
                self._visit(base)
        for outside in (*node.decorator_list, *node.keywords):
            self._visit(outside)
        with self._as():
            self._bases = [place for _, place in bases if place] if len(bases) == 1 else []
            self._overrides(node, [place for _, place in bases if place])
            self._block(node.body)

    def _overrides(self, node: ast.ClassDef, bases: Sequence[Target]) -> None:
        for one in node.body:
            if isinstance(one, DEFS) and not one.name.startswith("__"):
                marks = {dotted(mark).rpartition(".")[2] for mark in one.decorator_list}
                ours = signature_of(one.args)
                for base in bases if marks <= _PLAIN else ():
                    self._use(one, _member(base, one.name), "override", ours=ours)

    # --- what is used

    def _Import(self, node: ast.Import | ast.ImportFrom) -> None:  # noqa: N802 - ast's name
        for _, _, whole in imported(node, self._tree):
            self._use(node, whole, "import")

    _ImportFrom = _Import

    def _Attribute(self, node: ast.Attribute) -> None:  # noqa: N802 - ast's name
        place = self._place(node)
        if place is None:
            self._children(node)
        elif isinstance(node.ctx, ast.Load):
            self._use(node, place, "attribute")
        else:
            self.given.add(str(place).replace(":", "."))
            self._visit(node.value)

    def _Subscript(self, node: ast.Subscript) -> None:  # noqa: N802 - ast's name
        if isinstance(node.ctx, ast.Store) and dotted(node.value) == "sys.modules":
            name = _text(node.slice) or self._texts.get(dotted(node.slice), "")
            self.given.add(f"{name}:" if "." in name else "")  # as a whole it is only stood in for
        self._children(node)

    def _Call(self, node: ast.Call) -> None:  # noqa: N802 - ast's name
        place = self._place(node.func)
        if place:
            self._use(node, place, "call", call=_call(node))
        elif not self._super(node):
            self._visit(node.func)
        self._named(node, dotted(node.func).rpartition(".")[2])
        for part in (*node.args, *node.keywords):
            self._visit(part)

    def _super(self, node: ast.Call) -> bool:
        func = node.func
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Call):
            return False
        is_super = dotted(func.value.func) == "super"
        for base in self._bases if is_super and not func.value.args else ():
            call = _call(node)._replace(bound=True)
            self._use(node, _member(base, func.attr), "call", call=call)
        return is_super

    def _named(self, node: ast.Call, name: str) -> None:
        text = _text(node.args[min(1, len(node.args) - 1)]) if node.args else ""
        if name in _IMPORTS and (text := _text(node.args[0]) if node.args else ""):
            if all(part.isidentifier() for part in text.split(".")):
                with self._as(guarded=_IMPORTS[name]):
                    self._use(node, Target(text), "import")
        elif name in (*_ASKS, "setattr") and len(node.args) > 1 and text.isidentifier():
            place = self._place(node.args[0])
            if place and name == "setattr":
                self.given.add(str(_member(place, text)).replace(":", "."))
            elif place:
                with self._as(guarded=len(node.args) >= _ASKS[name]):
                    self._use(node, _member(place, text), "attribute")

    def _place(self, node: ast.AST) -> Target | None:
        first, *rest = dotted(node).split(".")
        place = self._names.get(first)
        for name in rest if place else ():
            assert place is not None
            inner = f"{place.module}.{name}"
            is_module = not place.qualname and inner in self._modules
            place = Target(inner) if is_module else _member(place, name)
        return place if place and self._is_ours(place) else None


def _member(place: Target, name: str) -> Target:
    return Target(place.module, f"{place.qualname}.{name}".lstrip("."))


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _call(node: ast.Call) -> Call:
    stars = [one for one in node.args if isinstance(one, ast.Starred)]
    names = tuple(one.arg for one in node.keywords if one.arg)
    more = bool(stars) or len(names) < len(node.keywords)
    return Call(len(node.args) - len(stars), names, more)
