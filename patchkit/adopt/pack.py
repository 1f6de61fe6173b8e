"""A new pack's files, of rows and of the text of their bodies."""

from collections.abc import Mapping, Sequence
from functools import reduce

from patchkit.rows.declaration import Patch
from patchkit.scaffold.plan import Place, PlannedFile
from patchkit.scaffold.rows import new_pack, with_row


def pack_files(
    place: Place, patches: Sequence[Patch], bodies: Mapping[str, str]
) -> list[PlannedFile]:
    """Plan a pack's files; `patchkit.scaffold.plan.write` writes all of them, or none.

    Whoever found changes in another way makes a `Patch` of those that have one reason, names its
    `body`, and hands over the body's text by that name; changes that need no body have none.
    """
    first, *others = patches
    start = new_pack(place.module, first)
    rows = reduce(lambda text, patch: with_row(place.file, text, patch), others, start)
    old = place.file.read_bytes() if place.file.exists() else None
    texts = ((place.folder / f"{name}.py", text.encode()) for name, text in bodies.items())
    return [
        *(PlannedFile("package", file, b"") for file in place.new_parents),
        *(PlannedFile("body", file, text) for file, text in texts),
        PlannedFile("row", place.file, rows, old),
    ]
