"""The kinds of change: each prepares (looks and refuses) and then applies.

Rooms hold what belongs together: `objects` (Replace, Wrap, Add), `source` (Edit), `fields`
(AddField), `modules` (Provide and import calls). They know nothing of one another; what lies
beside them, here, is shared by all.

`prepare` changes nothing upstream. What it returns is applied later in one go with the other
changes of the patch, and can take back what it has made.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from patchkit.runtime.changes.owners import is_built

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from patchkit.core.rows.declaration import Change
    from patchkit.runtime.changes.context import Context, Prepared
    from patchkit.runtime.changes.fields.rebuilding import Rebuild
    from patchkit.runtime.changes.sites import Sites

    Placed = tuple[int, Change]

_MODULES = {
    "Replace": "objects.replace",
    "Wrap": "objects.wrap",
    "Edit": "source.edit",
    "Add": "objects.replace",
    "AddField": "fields.add_field",
    "Provide": "modules",
    "BeforeImport": "modules",
    "AfterImport": "modules",
}
"""A kind's module is imported with its first change: some of them need half of the library."""


def prepare(change: Change, context: Context) -> Prepared:
    """Resolve a change's target and its object in the body; a TargetError where one cannot be."""
    kind = importlib.import_module(f"patchkit.runtime.changes.{_MODULES[change.kind]}")
    return cast("Prepared", kind.prepare(change, context))


def in_waves(changes: Iterable[Placed]) -> Iterator[list[Placed]]:
    """Cut changes, in declared order, where one lies inside what an earlier one puts in place.

    Wrapping a method of a class that the same row replaces means the class that is there then.
    """
    wave: list[Placed] = []
    for place, change in changes:
        if any(_is_inside(change, earlier) for _, earlier in wave):
            yield wave
            wave = []
        wave.append((place, change))
    yield wave


def _is_inside(change: Change, earlier: Change) -> bool:
    if earlier.kind not in {"Replace", "Add"} or not change.inside_module:
        return False
    outer, inner = earlier.place, change.place
    length = len(outer.steps)
    is_deeper = outer.module == inner.module and len(inner.steps) > length
    return is_deeper and inner.steps[:length] == outer.steps


def rebuild_after(prepared: Collection[Prepared], sites: Sites) -> Rebuild | None:
    """Prepare what has to follow these changes: built classes are built anew; None for nothing."""
    changed = [cls for change in prepared for cls in getattr(change, "classes", ())]
    members = [site for change in prepared for site in change.sites if is_built(site.owner)]
    if not (changed or members):
        return None
    from patchkit.runtime.changes.fields.rebuilding import Rebuild  # noqa: PLC0415 - few changes need it

    return Rebuild(changed, members, sites)
