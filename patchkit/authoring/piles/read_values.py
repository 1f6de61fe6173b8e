"""Compares what reading says that a pile sets with what it was observed to set.

A pile is a package that patches upstream. Reading may miss a later statement that sets the same
attribute again by a name that is worked out; a row would then have the wrong value.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import SCOPES
from patchkit.authoring.piles.observed import ObservedChange
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import Placement

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
        if type(value) not in _PLAIN:
            return ""
        return repr(value)

    @property
    def definition(self) -> str:
        """The name of the function or class that it is; '' where it is none, or is decorated."""
        value = self.placement.value
        if not isinstance(value, ast.Name):
            return ""
        definitions = [
            node
            for node in ast.walk(self.reader.module.tree)
            if isinstance(node, SCOPES) and node.name == value.id
        ]
        if not definitions or any(node.decorator_list for node in definitions):
            return ""
        return value.id


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
            words = [value.literal or value.definition for value in read_values]
            wrong[change.target] = " or ".join(words)
    return wrong


def _differs(value: ReadValue, change: ObservedChange) -> bool:
    """Return whether it is certain that something else was observed than was read."""
    if value.literal:
        return value.literal != change.literal
    if not value.definition:
        return False
    if change.literal:  # no function or class
        return True
    module, _, qualname = change.by.partition(":")
    if not qualname:  # what was observed has no name
        return False
    is_same_name = qualname.rpartition(".")[2] == value.definition
    return not is_same_name or module != value.reader.module.name
