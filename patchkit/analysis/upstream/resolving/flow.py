"""The statements of a scope, followed in order for one name, both ways where it is open."""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from patchkit.analysis.upstream.resolving.bindings import (
    ANY_NAME,
    UNBOUND,
    Binding,
    BindingCase,
    BindingCases,
    Condition,
    StatementsByName,
    has_walrus,
    join_branches,
    names_bound_by,
    union,
    walrus_names,
    with_modifier,
)
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES, Def, dotted, shortened
from patchkit.analysis.upstream.resolving.values import Lookup

_MUTATORS = {"append", "extend", "update", "add", "insert", "setdefault", "pop", "remove", "clear"}
_PROPERTY_PARTS = {".setter", ".getter", ".deleter"}
_FAILING = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.Subscript, ast.Raise)
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
_OPEN = (ast.While, ast.Match, getattr(ast, "TypeAlias", ast.Match))
"""Statements that are not followed: what they bind is open. Type aliases are of Python 3.12."""


class Flow:
    """Follows the statements of a module or class for one name, up to a statement or to the end."""

    def __init__(
        self, name: str, tree: ModuleTree, lookup: Lookup, until: ast.stmt | None = None
    ) -> None:
        self._name = name
        self._tree = tree
        self._lookup = lookup
        self._until = (until.lineno, until.col_offset) if until else None
        self._package = tree.name if tree.is_package else None
        self._has_walrus = has_walrus(tree)
        self._raised: list[BindingCases] = []
        self.submodule_imported = False

    def whole(self, scope: ast.Module | ast.ClassDef) -> BindingCases | None:
        """Follow all statements of the scope; None where they always end in an error."""
        if isinstance(scope, ast.ClassDef):
            self._package = None
        return self.run(StatementsByName.of_scope(self._tree, scope).concerning(self._name))

    def run(self, body: Iterable[ast.stmt], cases: BindingCases = UNBOUND) -> BindingCases | None:
        """Follow statements; None where they always end in an error."""
        for statement in body:
            if self._until and (statement.lineno, statement.col_offset) >= self._until:
                break
            if self._has_walrus and self._name in walrus_names(statement):
                cases = union(cases, self._bind(statement))
            if step := self._STEPS.get(type(statement)):
                after = step(self, statement, cases)
                if after is None:
                    return None
                cases = after
        return cases

    def _bind(self, node: ast.stmt, **details: Any) -> BindingCases:
        return (BindingCase(Binding(self._name, node, **details)),)

    def _unfollowed(self, node: ast.stmt, cases: BindingCases) -> BindingCases:
        is_concerned = not {self._name, ANY_NAME}.isdisjoint(names_bound_by(node, self._tree))
        return (*cases, *self._bind(node, is_uncertain=True)) if is_concerned else cases

    # --- definitions and assignments

    def _definition(self, node: Def | ast.ClassDef, cases: BindingCases) -> BindingCases:
        if node.name != self._name:
            return cases
        if _PROPERTY_PARTS & {dotted(mark).removeprefix(node.name) for mark in node.decorator_list}:
            return with_modifier(cases, node)
        return self._bind(node)

    def _assign(self, node: ast.Assign | ast.AnnAssign, cases: BindingCases) -> BindingCases:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets if node.value is not None else ():
            cases = self._assign_to(target, node.value, node, cases)
        return cases

    def _assign_to(
        self, target: ast.expr, value: ast.expr | None, node: ast.stmt, cases: BindingCases
    ) -> BindingCases:
        if isinstance(target, ast.Name) and target.id == self._name:
            return self._bind(node, value=value)
        if isinstance(target, (ast.Tuple, ast.List)):
            for element, of in zip(target.elts, _elements(target, value), strict=True):
                cases = self._assign_to(element, of, node, cases)
        elif isinstance(target, ast.Starred):
            return self._assign_to(target.value, None, node, cases)
        elif isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
            return with_modifier(cases, node)
        return cases

    def _shaping(self, node: ast.AugAssign | ast.Expr, cases: BindingCases) -> BindingCases:
        if isinstance(node, ast.AugAssign):
            owner, is_shaping = dotted(node.target), True
        else:
            called = dotted(getattr(node.value, "func", None))
            owner, _, method = called.rpartition(".")
            is_shaping = method in _MUTATORS
        return with_modifier(cases, node) if is_shaping and owner == self._name else cases

    def _delete(self, node: ast.Delete, cases: BindingCases) -> BindingCases:
        for target in node.targets:
            names = (one for one in ast.walk(target) if isinstance(one, ast.Name))
            if any(one.id == self._name and isinstance(one.ctx, ast.Del) for one in names):
                return UNBOUND
            if isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
                return with_modifier(cases, node)
        return cases

    # --- imports

    def _import(self, node: ast.Import, cases: BindingCases) -> BindingCases:
        for alias in node.names:
            cases = self._submodule(alias.name, node, cases)
            top = alias.name.split(".")[0]
            if (alias.asname or top) == self._name:
                cases = self._bind(node, module=alias.name if alias.asname else top)
        return cases

    def _import_from(self, node: ast.ImportFrom, cases: BindingCases) -> BindingCases:
        module = self._tree.absolute(node.module, node.level)
        if module is None:
            return cases
        cases = self._submodule(module, node, cases)
        for alias in node.names:
            step = self._star if alias.name == "*" else self._from
            cases = step(module, alias, node, cases)
        return cases

    def _star(self, module: str, _: ast.alias, node: ast.stmt, cases: BindingCases) -> BindingCases:
        brought = self._lookup.exports(module, self._name)
        if brought is None:
            return (*cases, *self._bind(node, module=module, is_uncertain=True))
        return self._bind(node, module=module, imported=self._name) if brought else cases

    def _from(
        self, module: str, alias: ast.alias, node: ast.stmt, cases: BindingCases
    ) -> BindingCases:
        submodule = f"{module}.{alias.name}"
        cases = self._submodule(submodule, node, cases)
        if (alias.asname or alias.name) != self._name:
            return cases
        if module == self._tree.name and self._lookup.has_module(submodule):
            return self._bind(node, module=submodule)
        return self._bind(node, module=module, imported=alias.name)

    def _submodule(self, imported: str, node: ast.stmt, cases: BindingCases) -> BindingCases:
        """Importing a package's own submodule for the first time sets it on the package."""
        mine = f"{self._package}.{self._name}"
        if self._package is None or self.submodule_imported:
            return cases
        if not f"{imported}.".startswith(f"{mine}.") or not self._lookup.has_module(mine):
            return cases
        self.submodule_imported = True
        return self._bind(node, module=mine)

    # --- branches

    def _if(self, node: ast.If, cases: BindingCases) -> BindingCases | None:
        truth = self._lookup.decide(node.test, self._tree)
        if truth is not None:
            return self.run(node.body if truth else node.orelse, cases)
        text = shortened(node.test)
        return join_branches(
            (Condition(text, node.test), self.run(node.body, cases)),
            (Condition(f"not ({text})", node.test), self.run(node.orelse, cases)),
        )

    def _loop(self, node: ast.For | ast.AsyncFor, cases: BindingCases) -> BindingCases | None:
        once = self.run(node.body, self._assign_to(node.target, None, node, cases))
        return join_branches(
            (Condition("the loop runs"), once), (Condition("not (the loop runs)"), cases)
        )

    def _with(self, node: ast.With | ast.AsyncWith, cases: BindingCases) -> BindingCases | None:
        for item in node.items:
            if item.optional_vars is not None:
                cases = self._assign_to(item.optional_vars, None, node, cases)
        end = self.run(node.body, cases)
        calls = (one.context_expr for one in node.items if isinstance(one.context_expr, ast.Call))
        if not any(dotted(call.func).endswith("suppress") for call in calls):
            return end
        text = shortened(node.items[0].context_expr)
        return join_branches((Condition("the with succeeds"), end), (Condition(text), cases))

    def _try(self, node: ast.Try, cases: BindingCases) -> BindingCases | None:
        points, end = self._points(node.body, cases)
        if end is not None:
            end = self.run(node.orelse, end)
        ways = [(Condition("the try succeeds"), end)]
        for handler in node.handlers:
            error = shortened(handler.type) if handler.type else "anything"
            after = self.run(handler.body, points)
            if handler.name == self._name and after is not None:
                after = UNBOUND  # Python deletes the name when it leaves the handler
            ways.append((Condition(f"except {error}"), after))
        after = join_branches(*ways) if len(ways) > 1 else end
        return None if after is None else self.run(node.finalbody, after)

    def _points(
        self, body: Sequence[ast.stmt], cases: BindingCases
    ) -> tuple[BindingCases, BindingCases | None]:
        """Follow statements; also return what is bound wherever one of them may fail."""
        points: BindingCases = ()
        now: BindingCases | None = cases
        around, self._raised = self._raised, []
        for statement in body:
            before = now or ()
            now = self.run([statement], before)
            if _may_fail(statement):
                inside = now if isinstance(statement, _COMPOUND) else ()
                points = union(union(points, before), inside or ())
            if now is None:
                break
        for raised in self._raised:
            points = union(points, raised)
        self._raised = around
        return points or cases, now

    def _stop(self, _node: ast.stmt, cases: BindingCases) -> None:
        self._raised.append(cases)

    _STEPS: ClassVar[dict[type, Callable[..., BindingCases | None]]] = {
        **dict.fromkeys(SCOPES, _definition),
        **dict.fromkeys((ast.Assign, ast.AnnAssign), _assign),
        **dict.fromkeys((ast.AugAssign, ast.Expr), _shaping),
        ast.Delete: _delete,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.If: _if,
        **dict.fromkeys((ast.For, ast.AsyncFor), _loop),
        **dict.fromkeys((ast.With, ast.AsyncWith), _with),
        **dict.fromkeys((ast.Try, getattr(ast, "TryStar", ast.Try)), _try),
        ast.Raise: _stop,
        **dict.fromkeys(_OPEN, _unfollowed),
    }


def _elements(target: ast.Tuple | ast.List, value: ast.expr | None) -> list[ast.expr | None]:
    values: list[ast.expr | None] = []
    if isinstance(value, (ast.Tuple, ast.List)):
        values += value.elts
    is_plain = not any(isinstance(element, ast.Starred) for element in (*target.elts, *values))
    return values if is_plain and len(values) == len(target.elts) else [None] * len(target.elts)


def _may_fail(statement: ast.stmt) -> bool:
    if isinstance(statement, SCOPES):
        return bool(statement.decorator_list)
    return any(isinstance(node, _FAILING) for node in ast.walk(statement))
