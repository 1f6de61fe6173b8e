"""Refuses what a module of a pile reads after it has set it: a row sets it only later."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    expressions,
    statements,
)
from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.piles.other_changes import SETTABLE, foreign
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
    if not any(placement.is_expressible for placement in placements):
        return
    reading = ModuleReading(module, scope)
    read_again = set[str]()
    for statement in statements(module.tree.body):
        if is_check(statement):  # dropped from the body
            continue
        for part in reading.parts(statement):
            read_again |= _read_by(part, reading, placements)
        asked = set(reading.packages_asked(statement))
        if asked:
            whole = PartThatRuns(statement, scope, statement, None)
            for name in _set_above(placements, whole):
                if name.partition(".")[0] in asked:
                    read_again.add(name)
    for placement in placements:
        is_read = not read_again.isdisjoint(placement.dotted_names)
        if placement.is_expressible and is_read:
            placement.reason = _READ_AGAIN


class PartThatRuns(NamedTuple):
    """A part of the code that runs with a statement.

    Args:
        node: The part: an expression, or an import.
        scope: What names mean there.
        statement: The statement at the top of the module.
        function: The function of the module that the part is in; None for none.
    """

    node: ast.AST
    scope: NameScope
    statement: ast.stmt
    function: Def | None


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

    def parts(self, statement: ast.stmt) -> Iterator[PartThatRuns]:
        """Yield what runs with a statement, without the statements in its blocks.

        Args:
            statement: The statement.
        """
        nodes = list(_expressions_that_run(statement))
        if isinstance(statement, ast.ImportFrom):
            nodes.append(statement)
        yield from self._run(nodes, _names_of_decorators(statement), statement)

    def packages_asked(self, statement: ast.stmt) -> Iterator[str]:
        """Yield the top-level packages whose answers a statement keeps in names of the module.

        Args:
            statement: The statement.
        """
        values = list[ast.AST]()
        for part in _run_with(statement):
            if isinstance(part, (*DEFS, ast.Lambda)):
                values += _defaults(part)
            value = getattr(part, "value", None)
            if not isinstance(part, (ast.Assign, ast.AnnAssign)) or value is None:
                continue
            targets = getattr(part, "targets", None) or [getattr(part, "target", None)]
            if all(isinstance(target, ast.Name) for target in targets):
                values.append(value)
            elif isinstance(value, ast.Call):
                # `lib.f = made_of(g)` is a decorator, as it were; `made_of(lib.get())` is not.
                values += value.args
        for value in values:
            for node in ast.walk(value):
                if not isinstance(node, ast.Call):
                    continue
                for name in foreign(
                    self._scope.dotted_names_of(node.func), self._module.name
                ):
                    yield name.partition(".")[0]

    def names_in(self, statement: ast.stmt, value: ast.expr) -> Iterator[str]:
        """Yield the dotted names that a value reads, and the module's functions that it calls.

        Args:
            statement: The statement that it is in.
            value: The value.
        """
        for part in self._run(list(ast.walk(value)), [], statement):
            yield from self.names_of(part)

    def _run(
        self, nodes: Sequence[ast.AST], functions: Sequence[str], statement: ast.stmt
    ) -> Iterator[PartThatRuns]:
        """Yield parts of a statement, and those of the module's functions that it calls."""
        for node in nodes:
            yield PartThatRuns(node, self._scope, statement, None)
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
                for node in nodes:
                    yield PartThatRuns(node, scope, statement, function)
                unread += called_names(nodes)

    def names_of(self, part: PartThatRuns) -> Iterator[str]:
        """Yield the dotted names that an expression or an import reads.

        Args:
            part: The expression or import.
        """
        node = part.node
        if isinstance(node, ast.ImportFrom):
            for _name, _stands_for, target in imported(node, self._module):
                yield f"{target}".replace(":", ".")
        if isinstance(node, SETTABLE) and isinstance(node.ctx, ast.Load):
            yield from part.scope.dotted_names_of(node)


def _read_by(
    part: PartThatRuns, reading: ModuleReading, placements: Iterable[Placement]
) -> set[str]:
    """Return what a part of the code reads of that which placements set before it runs.

    What a class or a function of upstream does is not read: it may use all of its own attributes.
    """
    names = set(reading.names_of(part))
    prefixes: tuple[str, ...] = ()
    if isinstance(part.node, ast.Call):
        called = part.scope.dotted_names_of(part.node.func)
        prefixes = tuple(f"{name}." for name in called)
    if not names and not prefixes:
        return set()
    read = set[str]()
    for name in _set_above(placements, part):
        if name in names or name.startswith(prefixes):
            read.add(name)
    return read


def _run_with(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a statement; of a class, also the statements of its body."""
    yield statement
    if isinstance(statement, ast.ClassDef):
        for inner in statements(statement.body):
            yield from _run_with(inner)


def _expressions_that_run(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions of a statement: of a function its defaults, of a class its body."""
    for part in _run_with(statement):
        yield from expressions(part)
        if isinstance(part, DEFS):
            for default in _defaults(part):
                yield from ast.walk(default)


def _defaults(function: Def | ast.Lambda) -> list[ast.AST]:
    """Return the defaults of the parameters of a function."""
    arguments = function.args
    defaults = [*arguments.defaults, *arguments.kw_defaults]
    return [default for default in defaults if default is not None]


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


def _set_above(placements: Iterable[Placement], part: PartThatRuns) -> set[str]:
    """Return the dotted names that expressible placements set before a part of the code runs."""
    dotted_names = set[str]()
    for placement in placements:
        first_line = placement.statement.lineno
        last_line = placement.statement.end_lineno or 0
        reading_line = part.statement.lineno
        function = part.function
        if function is not None:
            end = function.end_lineno or 0
            if function.lineno <= first_line <= end:  # both run in the same call
                reading_line = getattr(part.node, "lineno", 0)
        if placement.is_expressible and last_line < reading_line:
            dotted_names.update(placement.dotted_names)
    return dotted_names
