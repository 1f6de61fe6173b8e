"""What names stand for in a file, as imports tell it, and where their absence is reckoned with."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from patchkit.rows.target import Target
from patchkit.upstream.resolving.module_tree import ModuleTree

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_INNER = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)
_LEAVES = (ast.Name, ast.Constant, ast.Import, ast.ImportFrom)
_Bound = tuple[str, Target | None]
_ERRORS = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_WORD = re.compile(r"(?i).*version.*|find_spec|type_checking|envs|environ|getenv|signature")
_ASKS = frozenset({"hasattr", "getattr"})
_ENDS = (ast.Return, ast.Continue, ast.Break)
Deciding = (
    ast.With | ast.AsyncWith | ast.If | ast.IfExp | ast.Assert | ast.While | ast.Match | ast.BoolOp
)


def imported(node: ast.stmt, tree: ModuleTree) -> Iterator[tuple[str, Target, Target]]:
    """Give each name that an import binds, what it stands for, and what is imported."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            whole = Target(alias.name)
            top = alias.name.partition(".")[0]
            yield (alias.asname, whole, whole) if alias.asname else (top, Target(top), whole)
    elif isinstance(node, ast.ImportFrom) and (module := tree.absolute(node.module, node.level)):
        for alias in node.names:
            whole = Target(module, "" if alias.name == "*" else alias.name)
            yield alias.asname or alias.name, whole, whole


class LexicalScope:
    """The names of a scope; what anything but one import may bind stands for nothing known."""

    def __init__(
        self, node: ast.AST, tree: ModuleTree, outer: "LexicalScope | None", shared: Collection[str]
    ) -> None:
        self._outer = outer
        self._is_class = isinstance(node, ast.ClassDef)
        self._names: dict[str, set[Target | None]] = {}
        for name, place in _bound(_parts(node), tree):
            self._names.setdefault(name, set()).add(place)
        self._shared = shared  # what functions bind in scopes around them

    def find(self, name: str, *, inner: bool = False) -> Target | None:
        """Tell what a name stands for; None where that is not told, or not upstream's."""
        if name in self._shared:
            return None
        if name in self._names and not (inner and self._is_class):
            found = self._names[name]
            return next(iter(found)) if len(found) == 1 else None
        return self._outer.find(name, inner=True) if self._outer else None


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    if isinstance(node, COMPREHENSIONS):
        return [one.target for one in node.generators]
    if isinstance(node, FUNCTIONS):
        return [node.args, *(node.body if isinstance(node.body, list) else ())]
    return node.body if isinstance(node, (ast.Module, ast.ClassDef)) else ()


def _bound(nodes: Iterable[ast.AST], tree: ModuleTree) -> Iterator[_Bound]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((name, place) for name, place, _ in imported(node, tree))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, None
        elif isinstance(node, ast.arg):
            yield node.arg, None
        elif isinstance(name := getattr(node, "name", getattr(node, "rest", None)), str):
            yield name, None  # a definition, a handler, a pattern
        if isinstance(node, COMPREHENSIONS):
            waiting += (one.target for one in ast.walk(node) if isinstance(one, ast.NamedExpr))
        elif not isinstance(node, (*_LEAVES, *_INNER)):
            waiting += ast.iter_child_nodes(node)


def catches(node: ast.Try, *, at_import: bool = False) -> bool:
    """Whether a `try` reckons that something is not there; an import that ends so has failed."""
    handlers = [
        one for one in node.handlers if one.type is None or not _ERRORS.isdisjoint(_words(one.type))
    ]
    return any(not (at_import and isinstance(one.body[-1], ast.Raise)) for one in handlers)


class Guards:
    """The tests of a file that decide on what some import packages have."""

    def __init__(self, nodes: Sequence[ast.AST], roots: frozenset[str]) -> None:
        self._flags: set[str] = set()
        imports = [one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom))]
        ours = [one for one in imports if not roots.isdisjoint(_tops(one))]
        self._imported = {name for one in ours for name in stored(one)}
        for node in nodes:
            is_try = isinstance(node, ast.Try) and catches(node)
            if is_try and not {*ours}.isdisjoint(ast.iter_child_nodes(node)):
                self._flags |= stored(node)
        for node in nodes:
            if isinstance(node, ast.Assign) and self.tests(node.value):
                self._flags |= stored(node)

    def decides(self, node: Deciding) -> bool:
        """Whether what stands in it runs, or ends well, only where something is there."""
        if isinstance(node, (ast.With, ast.AsyncWith)):
            words = {word for item in node.items for word in _words(item.context_expr)}
            return "suppress" in words and not _ERRORS.isdisjoint(words)
        if isinstance(node, ast.BoolOp):
            return any(map(self.tests, node.values))
        return self.tests(node.subject if isinstance(node, ast.Match) else node.test)

    def tests(self, test: ast.expr) -> bool:
        """Whether a test may ask which release is there, or whether something is."""
        words = _words(test)
        if _ASKS & words and self._imported & words:
            return True
        return any(word in self._flags or _WORD.fullmatch(word) for word in words)

    def leaves(self, node: ast.stmt, *, at_import: bool) -> bool:
        """Whether what comes behind a statement runs only if a test says so, and else is missed."""
        if not isinstance(node, ast.If) or not self.tests(node.test):
            return False
        ends = _ENDS if at_import else (*_ENDS, ast.Raise)
        return any(isinstance(body[-1], ends) for body in (node.body, node.orelse) if body)


def _tops(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module]
    return {(name or "").partition(".")[0] for name in names}


def _words(node: ast.AST) -> set[str]:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node))
    return {name for name in names if isinstance(name, str)}


def stored(node: ast.AST) -> set[str]:
    """Name what code binds, wherever in it."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        elif isinstance(one, ast.alias):
            found.add(one.asname or one.name.partition(".")[0])
    return found
