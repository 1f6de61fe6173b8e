"""
The statements of a scope, followed in order for one name at a time.

Where a condition cannot be told, both ways are followed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from patchkit.upstream.resolving.bindings import (
    UNBOUND,
    Binders,
    Binding,
    Case,
    Condition,
    Form,
    joined,
    merged,
    shaped,
    walrus_names,
)
from patchkit.upstream.resolving.syntax import dotted, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from patchkit.upstream.resolving.bindings import Cases
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MUTATORS = {"append", "extend", "update", "add", "insert", "setdefault", "pop", "remove", "clear"}
_PROPERTY_PARTS = {".setter", ".getter", ".deleter"}
_FAILING = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.Subscript, ast.Raise)
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


class Flow:
    """
    Follows the statements of one scope for one name.

    Args:
        name: followed.
        tree: the module of the scope.
        lookup: knows about other modules.
        until: the statement to stop before; None to the end.
        is_module: False in the body of a class.

    """

    def __init__(
        self,
        name: str,
        tree: ModuleTree,
        lookup: Lookup,
        until: ast.stmt | None = None,
        *,
        is_module: bool = True,
    ) -> None:
        self._name = name
        self._tree = tree
        self._lookup = lookup
        self._until = (until.lineno, until.col_offset) if until else None
        self._package = tree.name if is_module and tree.is_package else None
        self._has_walrus = tree.by_file("walrus", lambda: b":=" in tree.source)
        self._raised: list[Cases] = []
        self.submodule_imported = False

    def whole(self, scope: ast.Module | ast.ClassDef) -> Cases | None:
        """Follow all statements of the scope; None where they always end in an error."""
        return self.run(Binders.of_scope(self._tree, scope).of(self._name))

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
        if self._has_walrus and self._name in walrus_names(statement):
            cases = merged(cases, self._bind(Form.OTHER, statement))
        step = self._STEPS.get(type(statement))
        return step(self, statement, cases) if step else cases

    def _bind(self, form: Form, node: ast.stmt, **details: str | ast.expr | None) -> Cases:
        return (Case(Binding(self._name, form, node, **details)),)  # type: ignore[arg-type]

    # --- definitions and assignments

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, cases: Cases
    ) -> Cases:
        if node.name != self._name:
            return cases
        if isinstance(node, ast.ClassDef):
            return self._bind(Form.CLASS, node)
        if _PROPERTY_PARTS & {dotted(mark).removeprefix(node.name) for mark in node.decorator_list}:
            return shaped(cases, node)
        return self._bind(Form.FUNCTION, node)

    def _assign(self, node: ast.Assign | ast.AnnAssign, cases: Cases) -> Cases:
        if node.value is None:
            return cases
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            cases = self._assign_to(target, node.value, node, cases)
        return cases

    def _assign_to(
        self, target: ast.expr, value: ast.expr | None, node: ast.stmt, cases: Cases
    ) -> Cases:
        if isinstance(target, ast.Name):
            if target.id != self._name:
                return cases
            return self._bind(Form.ASSIGN if value is not None else Form.OTHER, node, value=value)
        if isinstance(target, (ast.Tuple, ast.List)):
            for element, of in zip(target.elts, _elements(target, value), strict=True):
                cases = self._assign_to(element, of, node, cases)
            return cases
        if isinstance(target, ast.Starred):
            return self._assign_to(target.value, None, node, cases)
        if isinstance(target, ast.Subscript):
            return shaped(cases, node) if dotted(target.value) == self._name else cases
        return cases

    def _aug_assign(self, node: ast.AugAssign, cases: Cases) -> Cases:
        return shaped(cases, node) if dotted(node.target) == self._name else cases

    def _type_alias(self, node: ast.stmt, cases: Cases) -> Cases:
        if getattr(node, "name").id != self._name:  # noqa: B009 - a node of Python 3.12
            return cases
        return self._bind(Form.OTHER, node)

    def _expression(self, node: ast.Expr, cases: Cases) -> Cases:
        if isinstance(node.value, ast.Call):
            owner, _, method = dotted(node.value.func).rpartition(".")
            if owner == self._name and method in _MUTATORS:
                return shaped(cases, node)
        return cases

    def _delete(self, node: ast.Delete, cases: Cases) -> Cases:
        for target in node.targets:
            if any(_deletes(part, self._name) for part in ast.walk(target)):
                return UNBOUND
            if isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
                return shaped(cases, node)
        return cases

    # --- imports

    def _import(self, node: ast.Import, cases: Cases) -> Cases:
        for alias in node.names:
            cases = self._submodule(alias.name, node, cases)
            top = alias.name.split(".")[0]
            if (alias.asname or top) == self._name:
                cases = self._bind(Form.IMPORT, node, module=alias.name if alias.asname else top)
        return cases

    def _import_from(self, node: ast.ImportFrom, cases: Cases) -> Cases:
        module = self._tree.absolute(node.module, node.level)
        if module is None:
            return cases
        cases = self._submodule(module, node, cases)
        for alias in node.names:
            cases = self._from(module, alias, node, cases)
        return cases

    def _from(self, module: str, alias: ast.alias, node: ast.stmt, cases: Cases) -> Cases:
        if alias.name == "*":
            brought = self._lookup.exports(module, self._name)
            if brought is None:
                return (*cases, *self._bind(Form.OPEN, node, module=module))
            if not brought:
                return cases
            return self._bind(Form.FROM, node, module=module, imported=self._name)
        cases = self._submodule(f"{module}.{alias.name}", node, cases)
        if (alias.asname or alias.name) != self._name:
            return cases
        if module == self._tree.name and self._lookup.has_module(f"{module}.{alias.name}"):
            return self._bind(Form.IMPORT, node, module=f"{module}.{alias.name}")
        return self._bind(Form.FROM, node, module=module, imported=alias.name)

    def _submodule(self, imported: str, node: ast.stmt, cases: Cases) -> Cases:
        """Importing a package's own submodule for the first time sets it on the package."""
        if self._package is None or self.submodule_imported:
            return cases
        mine = f"{self._package}.{self._name}"
        if imported != mine and not imported.startswith(f"{mine}."):
            return cases
        if not self._lookup.has_module(mine):
            return cases
        self.submodule_imported = True
        return self._bind(Form.IMPORT, node, module=mine)

    # --- branches

    def _if(self, node: ast.If, cases: Cases) -> Cases | None:
        truth = self._lookup.decide(node.test, self._tree)
        if truth is not None:
            return self.run(node.body if truth else node.orelse, cases)
        text = words(node.test)
        return joined(
            (Condition(text, node.test), self.run(node.body, cases)),
            (Condition(f"not ({text})", node.test), self.run(node.orelse, cases)),
        )

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, cases: Cases) -> Cases | None:
        truth, entered = None, cases
        if isinstance(node, ast.While):
            truth = self._lookup.decide(node.test, self._tree)
        else:
            entered = self._assign_to(node.target, None, node, cases)
        if truth is False:
            return self.run(node.orelse, cases)
        once = self.run(node.body, entered)
        if truth:
            return merged(once or (), cases if once is None else ())
        what = "the loop runs"
        return joined((Condition(what), once), (Condition(f"not ({what})"), cases))

    def _with(self, node: ast.With | ast.AsyncWith, cases: Cases) -> Cases | None:
        for item in node.items:
            if item.optional_vars is not None:
                cases = self._assign_to(item.optional_vars, None, node, cases)
        end = self.run(node.body, cases)
        if not any(_is_suppress(item.context_expr) for item in node.items):
            return end
        text = words(node.items[0].context_expr)
        return joined((Condition("the with succeeds"), end), (Condition(text), cases))

    def _try(self, node: ast.Try, cases: Cases) -> Cases | None:
        points, end = self._points(node.body, cases)
        if end is not None:
            end = self.run(node.orelse, end)
        ways = [(Condition("the try succeeds"), end)]
        for handler in node.handlers:
            error = words(handler.type) if handler.type else "anything"
            ways.append((Condition(f"except {error}"), self._handler(handler, points)))
        after = joined(*ways) if len(ways) > 1 else end
        return None if after is None else self.run(node.finalbody, after)

    def _handler(self, handler: ast.ExceptHandler, points: Cases) -> Cases | None:
        after = self.run(handler.body, points)
        if handler.name == self._name and after is not None:
            return UNBOUND  # Python deletes the name when it leaves the handler
        return after

    def _points(self, body: Sequence[ast.stmt], cases: Cases) -> tuple[Cases, Cases | None]:
        """Follow statements; also return what is bound wherever one of them may fail."""
        points: Cases = ()
        now: Cases | None = cases
        around, self._raised = self._raised, []
        for statement in body:
            before = now or ()
            now = self.run([statement], before)
            if _may_fail(statement):
                points = merged(points, before)
                points = merged(points, (isinstance(statement, _COMPOUND) and now) or ())
            if now is None:
                break
        for raised in self._raised:
            points = merged(points, raised)
        self._raised = around
        return points or cases, now

    def _match(self, node: ast.Match, cases: Cases) -> Cases | None:
        ways = []
        for branch in node.cases:
            captured = self._name in map(_captured, ast.walk(branch.pattern))
            entered = self._bind(Form.OTHER, node) if captured else cases
            ways.append(
                (Condition(f"case {ast.unparse(branch.pattern)}"), self.run(branch.body, entered))
            )
            if isinstance(branch.pattern, ast.MatchAs) and not (
                branch.pattern.pattern or branch.guard
            ):
                return joined(*ways)
            # A pattern may capture, and not match for its guard or what follows in it.
            cases = merged(cases, entered)
        return joined(*ways, (Condition("no case matches"), cases))

    def _stop(self, _node: ast.stmt, cases: Cases) -> None:
        self._raised.append(cases)

    _STEPS: ClassVar[dict[type, Callable[..., Cases | None]]] = {
        ast.FunctionDef: _definition,
        ast.AsyncFunctionDef: _definition,
        ast.ClassDef: _definition,
        ast.Assign: _assign,
        ast.AnnAssign: _assign,
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


def _captured(node: ast.AST) -> str | None:
    """Name what a part of a pattern binds."""
    return node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)


def _deletes(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Del)


def _elements(target: ast.Tuple | ast.List, value: ast.expr | None) -> list[ast.expr | None]:
    values: list[ast.expr | None] = []
    if isinstance(value, (ast.Tuple, ast.List)):
        values += value.elts
    is_plain = not any(isinstance(element, ast.Starred) for element in (*target.elts, *values))
    return values if is_plain and len(values) == len(target.elts) else [None] * len(target.elts)


def _is_suppress(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and dotted(context.func).endswith("suppress")


def _may_fail(statement: ast.stmt) -> bool:
    if isinstance(statement, _DEFINITIONS):
        return bool(statement.decorator_list)
    return any(isinstance(node, _FAILING) for node in ast.walk(statement))
