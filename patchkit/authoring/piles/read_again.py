"""Refuses what a module of a pile reads after it has set it: a row sets it only later."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    expressions,
    statements,
)
from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.piles.other_changes import SETTABLE
from patchkit.authoring.piles.placements import Placement, is_check
from patchkit.authoring.source.name_scopes import NameScope, parameters_of

_MAKERS = ("__init__", "__new__", "__post_init__")
"""The methods that run as an instance of a class is made."""
_READ_AGAIN = "the module reads it again, before a row sets it"


def refuse_what_is_read_again(
    placements: Sequence[Placement], module: ModuleTree, scope: NameScope
) -> None:
    """Refuse placements whose attribute the module reads below, itself or by a function of its own.

    Args:
        placements: The placements of the module.
        module: The module.
        scope: What its names mean.
    """
    reading = ModuleReading(module, scope)
    read_again = set[str]()
    for statement in statements(module.tree.body):
        if is_check(statement):  # dropped from the body
            continue
        names = set(reading.names_read(statement))
        if names:
            read_again |= names & _set_above(placements, statement)
    for placement in placements:
        is_read = not read_again.isdisjoint(placement.dotted_names)
        if placement.is_expressible and is_read:
            placement.reason = _READ_AGAIN


class ModuleReading:
    """Finds what the statements of a module read as they run.

    Args:
        module: The module.
        scope: What its names mean.
    """

    def __init__(self, module: ModuleTree, scope: NameScope) -> None:
        self._module = module
        self._scope = scope
        # By name, the functions and classes of the module.
        self._definitions: dict[str, ast.stmt] = {}
        for statement in module.tree.body:
            if isinstance(statement, SCOPES):
                self._definitions[statement.name] = statement

    def names_read(self, statement: ast.stmt) -> Iterator[str]:
        """Yield the dotted names that a statement reads, without the statements in its blocks.

        Args:
            statement: The statement.
        """
        nodes = list(expressions(statement))
        if isinstance(statement, ast.ImportFrom):
            nodes.append(statement)
        yield from self.names_in(nodes, _names_of_decorators(statement))

    def names_in(
        self, nodes: Sequence[ast.AST], functions: Sequence[str] = ()
    ) -> Iterator[str]:
        """Yield the dotted names that code reads, and the module's functions that it calls.

        Args:
            nodes: The parts of the code.
            functions: Further functions that are called.
        """
        yield from self._names_in(nodes, self._scope)
        unread = [*called_names(nodes), *functions]
        entered = set[str]()
        while unread:
            name = unread.pop()
            definition = self._definitions.get(name)
            if definition is None or name in entered:
                continue
            entered.add(name)
            for function in _functions_that_run(definition):
                nodes = _nodes_that_run(function)
                scope = self._scope.inner(parameters_of(function))
                for node in nodes:
                    if isinstance(node, (ast.Import, ast.ImportFrom)):
                        scope.bind_import(node, self._module, is_plain=True)
                yield from self._names_in(nodes, scope)
                unread += called_names(nodes)

    def _names_in(self, nodes: Iterable[ast.AST], scope: NameScope) -> Iterator[str]:
        """Yield the dotted names that expressions and imports read."""
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                for _name, _stands_for, target in imported(node, self._module):
                    yield f"{target}".replace(":", ".")
            if isinstance(node, SETTABLE) and isinstance(node.ctx, ast.Load):
                yield from scope.dotted_names_of(node)


def called_names(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the plain names that code calls.

    Args:
        nodes: The parts of the code.
    """
    names = list[str]()
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names.append(node.func.id)
    return names


def _names_of_decorators(statement: ast.stmt) -> list[str]:
    """Return the plain names that decorate a definition: these are called."""
    decorators = getattr(statement, "decorator_list", ())
    return [each.id for each in decorators if isinstance(each, ast.Name)]


def _functions_that_run(definition: ast.stmt) -> list[Def]:
    """Return what runs as a function or a class is called: of a class, what makes an instance."""
    if isinstance(definition, DEFS):
        return [definition]
    functions = list[Def]()
    for statement in getattr(definition, "body", ()):
        if isinstance(statement, DEFS) and statement.name in _MAKERS:
            functions.append(statement)
    return functions


def _nodes_that_run(function: Def) -> list[ast.AST]:
    """Return the parts of a function that run as it is called, and those of what it calls inside.

    A function that it only defines runs later, when all is set in any case.
    """
    called = set(called_names(ast.walk(function)))
    nodes = list[ast.AST]()
    unread: list[ast.AST] = list(function.body)
    while unread:
        node = unread.pop()
        is_later = isinstance(node, DEFS) and node.name not in called
        is_dropped = isinstance(node, ast.stmt) and is_check(node)
        if is_later or is_dropped or isinstance(node, ast.Lambda):
            continue
        nodes.append(node)
        unread += ast.iter_child_nodes(node)
    return nodes


def _set_above(placements: Iterable[Placement], statement: ast.stmt) -> set[str]:
    """Return the dotted names that expressible placements above a statement set."""
    dotted_names = set[str]()
    for placement in placements:
        last_line = placement.statement.end_lineno or 0
        if placement.is_expressible and last_line < statement.lineno:
            dotted_names.update(placement.dotted_names)
    return dotted_names
