"""A new pack's files, of rows and of the text of their bodies."""

from collections.abc import Mapping, Sequence

from patchkit.rows.declaration import Patch
from patchkit.scaffold.plan import Place, PlannedFile
from patchkit.scaffold.rows import new_pack


def pack_files(
    place: Place, patches: Sequence[Patch], bodies: Mapping[str, str]
) -> list[PlannedFile]:
    """Plan a pack's files; `patchkit.scaffold.plan.write` writes all of them, or none.

    Whoever found changes in another way makes a `Patch` of those that have one reason, names its
    `body`, and hands over the body's text by that name; changes that need no body have none.
    """
    rows = new_pack(place.module, *patches)
    old = place.file.read_bytes() if place.file.exists() else None
    return [*place.files(bodies), PlannedFile("row", place.file, rows, old)]
