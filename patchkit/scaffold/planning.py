"""All that a new patch needs, worked out before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.errors import ScaffoldError
from patchkit.registry import row_of
from patchkit.rows.declaration import Patch
from patchkit.scaffold.body import body_text
from patchkit.scaffold.kinds import change_for
from patchkit.scaffold.rows import is_named, new_pack, row_text, with_row
from patchkit.scaffold.test_file import test_text
from patchkit.versions.requirements import canonical, parse_requirement, written_bounds
from patchkit.versions.version import FoundVersion as Version

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from patchkit.rows.declaration import Change, Role
    from patchkit.scaffold.found import Found
    from patchkit.scaffold.place import Place

BODY, TEST, ROW, PACKAGE = "body", "test", "row", "package"


class Planned(NamedTuple):
    """
    One file to write.

    Args:
        what: it is for: `body`, `test`, `row` or `package`.
        path: where.
        new: its content.
        old: what lies there now; None for a new file.

    """

    what: str
    path: Path
    new: bytes
    old: bytes | None = None


class Plan(NamedTuple):
    """
    What a new patch needs.

    Args:
        patch: the row, as data.
        place: of its pack.
        row: as it is written.
        files: in the order in which they are written; the row comes last.
        refusal: why the row cannot be written, None where it can.

    """

    patch: Patch
    place: Place
    row: str
    files: tuple[Planned, ...]
    refusal: ScaffoldError | None = None

    def without_row(self) -> Plan:
        """Leave the row to its author."""
        refusal = self.refusal or ScaffoldError("it was not to be written")
        files = tuple(one for one in self.files if one.what != ROW)
        return self._replace(files=files, refusal=refusal)


class Wish(NamedTuple):
    """
    What a command line asks for.

    Args:
        name: of the patch.
        kind: of all its changes; None for what serves each target.
        roles: which processes; none for those of the pack's folder.
        body: name of its module; None for that of the first target's.
        bounds: requirements that say more than the release that was looked at.

    """

    name: str
    kind: str | None = None
    roles: Collection[Role] = ()
    body: str | None = None
    bounds: Sequence[str] = ()


def plan(wish: Wish, founds: Sequence[Found], place: Place, tests: Path) -> Plan:
    """
    Work out a new patch.

    Args:
        wish: what is asked for.
        founds: its targets.
        place: of its pack.
        tests: the folder of its test.

    Raises:
        ScaffoldError: a target is not what the change needs, or something is there already.
        DeclarationError: the row would be malformed.

    """
    changes = _changes(founds, wish.kind)
    patch = _patch(wish, changes, place)
    row_of(place.module, patch)
    rows, refusal = _rows(place, patch)
    body = body_text(changes).encode()
    test = tests / f"test_{_as_name(wish.name)}.py"
    files = [
        *(Planned(PACKAGE, one, b"") for one in place.new_parents),
        *([Planned(BODY, place.folder / f"{patch.body}.py", body)] if body else []),
        Planned(TEST, test, test_text(patch, place.module, founds).encode()),
        *rows,
    ]
    _refuse_there(files)
    return Plan(patch, place, row_text(patch), tuple(files), refusal)


def _changes(founds: Iterable[Found], kind: str | None) -> list[tuple[Found, Change]]:
    changes: list[tuple[Found, Change]] = []
    for found in founds:
        taken = {one.body_name for _, one in changes}
        changes.append((found, change_for(found, kind, taken)))
    return changes


def _patch(wish: Wish, changes: Sequence[tuple[Found, Change]], place: Place) -> Patch:
    needs_body = any(one.body_field for _, one in changes)
    return Patch(
        name=wish.name,
        body=wish.body or _free_body(wish, changes[0][0], place) if needs_body else None,
        requires=tuple(dict.fromkeys(_requirement(one, wish.bounds) for one, _ in changes)),
        roles=frozenset(wish.roles) if wish.roles else None,
        changes=tuple(one for _, one in changes),
    )


def _free_body(wish: Wish, found: Found, place: Place) -> str:
    """Name a body after its target's module; after the patch, where another has that name."""
    body = f"patch_{found.target.module.rpartition('.')[2].strip('_')}"
    is_free = not (place.folder / f"{body}.py").exists()
    return body if is_free else f"patch_{_as_name(wish.name)}"


def _as_name(patch: str) -> str:
    return patch.replace("-", "_")


def _requirement(found: Found, bounds: Sequence[str]) -> str:
    """Say which releases: those that were asked for, or those like the one that was looked at."""
    for text in bounds:
        is_its = canonical(parse_requirement(text).name) == found.subject.project
        if is_its and (written := written_bounds(text)):
            return f"{found.package}{written}"
    version = Version(found.package, found.subject.version, found.subject.name).counts_as
    first, second, *_ = [*version.partition(".post")[0].split("."), ""]
    if not second:
        return f"{found.package}>={first},<{int(first) + 1}"
    return f"{found.package}>={first}.{second},<{first}.{int(second) + 1}"


def _rows(place: Place, patch: Patch) -> tuple[list[Planned], ScaffoldError | None]:
    """Work out the pack's file; nothing, with the reason, where the row cannot be put into it."""
    old = place.file.read_bytes() if place.file.exists() else None
    if old and is_named(old, patch):
        raise ScaffoldError(f"{place.file}: {patch.name!r} is there already, expected a new name")
    if not (old and old.strip()):
        return [Planned(ROW, place.file, new_pack(place.module, patch), old)], None
    try:
        return [Planned(ROW, place.file, with_row(place.file, old, patch), old)], None
    except ScaffoldError as error:
        return [], error


def _refuse_there(files: Iterable[Planned]) -> None:
    for one in files:
        if one.old is None and one.path.exists():
            way_out = "; --body names another" if one.what == BODY else ""
            raise ScaffoldError(f"{one.path} is there already, expected no such file{way_out}")
