"""Follows the statements of a scope in order for one name, both branches if a test is open."""

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
from patchkit.analysis.upstream.resolving.statement_facts import (
    deletes,
    may_fail,
    suppresses_errors,
    unpacked,
)
from patchkit.analysis.upstream.resolving.syntax import SCOPES, Def, dotted, shortened
from patchkit.analysis.upstream.resolving.values import Lookup

_MUTATORS = {
    "append",
    "extend",
    "update",
    "add",
    "insert",
    "setdefault",
    "pop",
    "remove",
    "clear",
}
_PROPERTY_PARTS = {".setter", ".getter", ".deleter"}
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
_OPEN = (ast.While, ast.Match, getattr(ast, "TypeAlias", ast.Match))
"""Statements that are not followed: what they bind is open. Type aliases are of Python 3.12."""


class Flow:
    """Follows the statements of a module or class for one name.

    Args:
        name: The name.
        tree: The module.
        lookup: The release.
        until: The statement before which to stop; None to follow the scope to its end.
    """

    def __init__(
        self,
        name: str,
        tree: ModuleTree,
        lookup: Lookup,
        until: ast.stmt | None = None,
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
        """Follow all statements of the scope.

        Args:
            scope: The module, or the class.

        Returns:
            What the name may be bound to at the end, or before the statement at which to stop;
            None if the scope always ends in an error.
        """
        if isinstance(scope, ast.ClassDef):
            self._package = None
        return self.run(
            StatementsByName.of_scope(self._tree, scope).concerning(self._name)
        )

    def run(
        self,
        body: Iterable[ast.stmt],
        cases: BindingCases = UNBOUND,
    ) -> BindingCases | None:
        """Follow statements.

        Args:
            body: The statements.
            cases: What the name is bound to before them.

        Returns:
            What it is bound to behind them; None if they always end in an error.
        """
        for statement in body:
            if self._until and (statement.lineno, statement.col_offset) >= self._until:
                break
            if self._has_walrus and self._name in walrus_names(statement):
                cases = union(cases, self._bind(statement))
            step = self._STEPS.get(type(statement))
            if step is not None:
                after = step(self, statement, cases)
                if after is None:
                    return None
                cases = after
        return cases

    def _bind(self, node: ast.stmt, **details: Any) -> BindingCases:
        return (BindingCase(Binding(self._name, node, **details)),)

    def _unfollowed(self, node: ast.stmt, cases: BindingCases) -> BindingCases:
        names = set(names_bound_by(node, self._tree))
        if self._name in names or ANY_NAME in names:
            return (*cases, *self._bind(node, is_uncertain=True))
        return cases

    # --- definitions and assignments

    def _definition(
        self,
        node: Def | ast.ClassDef,
        cases: BindingCases,
    ) -> BindingCases:
        if node.name != self._name:
            return cases
        decorators = [dotted(decorator) for decorator in node.decorator_list]
        if any(name.removeprefix(node.name) in _PROPERTY_PARTS for name in decorators):
            return with_modifier(cases, node)
        return self._bind(node)

    def _assign(
        self,
        node: ast.Assign | ast.AnnAssign,
        cases: BindingCases,
    ) -> BindingCases:
        if node.value is None:
            return cases
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            cases = self._assign_to(target, node.value, node, cases)
        return cases

    def _assign_to(
        self,
        target: ast.expr,
        value: ast.expr | None,
        node: ast.stmt,
        cases: BindingCases,
    ) -> BindingCases:
        """Assign to one target.

        Args:
            target: What is assigned to.
            value: The expression that it gets; None if there is none for it alone.
            node: The statement.
            cases: What the name is bound to before.
        """
        if isinstance(target, ast.Name) and target.id == self._name:
            return self._bind(node, value=value)
        if isinstance(target, (ast.Tuple, ast.List)):
            for element, element_value in zip(
                target.elts, unpacked(target, value), strict=True
            ):
                cases = self._assign_to(element, element_value, node, cases)
        elif isinstance(target, ast.Starred):
            return self._assign_to(target.value, None, node, cases)
        elif isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
            return with_modifier(cases, node)
        return cases

    def _augmented(self, node: ast.AugAssign, cases: BindingCases) -> BindingCases:
        if dotted(node.target) == self._name:
            return with_modifier(cases, node)
        return cases

    def _expression(self, node: ast.Expr, cases: BindingCases) -> BindingCases:
        called = dotted(getattr(node.value, "func", None))
        owner, _, method = called.rpartition(".")
        if owner == self._name and method in _MUTATORS:
            return with_modifier(cases, node)
        return cases

    def _delete(self, node: ast.Delete, cases: BindingCases) -> BindingCases:
        for target in node.targets:
            if deletes(target, self._name):
                return UNBOUND
            if isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
                return with_modifier(cases, node)
        return cases

    # --- imports

    def _import(self, node: ast.Import, cases: BindingCases) -> BindingCases:
        for alias in node.names:
            cases = self._import_submodule(alias.name, node, cases)
            package = alias.name.split(".")[0]
            if alias.asname is not None:
                if alias.asname == self._name:
                    cases = self._bind(node, module=alias.name)
            elif package == self._name:
                cases = self._bind(node, module=package)
        return cases

    def _import_from(self, node: ast.ImportFrom, cases: BindingCases) -> BindingCases:
        module = self._tree.absolute(node.module, node.level)
        if module is None:
            return cases
        cases = self._import_submodule(module, node, cases)
        for alias in node.names:
            if alias.name == "*":
                cases = self._import_star(module, node, cases)
            else:
                cases = self._import_name(module, alias, node, cases)
        return cases

    def _import_star(
        self,
        module: str,
        node: ast.stmt,
        cases: BindingCases,
    ) -> BindingCases:
        is_exported = self._lookup.exports(module, self._name)
        if is_exported is None:
            return (*cases, *self._bind(node, module=module, is_uncertain=True))
        if is_exported:
            return self._bind(node, module=module, imported=self._name)
        return cases

    def _import_name(
        self,
        module: str,
        alias: ast.alias,
        node: ast.stmt,
        cases: BindingCases,
    ) -> BindingCases:
        submodule = f"{module}.{alias.name}"
        cases = self._import_submodule(submodule, node, cases)
        if (alias.asname or alias.name) != self._name:
            return cases
        if module == self._tree.name and self._lookup.has_module(submodule):
            return self._bind(node, module=submodule)
        return self._bind(node, module=module, imported=alias.name)

    def _import_submodule(
        self,
        imported: str,
        node: ast.stmt,
        cases: BindingCases,
    ) -> BindingCases:
        """Importing a package's own submodule for the first time sets it on the package."""
        if self._package is None or self.submodule_imported:
            return cases
        submodule = f"{self._package}.{self._name}"
        is_submodule = f"{imported}.".startswith(f"{submodule}.")
        if not is_submodule or not self._lookup.has_module(submodule):
            return cases
        self.submodule_imported = True
        return self._bind(node, module=submodule)

    # --- branches

    def _if(self, node: ast.If, cases: BindingCases) -> BindingCases | None:
        truth = self._lookup.decide(node.test, self._tree)
        if truth is not None:
            branch = node.body if truth else node.orelse
            return self.run(branch, cases)
        text = shortened(node.test)
        return join_branches(
            (Condition(text, node.test), self.run(node.body, cases)),
            (Condition(f"not ({text})", node.test), self.run(node.orelse, cases)),
        )

    def _loop(
        self,
        node: ast.For | ast.AsyncFor,
        cases: BindingCases,
    ) -> BindingCases | None:
        after_once = self.run(
            node.body, self._assign_to(node.target, None, node, cases)
        )
        return join_branches(
            (Condition("the loop runs"), after_once),
            (Condition("not (the loop runs)"), cases),
        )

    def _with(
        self,
        node: ast.With | ast.AsyncWith,
        cases: BindingCases,
    ) -> BindingCases | None:
        for item in node.items:
            if item.optional_vars is not None:
                cases = self._assign_to(item.optional_vars, None, node, cases)
        end = self.run(node.body, cases)
        if not any(suppresses_errors(item.context_expr) for item in node.items):
            return end
        text = shortened(node.items[0].context_expr)
        return join_branches(
            (Condition("the with succeeds"), end), (Condition(text), cases)
        )

    def _try(self, node: ast.Try, cases: BindingCases) -> BindingCases | None:
        at_failure, end = self._run_fallible(node.body, cases)
        if end is not None:
            end = self.run(node.orelse, end)
        branches = [(Condition("the try succeeds"), end)]
        for handler in node.handlers:
            error = "anything"
            if handler.type is not None:
                error = shortened(handler.type)
            handled = self.run(handler.body, at_failure)
            if handler.name == self._name and handled is not None:
                handled = UNBOUND  # Python deletes the name when it leaves the handler
            branches.append((Condition(f"except {error}"), handled))
        joined = end
        if node.handlers:
            joined = join_branches(*branches)
        if joined is None:
            return None
        return self.run(node.finalbody, joined)

    def _run_fallible(
        self,
        body: Sequence[ast.stmt],
        cases: BindingCases,
    ) -> tuple[BindingCases, BindingCases | None]:
        """Follow the statements of a `try`.

        Args:
            body: The statements.
            cases: What the name is bound to before them.

        Returns:
            What it is bound to wherever one of them may fail, and behind all of them.
        """
        at_failure: BindingCases = ()
        current: BindingCases | None = cases
        raised_outside = self._raised
        self._raised = []
        for statement in body:
            before = current or ()
            current = self.run([statement], before)
            if may_fail(statement):
                at_failure = union(at_failure, before)
                if isinstance(statement, _COMPOUND):
                    at_failure = union(at_failure, current or ())
            if current is None:
                break
        for raised in self._raised:
            at_failure = union(at_failure, raised)
        self._raised = raised_outside
        return at_failure or cases, current

    def _raise(self, _node: ast.stmt, cases: BindingCases) -> None:
        self._raised.append(cases)

    _STEPS: ClassVar[dict[type, Callable[..., BindingCases | None]]] = {
        **dict.fromkeys(SCOPES, _definition),
        **dict.fromkeys((ast.Assign, ast.AnnAssign), _assign),
        ast.AugAssign: _augmented,
        ast.Expr: _expression,
        ast.Delete: _delete,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.If: _if,
        **dict.fromkeys((ast.For, ast.AsyncFor), _loop),
        **dict.fromkeys((ast.With, ast.AsyncWith), _with),
        **dict.fromkeys((ast.Try, getattr(ast, "TryStar", ast.Try)), _try),
        ast.Raise: _raise,
        **dict.fromkeys(_OPEN, _unfollowed),
    }
