"""Compares what reading says that a pile sets with what it was observed to set.

A pile is a package that patches upstream. Reading may miss a later statement that sets the same
attribute again by a name that is worked out; a row would then have the wrong value.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import SCOPES, shortened
from patchkit.authoring.piles.observed import ObservedChange
from patchkit.authoring.piles.other_changes import foreign
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import Placement
from patchkit.authoring.piles.read_again import ModuleReading

_PLAIN = (bool, int, float, str, bytes, type(None))
"""The types of values whose spelling is compared."""


class ReadValue(NamedTuple):
    """A value that a module of a pile sets, as it was read.

    Args:
        reader: The reader of the module.
        placement: The placement that sets it.
    """

    reader: PileReader
    placement: Placement

    @property
    def literal(self) -> str:
        """The value as Python spells it out; '' where it is no plain one."""
        try:
            value = ast.literal_eval(self.placement.value)
        except (ValueError, TypeError, SyntaxError):
            return ""
        if not _is_plain(value):
            return ""
        return repr(value)

    @property
    def definition(self) -> str:
        """The name of the function or class that it is; '' where it is none, or is decorated."""
        value = self.placement.value
        if isinstance(value, ast.Lambda):
            return "<lambda>"
        if not isinstance(value, ast.Name):
            return ""
        definitions = self._definitions(value.id)
        if not definitions or any(node.decorator_list for node in definitions):
            return ""
        return value.id

    @property
    def lines(self) -> set[int]:
        """The lines on one of which the function begins that it is."""
        value = self.placement.value
        if isinstance(value, ast.Lambda):
            # The value itself may be a copy, for one turn of a loop: it has no lines.
            parts = ast.walk(self.placement.statement)
            return {part.lineno for part in parts if isinstance(part, ast.Lambda)}
        if not isinstance(value, ast.Name):
            return set()
        definitions = self._definitions(value.id)
        body = self.reader.module.tree.body
        statement = self.placement.statement
        above = [
            node
            for node in body
            if node in definitions and node.lineno < statement.lineno
        ]
        if statement in body and above:
            return {above[-1].lineno}
        return {node.lineno for node in definitions}

    @property
    def is_computed_late(self) -> bool:
        """Whether a call makes it that may read what the module has set above.

        A row would make the call before any other row sets anything.
        """
        value = self.placement.value
        parts = list(ast.walk(value))
        if not any(isinstance(part, ast.Call) for part in parts):
            return False
        first_line = self.placement.statement.lineno
        is_first = True
        for placement in self.reader.expressible:
            if placement.statement.lineno < first_line:
                is_first = False
        if is_first:
            return False
        module = self.reader.module
        reading = ModuleReading(module, self.reader.scope)
        return bool(
            foreign(reading.names_in(self.placement.statement, value), module.name)
        )

    @property
    def word(self) -> str:
        """The value in a word or two."""
        return self.literal or self.definition or shortened(self.placement.value)

    def _definitions(
        self, name: str
    ) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
        """Return what the module defines under a name, anywhere."""
        return [
            node
            for node in ast.walk(self.reader.module.tree)
            if isinstance(node, SCOPES) and node.name == name
        ]


def read_wrongly(
    changes: Iterable[ObservedChange], values: Mapping[str, Sequence[ReadValue]]
) -> dict[str, str]:
    """Return what reading gives for the targets that were observed to become something else.

    Args:
        changes: The changes whose targets rows have, as they were observed last.
        values: By target, what the statements that were read set.

    Returns:
        By target of which that is certain, the values that were read, in words.
    """
    wrong = dict[str, str]()
    for change in changes:
        read_values = values.get(change.target, ())
        if read_values and all(_differs(value, change) for value in read_values):
            words = [value.word for value in read_values]
            wrong[change.target] = " or ".join(words)
    return wrong


def _differs(value: ReadValue, change: ObservedChange) -> bool:
    """Return whether it is certain that something else was observed than was read."""
    if value.literal:
        return value.literal != change.literal
    if change.literal and value.is_computed_late:
        return True
    if not value.definition:
        return False
    if change.literal:  # no function or class
        return True
    module, _, qualname = change.by.partition(":")
    if not qualname:  # what was observed has no name
        return False
    is_same_name = qualname.rpartition(".")[2] == value.definition
    if not is_same_name or module != value.reader.module.name:
        return True
    # Another function may have the same name.
    return bool(change.line) and change.line not in value.lines


def _is_plain(value: object) -> bool:
    """Return whether a value is of a plain type, or a container of such values."""
    if isinstance(value, dict):
        return all(map(_is_plain, [*value, *value.values()]))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
