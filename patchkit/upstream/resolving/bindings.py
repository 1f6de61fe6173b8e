"""
What a name may be bound to once a scope has run, and on which condition.

The statements are followed in order for one name at a time; where a condition cannot be told,
both ways are followed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Protocol

from patchkit.upstream.resolving.binders import Binders
from patchkit.upstream.resolving.conditions import Condition, dotted, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from patchkit.upstream.resolving.module_tree import ModuleTree

_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError"}
_MUTATORS = {"append", "extend", "update", "add", "insert", "setdefault", "pop", "remove", "clear"}
_PROPERTY_PARTS = {"setter", "getter", "deleter"}
_NAME = re.compile(rb"([\w\x80-\xff]+)\s*\Z")
_LONGEST = 200
_NAMESPACES = {"globals", "vars", "locals"}


class Form(str, Enum):
    """How a name is bound."""

    FUNCTION = "def"
    CLASS = "class"
    ASSIGN = "assignment"
    IMPORT = "import"
    FROM = "from import"
    OTHER = "other"
    OPEN = "unknown"


@dataclass(frozen=True, eq=False)
class Binding:
    """
    One way in which a name is bound.

    Args:
        name: what is bound.
        form: how.
        node: the statement.
        value: the expression, for an assignment that has one for this name.
        module: absolute name of what is imported, or imported from.
        imported: the name there.
        parts: further statements that shape the value: setters, `+=`, `TABLE['k'] = …`.

    """

    name: str
    form: Form
    node: ast.stmt
    value: ast.expr | None = None
    module: str = ""
    imported: str = ""
    parts: tuple[ast.stmt, ...] = ()


@dataclass(frozen=True)
class Case:
    """A binding, None where the name is not bound, and the conditions of getting there."""

    binding: Binding | None
    conditions: tuple[Condition, ...] = ()


Cases = tuple[Case, ...]
UNBOUND: Cases = (Case(None),)


class Surroundings(Protocol):
    """What must be known about other modules to follow a scope."""

    @property
    def decide(self) -> Callable[[ast.expr, ModuleTree], bool | None]:
        """Tells whether a condition in a module holds; None where that cannot be told."""

    def exports(self, module: str, name: str) -> bool | None:
        """Whether `from module import *` brings a name; None where that cannot be told."""

    def has_module(self, name: str) -> bool:
        """Whether the release has such a module."""


class Flow:
    """
    Follows the statements of one scope for one name.

    Args:
        name: followed.
        tree: the module of the scope.
        around: other modules.
        until: the statement to stop before; None to the end.
        is_module: False in the body of a class.

    """

    def __init__(
        self,
        name: str,
        tree: ModuleTree,
        around: Surroundings,
        until: ast.stmt | None = None,
        *,
        is_module: bool = True,
    ) -> None:
        self._name = name
        self._tree = tree
        self._around = around
        self._until = (until.lineno, until.col_offset) if until else None
        self._package = tree.name if is_module and tree.is_package else None
        self._walrus = name in tree.by_file("walrus", lambda: _walrus_names(tree.source))
        self._raised: list[Cases] = []
        self.submodule_imported = False

    def whole(self, scope: ast.Module | ast.ClassDef) -> Cases | None:
        """Follow all statements of the scope; None where they always end in an error."""
        if self._walrus:
            return self.run(scope.body)
        key = ("binders", id(scope))
        binders: Binders = self._tree.by_file(key, lambda: Binders(self._tree, scope.body))
        return self.run(binders.of(self._name))

    def run(self, body: Iterable[ast.stmt], cases: Cases = UNBOUND) -> Cases | None:
        """Follow statements; None where they always end in an error."""
        now = cases
        for statement in body:
            if self._until and (statement.lineno, statement.col_offset) >= self._until:
                break
            after = self._one(statement, now)
            if after is None:
                return None
            now = after
        return now

    def _one(self, statement: ast.stmt, cases: Cases) -> Cases | None:
        if self._walrus and self._walrus_in(statement):
            cases = _merge(cases, self._bind(Form.OTHER, statement))
        step = self._STEPS.get(type(statement))
        return step(self, statement, cases) if step else cases

    def _bind(self, form: Form, node: ast.stmt, **details: str | ast.expr | None) -> Cases:
        return (Case(Binding(self._name, form, node, **details)),)  # type: ignore[arg-type]

    # --- definitions and assignments

    def _definition(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if node.name != self._name:
            return cases
        if isinstance(node, ast.ClassDef):
            return self._bind(Form.CLASS, node)
        if any(_is_property_part(one, node.name) for one in node.decorator_list):
            return _with_part(cases, node)
        return self._bind(Form.FUNCTION, node)

    def _assign(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, ast.Assign)
        for target in node.targets:
            cases = self._assign_to(target, node.value, node, cases)
        return cases

    def _ann_assign(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, ast.AnnAssign)
        if node.value is None:
            return cases
        return self._assign_to(node.target, node.value, node, cases)

    def _assign_to(
        self, target: ast.expr, value: ast.expr | None, node: ast.stmt, cases: Cases
    ) -> Cases:
        if isinstance(target, ast.Name):
            if target.id != self._name:
                return cases
            return self._bind(Form.ASSIGN if value is not None else Form.OTHER, node, value=value)
        if isinstance(target, (ast.Tuple, ast.List)):
            for one, of in zip(target.elts, _elements(target, value), strict=True):
                cases = self._assign_to(one, of, node, cases)
            return cases
        if isinstance(target, ast.Starred):
            return self._assign_to(target.value, None, node, cases)
        if isinstance(target, ast.Subscript):
            return self._assign_item(target, value, node, cases)
        return cases

    def _assign_item(
        self, target: ast.Subscript, value: ast.expr | None, node: ast.stmt, cases: Cases
    ) -> Cases:
        if isinstance(target.value, ast.Name) and target.value.id == self._name:
            return _with_part(cases, node)
        named = isinstance(target.slice, ast.Constant) and target.slice.value == self._name
        if named and _calls_namespace(target.value):
            return self._bind(Form.ASSIGN, node, value=value)
        return cases

    def _aug_assign(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, ast.AugAssign)
        if isinstance(node.target, ast.Name) and node.target.id == self._name:
            return _with_part(cases, node)
        return cases

    def _type_alias(self, node: ast.stmt, cases: Cases) -> Cases:
        if getattr(node, "name").id != self._name:  # noqa: B009 - a node of Python 3.12
            return cases
        return self._bind(Form.OTHER, node)

    def _expression(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, ast.Expr)
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            base = call.func.value
            if isinstance(base, ast.Name) and base.id == self._name:
                return _with_part(cases, node) if call.func.attr in _MUTATORS else cases
        return cases

    def _delete(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, ast.Delete)
        for target in node.targets:
            if self._name in _named(target):
                return UNBOUND
            if isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
                return _with_part(cases, node)
        return cases

    def _walrus_in(self, statement: ast.stmt) -> bool:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        return any(
            isinstance(node, ast.NamedExpr) and node.target.id == self._name
            for field in ast.iter_child_nodes(statement)
            if isinstance(field, (ast.expr, ast.withitem))
            for node in ast.walk(field)
        )

    # --- imports

    def _import(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, ast.Import)
        for alias in node.names:
            cases = self._submodule(alias.name, node, cases)
            top = alias.name.split(".")[0]
            if (alias.asname or top) == self._name:
                cases = self._bind(Form.IMPORT, node, module=alias.name if alias.asname else top)
        return cases

    def _import_from(self, node: ast.stmt, cases: Cases) -> Cases:
        assert isinstance(node, ast.ImportFrom)
        module = self._tree.absolute(node.module, node.level)
        if module is None:
            return cases
        cases = self._submodule(module, node, cases)
        for alias in node.names:
            cases = self._from(module, alias, node, cases)
        return cases

    def _from(self, module: str, alias: ast.alias, node: ast.stmt, cases: Cases) -> Cases:
        if alias.name == "*":
            brought = self._around.exports(module, self._name)
            if brought is None:
                return (*cases, *self._bind(Form.OPEN, node, module=module))
            if not brought:
                return cases
            return self._bind(Form.FROM, node, module=module, imported=self._name)
        cases = self._submodule(f"{module}.{alias.name}", node, cases)
        if (alias.asname or alias.name) != self._name:
            return cases
        if module == self._tree.name and self._around.has_module(f"{module}.{alias.name}"):
            return self._bind(Form.IMPORT, node, module=f"{module}.{alias.name}")
        return self._bind(Form.FROM, node, module=module, imported=alias.name)

    def _submodule(self, imported: str, node: ast.stmt, cases: Cases) -> Cases:
        """Importing a package's own submodule for the first time sets it on the package."""
        if self._package is None or self.submodule_imported:
            return cases
        mine = f"{self._package}.{self._name}"
        if imported != mine and not imported.startswith(f"{mine}."):
            return cases
        if not self._around.has_module(mine):
            return cases
        self.submodule_imported = True
        return self._bind(Form.IMPORT, node, module=mine)

    # --- branches

    def _if(self, node: ast.stmt, cases: Cases) -> Cases | None:
        assert isinstance(node, ast.If)
        truth = self._around.decide(node.test, self._tree)
        if truth is not None:
            return self.run(node.body if truth else node.orelse, cases)
        text = words(node.test)
        return _branches(
            (Condition(text, node.test), self.run(node.body, cases)),
            (Condition(f"not ({text})", node.test), self.run(node.orelse, cases)),
        )

    def _loop(self, node: ast.stmt, cases: Cases) -> Cases | None:
        assert isinstance(node, (ast.For, ast.AsyncFor, ast.While))
        entered = cases
        if isinstance(node, ast.While):
            test = self._around.decide(node.test, self._tree)
        else:
            test = _is_filled(node.iter)
            entered = self._assign_to(node.target, None, node, cases)
        once = self.run(node.body, entered)
        if test is True:
            return _merge(once or (), cases if once is None else ())
        if test is False:
            return self.run(node.orelse, cases)
        what = "the loop runs"
        return _branches((Condition(what), once), (Condition(f"not ({what})"), cases))

    def _with(self, node: ast.stmt, cases: Cases) -> Cases | None:
        assert isinstance(node, (ast.With, ast.AsyncWith))
        for item in node.items:
            if item.optional_vars is not None:
                cases = self._assign_to(item.optional_vars, None, node, cases)
        if not any(_is_suppress(item.context_expr) for item in node.items):
            return self.run(node.body, cases)
        points, end = self._points(node.body, cases, lambda _: True)
        text = words(node.items[0].context_expr)
        return _branches(
            (Condition("the with succeeds"), end),
            (Condition(text), points),
        )

    def _try(self, node: ast.stmt, cases: Cases) -> Cases | None:
        handlers: list[ast.ExceptHandler] = getattr(node, "handlers")  # noqa: B009 - also TryStar
        only_imports = all(_catches_imports(one) for one in handlers)
        points, end = self._points(
            getattr(node, "body"),  # noqa: B009
            cases,
            _may_fail_import if only_imports else _may_fail,
        )
        if end is not None:
            end = self.run(getattr(node, "orelse"), end)  # noqa: B009
        ways = [(Condition("the try succeeds"), end)]
        for handler in handlers:
            caught = self._handler(handler, points)
            ways.append((Condition(f"except {_caught(handler)}"), caught))
        after = _branches(*ways) if len(ways) > 1 else end
        return None if after is None else self.run(getattr(node, "finalbody"), after)  # noqa: B009

    def _handler(self, handler: ast.ExceptHandler, points: Cases) -> Cases | None:
        after = self.run(handler.body, points)
        if handler.name == self._name and after is not None:
            return UNBOUND  # Python deletes the name when it leaves the handler
        return after

    def _points(
        self, body: Sequence[ast.stmt], cases: Cases, may_fail: Callable[[ast.stmt], bool]
    ) -> tuple[Cases, Cases | None]:
        """Follow statements; also return what is bound wherever one of them may fail."""
        points: Cases = ()
        now: Cases | None = cases
        around, self._raised = self._raised, []
        for statement in body:
            assert now is not None
            before = now
            now = self.run([statement], now)
            if may_fail(statement):
                points = _merge(points, before)
                if isinstance(statement, _COMPOUND) and now is not None:
                    points = _merge(points, now)
            if now is None:
                break
        for raised in self._raised:
            points = _merge(points, raised)
        self._raised = around
        return points or cases, now

    def _match(self, node: ast.stmt, cases: Cases) -> Cases | None:
        assert isinstance(node, ast.Match)
        ways = []
        for one in node.cases:
            captured = self._name in _captured(one.pattern)
            entered = self._bind(Form.OTHER, node) if captured else cases
            words = f"case {ast.unparse(one.pattern)}"
            ways.append((Condition(words), self.run(one.body, entered)))
            # A pattern may capture, and not match for its guard or what follows in it.
            cases = _merge(cases, entered)
            if one.guard is None and _matches_all(one.pattern):
                return _branches(*ways)
        return _branches(*ways, (Condition("no case matches"), cases))

    def _stop(self, _node: ast.stmt, cases: Cases) -> None:
        self._raised.append(cases)

    _STEPS: ClassVar[dict[type, Callable[[Flow, ast.stmt, Cases], Cases | None]]] = {
        ast.FunctionDef: _definition,
        ast.AsyncFunctionDef: _definition,
        ast.ClassDef: _definition,
        ast.Assign: _assign,
        ast.AnnAssign: _ann_assign,
        ast.AugAssign: _aug_assign,
        ast.Expr: _expression,
        ast.Delete: _delete,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.If: _if,
        ast.For: _loop,
        ast.AsyncFor: _loop,
        ast.While: _loop,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.Match: _match,
        ast.Raise: _stop,
    }
    if hasattr(ast, "TryStar"):  # Python 3.11
        _STEPS[ast.TryStar] = _try
    if hasattr(ast, "TypeAlias"):  # Python 3.12
        _STEPS[ast.TypeAlias] = _type_alias


