"""Refuses what a module of a pile also changes by a statement that no row expresses.

The body of a row runs such statements as it is loaded, and its rows set their targets after that.
Where both are about one attribute, they would come in another order than in the pile, or a row
would find what it does not expect. So the statements stay together, in the body.
"""

import ast
from collections.abc import Sequence

from patchkit.authoring.piles.placements import Placement
from patchkit.authoring.piles.runs_at_import import RunsAtImport

_CHANGED_AGAIN = "the module changes it in another way, too, which no row expresses"


def refuse_what_is_changed_again(
    placements: Sequence[Placement], runs_at_import: RunsAtImport
) -> None:
    """Refuse placements whose attribute another statement of the module changes in no row.

    Args:
        placements: The placements of the module.
        runs_at_import: The functions of the module that run as it is imported.
    """
    at_import = [
        placement for placement in placements if runs_at_import.has(placement.function)
    ]
    is_stable = False
    while not is_stable:  # what is refused may be what another one meets
        is_stable = True
        for placement in at_import:
            if placement.is_expressible and _meets_another(placement, at_import):
                placement.reason = _CHANGED_AGAIN
                is_stable = False


def _meets_another(placement: Placement, placements: Sequence[Placement]) -> bool:
    """Return whether another placement prevents that a row sets the attributes of a placement."""
    return any(
        _meets(placement, other) for other in placements if other is not placement
    )


def _meets(placement: Placement, other: Placement) -> bool:
    """Return whether a placement cannot be a row beside another one of the module.

    Args:
        placement: The placement.
        other: The other one.
    """
    is_earlier = placement.statement.lineno < other.statement.lineno
    for name in placement.dotted_names:
        for other_name in other.dotted_names:
            is_inside = name.startswith(f"{other_name}[")
            if other.is_expressible:
                # `TABLE["a"]["b"] = 1`, and then `TABLE["a"] = {}`.
                if is_inside and is_earlier:
                    return True
                continue
            is_replaced = is_earlier and not isinstance(other.value, ast.Call)
            is_member = name.startswith(f"{other_name}.")
            if name == other_name or is_inside or (is_member and is_replaced):
                return True
    return False
