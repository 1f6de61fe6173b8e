"""Which locks there are, and whether what is patched was reviewed, for `patchkit doctor`."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from patchkit.cli.rows import reason_to_skip
from patchkit.errors import LockError
from patchkit.report.here import HealthLine
from patchkit.report.words import count
from patchkit.review.compare import Look
from patchkit.review.lock_files import Locks
from patchkit.upstream.here import Here

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from patchkit.review.lock_format import Lock
    from patchkit.rows.row import Row
    from patchkit.rows.selection import Selection

_EFFECTS = {
    "skip": "; PATCHKIT_ON_DRIFT=skip leaves it out",
    "stop": "; PATCHKIT_ON_DRIFT=stop makes that a failure",
}


def reviews(rows: Iterable[Row], selection: Selection) -> Iterator[HealthLine]:
    """
    Compare the targets of the patches that are for here with what was reviewed.

    Args:
        rows: of all packs.
        selection: what decides on them; what it leaves out for drift alone is looked at too.

    """
    settings = replace(selection.settings, on_drift="warn")
    anyway = replace(selection, settings=settings)
    rows = [row for row in rows if reason_to_skip(row, anyway) is None]
    locks, here = Locks(settings.lock), Here()
    for pack, group in groupby(sorted(rows, key=lambda row: row.pack), lambda row: row.pack):
        yield from _of_pack(pack, list(group), locks, here, selection)


def _of_pack(
    pack: str, rows: Collection[Row], locks: Locks, here: Here, selection: Selection
) -> Iterator[HealthLine]:
    found = {}
    try:
        for row in rows:
            file, lock = locks.file(row), locks.of(row)
            if file is None or lock is None:
                yield _line("note", pack, "none: what these patches change is not compared")
                return
            found[row.name] = _differences(row, lock, here, selection)
    except LockError as error:
        yield _line("bad", pack, str(error))
        return
    fine = sum(not words for words in found.values())
    mark = "ok" if fine == len(found) else "note"
    yield _line(mark, pack, f"{fine} of {count(len(found), 'patch')} as reviewed, {file}")
    effect = _EFFECTS.get(selection.settings.on_drift, "")
    for name, words in found.items():
        if words:
            yield _line("warn", name, f"{words}{effect}")


def _differences(row: Row, lock: Lock, here: Here, selection: Selection) -> str:
    """Say which targets of a row are not as they were reviewed; '' where all are."""
    look = Look(row.name, lock, here)
    changes = [one for one in row.patch.changes if one.is_reviewed and selection.applies(one, row)]
    places = dict.fromkeys(one.place for one in changes)
    return "; ".join(filter(None, (look.verdict(place).words for place in places)))


def _line(mark: str, subject: str, message: str) -> HealthLine:
    return HealthLine("locks", mark, subject, message)
