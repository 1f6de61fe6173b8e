"""All that a new patch needs, worked out before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.errors import ScaffoldError
from patchkit.registry import row_of
from patchkit.rows.declaration import Patch
from patchkit.scaffold.body import body_text, test_text
from patchkit.scaffold.files import PlannedFile
from patchkit.scaffold.first_change import first_change
from patchkit.scaffold.rows import is_named, new_pack, row_text, with_row
from patchkit.versions.requirements import (
    FoundVersion,
    canonical,
    parse_requirement,
    written_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from patchkit.rows.declaration import Change, Role
    from patchkit.scaffold.files import Place
    from patchkit.scaffold.first_change import UpstreamTarget


class Plan(NamedTuple):
    """What a new patch needs; `refusal` says why the row is for its author to paste."""

    patch: Patch
    place: Place
    row: str
    files: Sequence[PlannedFile]
    refusal: ScaffoldError | None = None


class Wish(NamedTuple):
    """What a command line asks for; what it leaves open follows from the targets and the pack."""

    name: str
    kind: str | None = None
    roles: Collection[Role] = ()
    body: str | None = None
    bounds: Sequence[str] = ()


def plan(wish: Wish, targets: Sequence[UpstreamTarget], place: Place, tests: Path) -> Plan:
    """Work out a new patch: its targets, the place of its pack, and the folder of its test."""
    changes: list[tuple[UpstreamTarget, Change]] = []
    for upstream in targets:
        taken = {change.body_name for _, change in changes}
        changes.append((upstream, first_change(upstream, wish.kind, taken)))
    body, plain = body_text(changes), wish.name.replace("-", "_")
    patch = Patch(
        name=wish.name,
        body=(wish.body or _free_body(targets[0], plain, place)) if body else None,
        requires=tuple(dict.fromkeys(_requirement(upstream, wish.bounds) for upstream in targets)),
        roles=frozenset(wish.roles) if wish.roles else None,
        changes=tuple(change for _, change in changes),
    )
    row_of(place.module, patch)
    files = [
        *(PlannedFile("package", file, b"") for file in place.new_parents),
        *([PlannedFile("body", place.folder / f"{patch.body}.py", body.encode())] if body else []),
        PlannedFile("test", tests / f"test_{plain}.py", test_text(patch, place, targets).encode()),
    ]
    return _with_row(Plan(patch, place, row_text(patch), files))


def _with_row(plan: Plan) -> Plan:
    """Add the pack's file, or why the row cannot be written into it; refuse what is there."""
    file, patch = plan.place.file, plan.patch
    old = file.read_bytes() if file.exists() else None
    if old and is_named(old, patch):
        raise ScaffoldError(f"{file}: {patch.name!r} is there already, expected a new name")
    for what, path, *_ in plan.files:
        if path.exists():
            way_out = "; --body names another" if what == "body" else ""
            raise ScaffoldError(f"{path} is there already, expected no such file{way_out}")
    try:
        is_empty = not (old and old.strip())
        new = new_pack(plan.place.module, patch) if is_empty else with_row(file, old or b"", patch)
    except ScaffoldError as error:
        return plan._replace(refusal=error)
    return plan._replace(files=[*plan.files, PlannedFile("row", file, new, old)])


def _free_body(upstream: UpstreamTarget, patch: str, place: Place) -> str:
    """Name a body after its target's module; after the patch, where another has that name."""
    body = f"patch_{upstream.target.module.rpartition('.')[2].strip('_')}"
    return f"patch_{patch}" if (place.folder / f"{body}.py").exists() else body


def _requirement(upstream: UpstreamTarget, bounds: Sequence[str]) -> str:
    """Say which releases: those that were asked for, or those like the one that was looked at."""
    package, newest = upstream.target.module.partition(".")[0], upstream.newest
    for text in bounds:
        is_its = canonical(parse_requirement(text).name) == newest.project
        if is_its and (written := written_bounds(text)):
            return f"{package}{written}"
    version = FoundVersion(package, newest.version, newest.name).counts_as
    first, second, *_ = [*version.partition(".post")[0].split("."), ""]
    if not second:
        return f"{package}>={first},<{int(first) + 1}"
    return f"{package}>={first}.{second},<{first}.{int(second) + 1}"
