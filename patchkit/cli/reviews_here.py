"""Which locks there are, and whether what is patched was reviewed, for `patchkit doctor`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from patchkit.cli.rows import reason_to_skip
from patchkit.errors import LockError
from patchkit.report.here import HealthLine
from patchkit.report.words import count
from patchkit.review.lock_files import Locks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from patchkit.rows.declaration import Row
    from patchkit.rows.selection import Selection

_EFFECTS = {
    "skip": "; PATCHKIT_ON_DRIFT=skip leaves it out",
    "stop": "; PATCHKIT_ON_DRIFT=stop makes that a failure",
}
_line = partial(HealthLine, "locks")


def reviews(rows: Iterable[Row], selection: Selection) -> Iterator[HealthLine]:
    """Compare the targets of the patches that apply here, but for drift, with what was reviewed."""
    settings = replace(selection.settings, on_drift="warn")
    anyway = replace(selection, settings=settings)
    due = [row for row in rows if reason_to_skip(row, anyway) is None]
    locks = Locks(settings.lock)
    for pack, group in groupby(sorted(due, key=lambda row: row.pack), lambda row: row.pack):
        yield from _of_pack(pack, list(group), locks, selection)


def _of_pack(
    pack: str, rows: Collection[Row], locks: Locks, selection: Selection
) -> Iterator[HealthLine]:
    try:
        files = [locks.file(row) for row in rows if locks.of(row) is not None]
    except LockError as error:
        yield _line("bad", pack, str(error))
        return
    if len(files) < len(rows):
        yield _line("note", pack, "none: changes of their targets are not noticed")
        return
    differences = {row.name: selection.unreviewed(row) for row in rows}
    fine = sum(not words for words in differences.values())
    mark = "ok" if fine == len(rows) else "note"
    share = f"{fine} of {count(len(rows), 'patch')}"
    yield _line(mark, pack, f"{share} unchanged since review, {files[-1]}")
    effect = _EFFECTS.get(selection.settings.on_drift, "")
    for name, words in differences.items():
        if words:
            yield _line("warn", name, f"{words}{effect}")
