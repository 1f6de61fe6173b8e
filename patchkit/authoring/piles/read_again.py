"""Refuses what a module of a pile reads after it has set it: a row sets it only later."""

import ast
from collections.abc import Iterable, Sequence

from patchkit.analysis.upstream.resolving.syntax import expressions, statements
from patchkit.authoring.piles.other_changes import SETTABLE
from patchkit.authoring.piles.placements import Placement, is_check
from patchkit.authoring.source.name_scopes import NameScope

_READ_AGAIN = "the module reads it again, before a row sets it"


def refuse_what_is_read_again(
    placements: Sequence[Placement], body: Sequence[ast.stmt], scope: NameScope
) -> None:
    """Refuse placements whose attribute the module reads below.

    Args:
        placements: The placements of the module.
        body: Its statements.
        scope: What its names mean.
    """
    read_again = set[str]()
    for statement in statements(body):
        if is_check(statement):  # dropped from the body
            continue
        for node in expressions(statement):
            if isinstance(node, SETTABLE) and isinstance(node.ctx, ast.Load):
                dotted_names = scope.dotted_names_of(node)
                if dotted_names:
                    set_above = _set_above(placements, node.lineno)
                    read_again |= set_above.intersection(dotted_names)
    for placement in placements:
        is_read = not read_again.isdisjoint(placement.dotted_names)
        if placement.is_expressible and is_read:
            placement.reason = _READ_AGAIN


def _set_above(placements: Iterable[Placement], line: int) -> set[str]:
    """Return the dotted names that expressible placements above a line set."""
    dotted_names = set[str]()
    for placement in placements:
        last_line = placement.statement.end_lineno or 0
        if placement.is_expressible and last_line < line:
            dotted_names.update(placement.dotted_names)
    return dotted_names