_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


def bound_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    """List the names that statements may bind, conditions aside; not those of star imports."""
    for statement in body:
        yield from _names_of(statement)
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                for inner in getattr(statement, field, ()):
                    yield from bound_names(
                        getattr(inner, "body", ()) if field in ("handlers", "cases") else [inner]
                    )


def _names_of(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _stored(target)
    elif isinstance(statement, (ast.AnnAssign, ast.For)):
        yield from _stored(statement.target)
    elif isinstance(statement, ast.Match):
        yield from (name for one in statement.cases for name in _captured(one.pattern))


def _stored(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _named(target: ast.expr) -> set[str]:
    """Name what `del` deletes, in brackets or not."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return {name for one in target.elts for name in _named(one)}
    return {target.id} if isinstance(target, ast.Name) else set()


def _captured(pattern: ast.pattern) -> set[str]:
    """Name what a pattern binds."""
    nodes = list(ast.walk(pattern))
    found = {one.name for one in nodes if isinstance(one, (ast.MatchAs, ast.MatchStar))}
    found |= {one.rest for one in nodes if isinstance(one, ast.MatchMapping)}
    return {name for name in found if name}


def _matches_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _merge(first: Cases, second: Cases) -> Cases:
    known = {id(case.binding) for case in first}
    return (*first, *(case for case in second if id(case.binding) not in known))


def _branches(*ways: tuple[Condition, Cases | None]) -> Cases | None:
    """Join what the ways that complete have bound; a condition stands where they differ."""
    complete = [(condition, cases) for condition, cases in ways if cases is not None]
    if not complete:
        return None
    everywhere = set.intersection(*({id(one.binding) for one in cases} for _, cases in complete))
    joined: dict[int, Case] = {}
    for condition, cases in complete:
        for case in cases:
            key = id(case.binding)
            if key not in joined:
                mark = () if key in everywhere else (condition,)
                joined[key] = replace(case, conditions=(*mark, *case.conditions))
    return tuple(joined.values())


def _with_part(cases: Cases, part: ast.stmt) -> Cases:
    return tuple(
        case
        if case.binding is None
        else replace(case, binding=replace(case.binding, parts=(*case.binding.parts, part)))
        for case in cases
    )


def _is_property_part(decorator: ast.expr, name: str) -> bool:
    return (
        isinstance(decorator, ast.Attribute)
        and decorator.attr in _PROPERTY_PARTS
        and isinstance(decorator.value, ast.Name)
        and decorator.value.id == name
    )


def _walrus_names(source: bytes) -> frozenset[str]:
    """List what `:=` may bind somewhere in a file."""
    before = (part[-_LONGEST:] for part in source.split(b":=")[:-1])
    found = (_NAME.search(part) for part in before)
    return frozenset(one[1].decode(errors="replace") for one in found if one)


def _elements(target: ast.Tuple | ast.List, value: ast.expr | None) -> list[ast.expr | None]:
    starred = any(isinstance(one, ast.Starred) for one in target.elts)
    if isinstance(value, (ast.Tuple, ast.List)) and not starred:
        parts: list[ast.expr | None] = list(value.elts)
        return parts if len(parts) == len(target.elts) else [None] * len(target.elts)
    return [None] * len(target.elts)


def _calls_namespace(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in _NAMESPACES and not node.args


def _is_filled(iterated: ast.expr) -> bool | None:
    if not isinstance(iterated, (ast.Tuple, ast.List, ast.Set)):
        return None
    return (
        None if any(isinstance(one, ast.Starred) for one in iterated.elts) else bool(iterated.elts)
    )


def _is_suppress(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and dotted(context.func).endswith("suppress")


def _caught(handler: ast.ExceptHandler) -> str:
    return words(handler.type) if handler.type is not None else "anything"


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is not None and dotted(kind) in _IMPORT_ERRORS for kind in kinds)


def _may_fail(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return bool(statement.decorator_list)
    if isinstance(statement, ast.Assign):
        return not isinstance(statement.value, (ast.Constant, ast.Name))
    return not isinstance(statement, (ast.Pass, ast.Global))


def _may_fail_import(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return any(
        isinstance(node, (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute))
        for node in ast.walk(statement)
    )
