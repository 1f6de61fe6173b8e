"""What a name may be bound to, on which conditions, and which statements have to do with it."""

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
    """One way in which a name is bound."""

    name: str
    node: ast.stmt
    value: ast.expr | None = None  # of an assignment that has an expression for this name
    module: str = ""  # absolute name of what is imported, or imported from
    imported: str = ""  # the name there
    is_uncertain: bool = False  # whether the statement may bind it or not
    modifiers: tuple[ast.stmt, ...] = ()  # what shapes it further: setters, `+=`, `TABLE['k'] = …`


@dataclass(frozen=True)
class BindingCase:
    """A binding, None where the name is not bound, and the conditions of getting there."""

    binding: Binding | None
    conditions: tuple[Condition, ...] = ()


BindingCases = tuple[BindingCase, ...]
UNBOUND: BindingCases = (BindingCase(None),)


def union(first: BindingCases, second: BindingCases) -> BindingCases:
    """Put what two ways have bound together."""
    known = {id(case.binding) for case in first}
    return (*first, *(case for case in second if id(case.binding) not in known))


def join_branches(*ways: tuple[Condition, BindingCases | None]) -> BindingCases | None:
    """Join what the ways that complete have bound; a condition stands where they differ."""
    complete = [(condition, cases) for condition, cases in ways if cases is not None]
    if not complete:
        return None
    everywhere = set.intersection(*({id(one.binding) for one in cases} for _, cases in complete))
    joined: dict[int, BindingCase] = {}
    for condition, cases in complete:
        for case in cases:
            key = id(case.binding)
            if key not in joined:
                mark = () if key in everywhere else (condition,)
                joined[key] = replace(case, conditions=(*mark, *case.conditions))
    return tuple(joined.values())


def with_modifier(cases: BindingCases, part: ast.stmt) -> BindingCases:
    """Note a statement that shapes what is bound."""
    return tuple(
        case
        if case.binding is None
        else replace(case, binding=replace(case.binding, modifiers=(*case.binding.modifiers, part)))
        for case in cases
    )


class StatementsByName:
    """The statements of one scope, by the names that they may bind, shape or delete."""

    def __init__(self, tree: ModuleTree, body: Sequence[ast.stmt]) -> None:
        self._body = body
        self._places: dict[str, list[int]] = {}
        for at, statement in enumerate(body):
            for name in set(names_bound_by(statement, tree)):
                self._places.setdefault(name, []).append(at)

    @classmethod
    def of_scope(cls, tree: ModuleTree, scope: ast.Module | ast.ClassDef) -> "StatementsByName":
        """Tell those of a module or class; they are kept with its file."""
        return tree.remember_with_file(("binders", id(scope)), lambda: cls(tree, scope.body))

    def sole(self, name: str) -> ast.stmt | None:
        """Return the statement that alone has to do with a name; None where others have too."""
        places = self._places.get(name, ())
        return self._body[places[0]] if len(places) == 1 else None

    def concerning(self, name: str) -> list[ast.stmt]:
        """List those that have to do with a name, in order."""
        places = {*self._places.get(name, ()), *self._places.get(ANY_NAME, ())}
        return [self._body[at] for at in sorted(places)]


def names_bound_by(statement: ast.AST, tree: ModuleTree) -> Iterator[str]:
    """Name what a statement may bind, shape or delete."""
    if isinstance(statement, SCOPES):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from _imported(statement, tree)
    elif isinstance(statement, ast.Raise):
        yield ANY_NAME
    else:
        yield from _written(statement)
        if has_walrus(tree):
            yield from walrus_names(statement)
        for field in BLOCKS:
            for inner in getattr(statement, field, ()):
                yield from names_bound_by(inner, tree)


def has_walrus(tree: ModuleTree) -> bool:
    """Whether `:=` stands anywhere in a module."""
    return tree.remember_with_file("walrus", lambda: b":=" in tree.source)


def walrus_names(statement: ast.AST) -> Iterator[str]:
    """Name what `:=` binds in the expressions of a statement, definitions aside."""
    for node in expressions(statement) if not isinstance(statement, SCOPES) else ():
        if isinstance(node, ast.NamedExpr):
            yield node.target.id


def _imported(statement: ast.Import | ast.ImportFrom, tree: ModuleTree) -> Iterator[str]:
    paths = [one.name for one in statement.names]
    if isinstance(statement, ast.ImportFrom):
        module = tree.absolute(statement.module, statement.level) or ""
        paths = [module, *(f"{module}.{one}" for one in paths)]
    for alias in statement.names:
        yield alias.asname or alias.name.split(".")[0]
    own = f"{tree.name}."
    if tree.is_package:
        yield from (one[len(own) :].split(".")[0] for one in paths if one.startswith(own))


def _written(statement: ast.AST) -> Iterator[str]:
    if isinstance(statement, ast.ExceptHandler):
        yield statement.name or ""
        return
    call = statement.value if isinstance(statement, ast.Expr) else None
    targets = [getattr(statement, field, None) for field in ("target", "name", "pattern")]
    targets += getattr(statement, "targets", ())
    targets += [item.optional_vars for item in getattr(statement, "items", ())]
    targets += [call.func] if isinstance(call, ast.Call) else []
    for node in (node for target in targets if target for node in ast.walk(target)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            yield getattr(node, "rest", None) or getattr(node, "name", None) or ""
