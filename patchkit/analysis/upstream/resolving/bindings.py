"""What a name may be bound to, on which conditions, and by which statements."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import BLOCKS, ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES, expressions

ANY_NAME = "*"
"""Stands for every name: a star import, and what may end the import."""


class Condition(NamedTuple):
    """What must hold for a definition to count; `except ImportError` has no test."""

    text: str
    test: ast.expr | None = None


@dataclass(frozen=True, eq=False)
class Binding:
    """A statement that binds a name, and how it does so."""

    name: str
    node: ast.stmt
    value: ast.expr | None = None  # of an assignment that has an expression for this name
    module: str = ""  # absolute name of what is imported, or imported from
    imported: str = ""  # the name in that module
    is_uncertain: bool = False  # whether the statement may leave the name as it was
    modifiers: tuple[ast.stmt, ...] = ()  # later setters, `+=`, `TABLE['k'] = …`


@dataclass(frozen=True)
class BindingCase:
    """A binding, or None if the name is not bound, and the conditions under which it holds."""

    binding: Binding | None
    conditions: tuple[Condition, ...] = ()


BindingCases = tuple[BindingCase, ...]
UNBOUND: BindingCases = (BindingCase(None),)


def union(first: BindingCases, second: BindingCases) -> BindingCases:
    """Put two lists of cases together; a binding that both have is listed once."""
    bindings = {id(case.binding) for case in first}
    return (*first, *(case for case in second if id(case.binding) not in bindings))


def join_branches(
    *branches: tuple[Condition, BindingCases | None],
) -> BindingCases | None:
    """Join the cases at the ends of branches.

    Args:
        branches: The condition of each branch, and its cases; None for one that ends in an error.

    Returns:
        The cases, under the condition of their branch unless all have the binding. None if every
        branch ends in an error.
    """
    complete = [(condition, cases) for condition, cases in branches if cases is not None]
    if not complete:
        return None
    in_all = set.intersection(*(_bindings(cases) for _, cases in complete))
    cases_by_binding: dict[int, BindingCase] = {}
    for condition, cases in complete:
        for case in cases:
            key = id(case.binding)
            if key in cases_by_binding:
                continue
            if key in in_all:
                cases_by_binding[key] = case
            else:
                conditions = (condition, *case.conditions)
                cases_by_binding[key] = replace(case, conditions=conditions)
    return tuple(cases_by_binding.values())


def _bindings(cases: BindingCases) -> set[int]:
    return {id(case.binding) for case in cases}


def with_modifier(cases: BindingCases, statement: ast.stmt) -> BindingCases:
    """Add a statement that modifies what is bound to each binding."""
    return tuple(_modified(case, statement) for case in cases)


def _modified(case: BindingCase, statement: ast.stmt) -> BindingCase:
    if case.binding is None:
        return case
    modifiers = (*case.binding.modifiers, statement)
    return replace(case, binding=replace(case.binding, modifiers=modifiers))


class StatementsByName:
    """The statements of one scope, by the names that they may bind, modify or delete.

    Args:
        tree: The module of the scope.
        body: The statements.
    """

    def __init__(self, tree: ModuleTree, body: Sequence[ast.stmt]) -> None:
        self._body = body
        self._indexes: dict[str, list[int]] = {}
        for index, statement in enumerate(body):
            for name in set(names_bound_by(statement, tree)):
                self._indexes.setdefault(name, []).append(index)

    @classmethod
    def of_scope(
        cls,
        tree: ModuleTree,
        scope: ast.Module | ast.ClassDef,
    ) -> "StatementsByName":
        """Return those of a module or class; they are kept with its file."""
        key = ("binders", id(scope))
        return tree.remember_with_file(key, lambda: cls(tree, scope.body))

    def sole(self, name: str) -> ast.stmt | None:
        """Return the only statement that concerns a name; None if there are none or more."""
        indexes = self._indexes.get(name, ())
        if len(indexes) != 1:
            return None
        return self._body[indexes[0]]

    def concerning(self, name: str) -> list[ast.stmt]:
        """List the statements that concern a name, or every name, in order."""
        indexes = {*self._indexes.get(name, ()), *self._indexes.get(ANY_NAME, ())}
        return [self._body[index] for index in sorted(indexes)]


def names_bound_by(statement: ast.AST, tree: ModuleTree) -> Iterator[str]:
    """List the names that a statement may bind, modify or delete; `ANY_NAME` if it may be any."""
    if isinstance(statement, SCOPES):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from _imported_names(statement, tree)
    elif isinstance(statement, ast.Raise):
        yield ANY_NAME
    else:
        yield from _assigned_names(statement)
        if has_walrus(tree):
            yield from walrus_names(statement)
        for field in BLOCKS:
            for inner in getattr(statement, field, ()):
                yield from names_bound_by(inner, tree)


def has_walrus(tree: ModuleTree) -> bool:
    """Whether `:=` stands anywhere in a module."""
    return tree.remember_with_file("walrus", lambda: b":=" in tree.source)


def walrus_names(statement: ast.AST) -> Iterator[str]:
    """List the names that `:=` binds in the expressions of a statement, definitions aside."""
    if isinstance(statement, SCOPES):
        return
    for node in expressions(statement):
        if isinstance(node, ast.NamedExpr):
            yield node.target.id


def _imported_names(
    statement: ast.Import | ast.ImportFrom,
    tree: ModuleTree,
) -> Iterator[str]:
    """List the names that an import binds, submodules that it sets on this package included."""
    for alias in statement.names:
        yield alias.asname or alias.name.split(".")[0]
    if not tree.is_package:
        return
    modules = [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        module = tree.absolute(statement.module, statement.level) or ""
        modules = [module, *(f"{module}.{name}" for name in modules)]
    prefix = f"{tree.name}."
    for name in modules:
        if name.startswith(prefix):
            yield name.removeprefix(prefix).split(".")[0]


def _assigned_names(statement: ast.AST) -> Iterator[str]:
    """List the names in the targets of a statement, and in what it calls a method of."""
    if isinstance(statement, ast.ExceptHandler):
        yield statement.name or ""
        return
    targets = [getattr(statement, field, None) for field in ("target", "name", "pattern")]
    targets += getattr(statement, "targets", ())
    targets += [item.optional_vars for item in getattr(statement, "items", ())]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        targets.append(statement.value.func)
    for target in targets:
        if target is None:
            continue
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
                yield getattr(node, "rest", None) or getattr(node, "name", None) or ""
