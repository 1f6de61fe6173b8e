"""Lists the names that a pile adds to upstream, and that upstream has in another place.

A pile that is older than the release sets a function where that was once. Nobody calls it there any
more, so that the pile does nothing, and a row that adds it does nothing either.
"""

from patchkit.authoring.diffs.unexpressed import TO_LOOK_AT, UnexpressedCode
from patchkit.authoring.piles.piles import PileRows
from patchkit.core.rows.declaration import Add
from patchkit.core.rows.target import Target


def list_moved_targets(pile: PileRows) -> None:
    """List the names that rows add, and that the release defines once, elsewhere.

    Args:
        pile: The rows of the pile; its list gets more.
    """
    changes = [change for patch in pile.patches for change in patch.changes]
    changed = {change.place for change in changes}
    added = [
        change.place
        for change in changes
        if isinstance(change, Add) and change.place.qualname.isidentifier()
    ]
    # No release is known that has them, so that only their names are looked for.
    moves = pile.release.moves([(target, None) for target in added])
    for target, move in zip(added, moves, strict=True):
        # A pile for several releases sets both places.
        if move.place is not None and move.place not in changed:
            pile.left.append(_listed(pile, target, move.place))


def _listed(pile: PileRows, target: Target, place: Target) -> UnexpressedCode:
    """Describe a target with the statement that sets it; one that a call sets has none."""
    dotted_name = str(target).replace(":", ".")
    path, line, code = "", 0, ""
    for reader in pile.readers:
        for placement in reader.placements:
            if dotted_name in placement.dotted_names:
                path = reader.module.path
                line = placement.statement.lineno
                code = dotted_name
    reason = (
        f"{pile.release.name} has nothing there, so that the row adds it; something of that name "
        f"is at {place}, and no row changes that"
    )
    return UnexpressedCode(path, line, code, reason, str(target), kind=TO_LOOK_AT)
