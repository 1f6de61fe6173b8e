"""Follows the statements of a module or class in order, to find what one name may be bound to.

Where a test cannot be decided, both branches are followed.
"""

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
    declares_global,
    deletes,
    may_fail,
    unpacked,
)
from patchkit.analysis.upstream.resolving.swallowing import may_swallow
from patchkit.analysis.upstream.resolving.syntax import SCOPES, Def, dotted, shortened
from patchkit.analysis.upstream.resolving.values import Lookup, Scope

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
"""Statements that are not followed: they may bind their names. Type aliases are of Python 3.12."""


class Flow:
    """Follows the statements of a module or class for one name.

    Each method for a kind of statement is passed what the name may be bound to before the
    statement, and returns what it may be bound to after; None if the statement ends in an error.

    Args:
        name: The name.
        tree: The module.
        lookup: The release.
        until: The statement before which to stop; None to follow the scope to its end.
    """

    def __init__(
        self, name: str, tree: ModuleTree, lookup: Lookup, until: ast.stmt | None = None
    ) -> None:
        self._name = name
        self._tree = tree
        self._lookup = lookup
        # Where `until` begins: a statement in a block is compared with those around it.
        self._until = (until.lineno, until.col_offset) if until else None
        self._package = tree.name if tree.is_package else None
        self._has_walrus = has_walrus(tree)
        self._raised: list[BindingCases] = []  # the cases at each `raise`
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
            self._package = None  # an import sets submodules on the package only
            if declares_global(scope, self._name):
                return UNBOUND
        return self.run(
            StatementsByName.of_scope(self._tree, scope).concerning(self._name)
        )

    def run(
        self, body: Iterable[ast.stmt], cases: BindingCases = UNBOUND
    ) -> BindingCases | None:
        """Follow statements.

        Args:
            body: The statements.
            cases: What the name is bound to before them.

        Returns:
            What it is bound to after them; None if they always end in an error.
        """
        for statement in body:
            if self._until and (statement.lineno, statement.col_offset) >= self._until:
                break
            if self._has_walrus and self._name in walrus_names(statement):
                cases = union(cases, self._bind(statement))  # `:=` may not run
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
        """Add a statement that may bind the name, or may not."""
        names = set(names_bound_by(node, self._tree))
        if self._name in names or ANY_NAME in names:
            return (*cases, *self._bind(node, is_uncertain=True))
        return cases

    # --- definitions and assignments

    def _definition(
        self, node: Def | ast.ClassDef, cases: BindingCases
    ) -> BindingCases:
        """Bind the name to a function or class; `@name.setter` only modifies a property."""
        if node.name != self._name:
            return cases
        decorators = [dotted(decorator) for decorator in node.decorator_list]
        if any(name.removeprefix(node.name) in _PROPERTY_PARTS for name in decorators):
            return with_modifier(cases, node)
        return self._bind(node)

    def _assign(
        self, node: ast.Assign | ast.AnnAssign, cases: BindingCases
    ) -> BindingCases:
        """Assign to each target in turn."""
        if node.value is None:
            return cases  # an annotation alone, which binds nothing
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            cases = self._assign_to(target, node, cases, value=node.value)
        return cases

    def _assign_to(
        self,
        target: ast.expr,
        node: ast.stmt,
        cases: BindingCases,
        value: ast.expr | None = None,
    ) -> BindingCases:
        """Assign to one target; the elements of a tuple are targets in turn.

        Args:
            target: What is assigned to.
            node: The statement.
            cases: What the name is bound to before.
            value: The expression that is assigned; None if there is none for this target alone.
        """
        if isinstance(target, ast.Name) and target.id == self._name:
            return self._bind(node, value=value)
        if isinstance(target, (ast.Tuple, ast.List)):
            for element, element_value in zip(
                target.elts, unpacked(target, value), strict=True
            ):
                cases = self._assign_to(element, node, cases, value=element_value)
        elif isinstance(target, ast.Starred):
            return self._assign_to(target.value, node, cases)
        elif isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
            return with_modifier(cases, node)
        return cases

    def _augmented(self, node: ast.AugAssign, cases: BindingCases) -> BindingCases:
        if dotted(node.target) == self._name:
            return with_modifier(cases, node)
        return cases

    def _expression(self, node: ast.Expr, cases: BindingCases) -> BindingCases:
        """Let `NAME.append(…)` and the like modify the object."""
        called = dotted(getattr(node.value, "func", None))
        owner, _, method = called.rpartition(".")
        if owner == self._name and method in _MUTATORS:
            return with_modifier(cases, node)
        return cases

    def _delete(self, node: ast.Delete, cases: BindingCases) -> BindingCases:
        """Unbind the name, or let `del NAME[key]` modify the object."""
        for target in node.targets:
            if deletes(target, self._name):
                return UNBOUND
            if isinstance(target, ast.Subscript) and dotted(target.value) == self._name:
                return with_modifier(cases, node)
        return cases

    # --- imports

    def _import(self, node: ast.Import, cases: BindingCases) -> BindingCases:
        """Bind `a` of `import a.b` to the package, `c` of `import a.b as c` to the submodule."""
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
        """Bind the names of `from module import …` in turn."""
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
        self, module: str, node: ast.stmt, cases: BindingCases
    ) -> BindingCases:
        """Bind the name if a star import brings it; the case is uncertain if that is not known."""
        is_exported = self._lookup.exports(module, self._name)
        if is_exported is None:
            return (*cases, *self._bind(node, module=module, is_uncertain=True))
        if is_exported:
            return self._bind(node, module=module, imported=self._name)
        return cases

    def _import_name(
        self, module: str, alias: ast.alias, node: ast.stmt, cases: BindingCases
    ) -> BindingCases:
        """Bind the name if `from module import alias` does."""
        submodule = f"{module}.{alias.name}"
        cases = self._import_submodule(submodule, node, cases)
        if (alias.asname or alias.name) != self._name:
            return cases
        # `from . import x` in a package: there is no `x` yet but the submodule.
        if module == self._tree.name and self._lookup.has_module(submodule):
            return self._bind(node, module=submodule)
        return self._bind(node, module=module, imported=alias.name)

    def _import_submodule(
        self, imported: str, node: ast.stmt, cases: BindingCases
    ) -> BindingCases:
        """Bind the name if it is a submodule that is first imported here, which sets it.

        Args:
            imported: The module that is imported, which may lie in the submodule.
            node: The import.
            cases: What the name is bound to before.
        """
        if self._package is None or self.submodule_imported:
            return cases
        submodule = f"{self._package}.{self._name}"
        # It is imported itself, or with a module in it: `up.a` with `up.a.b`, not with `up.ab`.
        is_submodule = f"{imported}.".startswith(f"{submodule}.")
        if not is_submodule or not self._lookup.has_module(submodule):
            return cases
        self.submodule_imported = True
        return self._bind(node, module=submodule)

    # --- branches

    def _if(self, node: ast.If, cases: BindingCases) -> BindingCases | None:
        """Follow the branch that is taken, or both if that is open; None if they end in errors."""
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
        self, node: ast.For | ast.AsyncFor, cases: BindingCases
    ) -> BindingCases | None:
        """Follow the body of a loop once, and not at all; then its `else`, which a break skips."""
        after_once = self.run(node.body, self._assign_to(node.target, node, cases))
        end = join_branches(
            (Condition("the loop runs"), after_once),
            (Condition("not (the loop runs)"), cases),
        )
        if not node.orelse or end is None:
            return end
        after_else = self.run(node.orelse, end)
        if not any(isinstance(part, ast.Break) for part in ast.walk(node)):
            return after_else
        return join_branches(
            (Condition("the loop breaks"), end),
            (Condition("not (the loop breaks)"), after_else),
        )

    def _with(
        self, node: ast.With | ast.AsyncWith, cases: BindingCases
    ) -> BindingCases | None:
        """Follow the body; below `suppress(…)` and the like it may also have failed."""
        for item in node.items:
            if item.optional_vars is not None:
                cases = self._assign_to(item.optional_vars, node, cases)
        if not may_swallow(self._lookup, node, Scope(self._tree, until=node)):
            return self.run(node.body, cases)
        at_failure, end = self._run_fallible(node.body, cases)
        text = shortened(node.items[0].context_expr)
        return join_branches(
            (Condition("the with succeeds"), end), (Condition(text), at_failure)
        )

    def _try(self, node: ast.Try, cases: BindingCases) -> BindingCases | None:
        """Follow the body with its `else`, each handler from where the body may fail, `finally`."""
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
        self, body: Sequence[ast.stmt], cases: BindingCases
    ) -> tuple[BindingCases, BindingCases | None]:
        """Follow the statements of a `try`.

        Args:
            body: The statements.
            cases: What the name is bound to before them.

        Returns:
            What it is bound to wherever one of them may fail, and after all of them; the latter is
            None if they always end in an error.
        """
        at_failure: BindingCases = ()
        before = cases
        end: BindingCases | None = cases
        raised_outside = self._raised
        self._raised = []
        for statement in body:
            end = self.run([statement], before)
            if may_fail(statement):
                at_failure = union(at_failure, before)
                # A statement in a block may bind the name, and the next in the block fail.
                if isinstance(statement, _COMPOUND) and end is not None:
                    at_failure = union(at_failure, end)
            if end is None:
                break
            before = end
        # Each `raise` in a block of these statements is a failure, too.
        for raised in self._raised:
            at_failure = union(at_failure, raised)
        self._raised = raised_outside
        # If nothing seems to fail, a handler runs with what there was before.
        return at_failure or cases, end

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
