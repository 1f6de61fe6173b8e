"""Apply rows in this process and undo them; a script, whose last line of output is one JSON object.

Arguments: the packs. Each of their rows that is for here is applied by itself, its targets
imported for real.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
import traceback
from typing import TYPE_CHECKING, Any

from patchkit import applied
from patchkit.core.rows.selection import Selection
from patchkit.core.rows.target import Item, Target, TargetStep
from patchkit.core.versions.installed import Versions
from patchkit.registry import Registry
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.core.rows.declaration import Change, Row

ABSENT = object()
INSIDE = ("__code__", "__defaults__", "__kwdefaults__")


def state(target: Target) -> tuple[object, ...]:
    """The object that a target is now, and what an edit changes inside it."""
    here: Any = importlib.import_module(target.module)
    if target.qualname:
        *way, last = target.steps
        here = held(functools.reduce(step, way, here), last)
    function = getattr(here, "__func__", here)
    return (here, *(getattr(function, name, None) for name in INSIDE))


def held(owner: Any, last: TargetStep) -> Any:
    """What an owner itself holds, before any descriptor has a say."""
    if isinstance(last, Item):
        return owner[last.key]
    return inspect.getattr_static(owner, last, ABSENT)


def step(owner: Any, name: TargetStep) -> Any:
    """One step of a qualname."""
    return owner[name.key] if isinstance(name, Item) else getattr(owner, name)


def same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether these are the very same objects."""
    return len(one) == len(other) and all(
        a is b for a, b in zip(one, other, strict=True)
    )


def targets(changes: Iterable[Change]) -> dict[Target, bool]:
    """Where the changes are made, and whether that has to show there."""
    found = {}
    for change in changes:
        target = Target.parse(getattr(change, change.target_field))
        found[target] = change.inside_module and not change.when
    return found


def wrong(row: Row, places: dict[Target, bool], unseen: list[Target]) -> Iterator[str]:
    """Apply a row and undo it; say what is not as it should be, and collect what shows nothing."""
    before = {target: state(target) for target in places}
    with applied(row.name):
        during = {target: state(target) for target in places}
    for target, shows in places.items():
        if same(before[target], during[target]):
            unseen.append(target)
            if shows:
                yield f"{row.name}: {target} is not changed where it is applied"
        if not same(before[target], state(target)):
            yield f"{row.name}: {target} is another object after undo: {state(target)[0]!r}"


def tried(row: Row, places: dict[Target, bool], unseen: list[Target]) -> list[str]:
    """As `wrong`, and what could not be done at all."""
    try:
        return list(wrong(row, places, unseen))
    except Exception as error:  # noqa: BLE001 - upstream's modules may raise anything
        traceback.print_exc()
        return [f"{row.name}: {type(error).__name__}: {error}"]


def main(packs: list[str]) -> None:
    """Apply, undo, report."""
    settings = Settings.read()
    selection = Selection(settings, Versions.of(settings))
    rows = [row for row in Registry.collect(settings) if row.pack in packs]
    faults, seen, not_shown = list[str](), 0, list[str]()
    chosen = [row for row in rows if selection.reason_to_skip(row) is None]
    for row in chosen:
        left = [
            change for change in row.patch.changes if selection.applies(change, row)
        ]
        places, unseen = targets(left), list[Target]()
        faults += tried(row, places, unseen)
        seen += len(places) - len(unseen)
        not_shown += [f"{target} of {row.name}" for target in unseen]
    said = {
        "applied": [row.name for row in chosen],
        "targets": seen,
        "not_shown": not_shown,
        "wrong": faults,
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
