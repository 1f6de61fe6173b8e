"""Prepares changes of every kind: each is looked at and may be refused, and is applied later.

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
    from patchkit.runtime.changes.sites import Site, Sites

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
    """Resolve a change's target and its object in the body.

    Args:
        change: A change of any kind.
        context: What the change is prepared with.

    Returns:
        The change, to be applied; nothing upstream is changed yet.

    Raises:
        TargetError: The target or the object is missing, or cannot be used for this change.
    """
    kind = importlib.import_module(f"patchkit.runtime.changes.{_MODULES[change.kind]}")
    return cast("Prepared", kind.prepare(change, context))


def in_waves(changes: Iterable[Placed]) -> Iterator[list[Placed]]:
    """Cut changes where one lies inside what an earlier one puts in place.

    Wrapping a method of a class that the same row replaces means the class that is there then.

    Args:
        changes: Positions in the row with their changes, in declared order.

    Yields:
        Changes that can be prepared together, once those before them are applied.
    """
    wave: list[Placed] = []
    for position, change in changes:
        if any(_is_inside(change, earlier) for _, earlier in wave):
            yield wave
            wave = []
        wave.append((position, change))
    yield wave


def _is_inside(change: Change, earlier: Change) -> bool:
    if earlier.kind not in {"Replace", "Add"} or not change.inside_module:
        return False
    outer = earlier.place
    inner = change.place
    length = len(outer.steps)
    is_deeper = outer.module == inner.module and len(inner.steps) > length
    return is_deeper and inner.steps[:length] == outer.steps


def rebuild_after(prepared: Collection[Prepared], sites: Sites) -> Rebuild | None:
    """Prepare to build the classes anew that were built from what these changes change.

    Args:
        prepared: Changes that are applied together.
        sites: All changed attributes of this process.

    Returns:
        What to apply after them; None if no class is built from what they change.
    """
    changed: list[type] = []
    members: list[Site] = []
    for change in prepared:
        changed += getattr(change, "classes", ())
        members += [site for site in change.sites if is_built(site.owner)]
    if not changed and not members:
        return None
    from patchkit.runtime.changes.fields.rebuilding import Rebuild  # noqa: PLC0415 - few changes need it

    return Rebuild(changed, members, sites)
