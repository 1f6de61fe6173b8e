"""Describes how a name may be bound: by which statements, and under which conditions."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import BLOCKS, ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, expressions, walk

ANY_NAME = "*"
"""Stands for every name: a star import may bind any, and after a `raise` none is bound."""


class Condition(NamedTuple):
    """What must hold for a statement to run.

    Args:
        text: The condition in the words of a report: `sys.platform == 'win32'`, `not (X)`,
            `except ImportError`, `the loop runs`.
        test: The expression that an `if` tests, even where its negation must hold; None for a
            condition that is no test.
    """

    text: str
    test: ast.expr | None = None


@dataclass(frozen=True, eq=False)
class Binding:
    """A statement that binds a name, and how it does so.

    Args:
        name: The name, without the class or module that it is bound in.
        node: The statement.
        value: The expression that is assigned to this name; None for what is no assignment, and
            where no expression belongs to this name alone.
        module: The absolute name of the module that is imported, or imported from; '' for any
            other statement.
        imported: The name in that module; '' if the module itself is bound.
        is_uncertain: Whether the statement may not bind the name at all, as a star import may not.
        modifiers: Later statements that change the object which is bound, in order: setters of a
            property, `+=`, `TABLE['k'] = …`, `TABLE.update(…)`.
    """

    name: str
    node: ast.stmt
    value: ast.expr | None = None
    module: str = ""
    imported: str = ""
    is_uncertain: bool = False
    modifiers: tuple[ast.stmt, ...] = ()


@dataclass(frozen=True)
class BindingCase:
    """One way in which a name may be bound after a module or class body has run.

    Args:
        binding: The statement that binds the name last; None if the name is not bound.
        conditions: What must hold for this outcome, outermost first; () if nothing must, as far
            as the source tells.
    """

    binding: Binding | None
    conditions: tuple[Condition, ...] = ()


BindingCases = tuple[BindingCase, ...]
UNBOUND: BindingCases = (BindingCase(None),)
_CONDITIONS = 32
"""How many conditions of a case are kept, the innermost ones: with all of them, a name that a
thousand branches bind takes seconds."""
_CASES = 200
"""How many cases are kept, for the same reason; they differ long before."""


def union(first: BindingCases, second: BindingCases) -> BindingCases:
    """Merge two lists of cases.

    Args:
        first: The cases that are listed first.
        second: The cases that follow, without those whose binding is among the first.

    Returns:
        Each binding once; "not bound" counts as one.
    """
    # None, which stands for "not bound", has an id too.
    bindings = {id(case.binding) for case in first}
    return _limited(
        (*first, *(case for case in second if id(case.binding) not in bindings))
    )


def join_branches(
    *branches: tuple[Condition, BindingCases | None],
) -> BindingCases | None:
    """Join the cases at the ends of branches, such as those of an `if`.

    Args:
        branches: The condition of each branch, and its cases; None for one that ends in an error.

    Returns:
        The cases. One whose binding all branches have is without condition, any other has the
        condition of its branch. None if every branch ends in an error.
    """
    complete = [
        (condition, cases) for condition, cases in branches if cases is not None
    ]
    if not complete:
        return None
    # A binding that all branches have does not depend on which one is taken.
    in_all = set.intersection(*(_bindings(cases) for _, cases in complete))
    cases_by_binding: dict[int, BindingCase] = {}
    for condition, cases in complete:
        for case in cases:
            key = id(case.binding)
            if key in cases_by_binding:
                continue
            if key in in_all or len(case.conditions) >= _CONDITIONS:
                cases_by_binding[key] = case
            else:
                conditions = (condition, *case.conditions)
                cases_by_binding[key] = BindingCase(case.binding, conditions)
    return _limited(tuple(cases_by_binding.values()))


def _limited(cases: BindingCases) -> BindingCases:
    """Leave out cases from the middle, where there are too many; "not bound" stands at an end."""
    if len(cases) <= _CASES:
        return cases
    return cases[: _CASES // 2] + cases[-_CASES // 2 :]


def _bindings(cases: BindingCases) -> set[int]:
    return {id(case.binding) for case in cases}


def with_modifier(cases: BindingCases, statement: ast.stmt) -> BindingCases:
    """Add a statement to the modifiers of each binding.

    Args:
        cases: What the name may be bound to before the statement.
        statement: The statement, which changes the object and does not bind the name anew.

    Returns:
        The cases, with new bindings; a case without a binding stays as it is.
    """
    return tuple(_modified(case, statement) for case in cases)


def _modified(case: BindingCase, statement: ast.stmt) -> BindingCase:
    """Add a statement to the modifiers of one binding."""
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
        """Return the statements of a module or class.

        They are indexed once, and kept as long as the file stays parsed.

        Args:
            tree: The module of the scope.
            scope: The module itself, or a class in it.
        """
        key = ("binders", id(scope))
        return tree.remember_with_file(key, lambda: cls(tree, scope.body))

    def sole(self, name: str) -> ast.stmt | None:
        """Return the only statement that may bind, modify or delete a name.

        Args:
            name: The name. Statements that may bind any name are not counted.

        Returns:
            None if no statement may, or more than one.
        """
        indexes = self._indexes.get(name, ())
        if len(indexes) != 1:
            return None
        return self._body[indexes[0]]

    def concerning(self, name: str) -> list[ast.stmt]:
        """List the statements that may bind, modify or delete a name, in order.

        Args:
            name: The name.

        Returns:
            The statements; those that may bind any name, such as star imports, are among them.
        """
        indexes = {*self._indexes.get(name, ()), *self._indexes.get(ANY_NAME, ())}
        return [self._body[index] for index in sorted(indexes)]


def names_bound_by(statement: ast.AST, tree: ModuleTree) -> Iterator[str]:
    """List the names that a statement, with its blocks, may bind, modify or delete.

    Args:
        statement: A statement, or a handler or `case` of one.
        tree: The module that it stands in.

    Yields:
        A name as often as it occurs; `ANY_NAME` for a star import, and for a `raise`, which may
        end the import. '' stands for a handler or pattern that binds nothing.
    """
    if isinstance(statement, SCOPES):
        yield statement.name
        if has_walrus(tree):
            yield from walrus_names(statement)
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
    """Whether `:=` stands anywhere in the text of a module, even in a string.

    Args:
        tree: The module; where this is False, its expressions need not be walked for `:=`.
    """
    return tree.remember_with_file("walrus", lambda: b":=" in tree.source)


def walrus_names(statement: ast.AST) -> Iterator[str]:
    """List the names that `:=` binds in the expressions of a statement.

    Args:
        statement: The statement; statements in its blocks are not looked at.

    Yields:
        Of a definition the names in its decorators, defaults and bases.
    """
    for node in expressions(statement):
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
    if isinstance(statement, DEFS):
        yield from walrus_names(statement.args)  # the defaults
    elif isinstance(statement, ast.ClassDef):
        for keyword in statement.keywords:  # such as `metaclass=`
            yield from walrus_names(keyword)


def _imported_names(
    statement: ast.Import | ast.ImportFrom,
    tree: ModuleTree,
) -> Iterator[str]:
    """List the names that an import binds; in a package, its submodules that are imported, too."""
    for alias in statement.names:
        yield alias.asname or alias.name.split(".")[0]
    if not tree.is_package:
        return
    # `import pkg.sub.x` in `pkg/__init__.py` binds `sub`: Python sets a submodule that it imports
    # as an attribute of the package.
    modules = [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        module = tree.absolute(statement.module, statement.level) or ""
        modules = [module, *(f"{module}.{name}" for name in modules)]
    prefix = f"{tree.name}."
    for name in modules:
        if name.startswith(prefix):
            yield name.removeprefix(prefix).split(".")[0]


def _assigned_names(statement: ast.AST) -> Iterator[str]:
    """List the names in the targets of a statement, or in `NAME.update(…)`.

    Args:
        statement: An assignment, `del`, `for`, `with`, `case` or the like; an expression.
    """
    if isinstance(statement, ast.ExceptHandler):
        yield statement.name or ""
        return
    # Each kind of statement has some of these fields.
    targets = [
        getattr(statement, field, None) for field in ("target", "name", "pattern")
    ]
    targets += getattr(statement, "targets", ())
    targets += [item.optional_vars for item in getattr(statement, "items", ())]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        targets.append(statement.value.func)
    for target in targets:
        if target is None:
            continue
        for node in walk(target):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
                yield node.name or ""
            elif isinstance(node, ast.MatchMapping):
                yield node.rest or ""
