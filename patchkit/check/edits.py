"""Edits of the functions of one release, made one after another as they will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check import codes
from patchkit.check.anchors import look
from patchkit.check.faults import RETIRE, Fault, undecidable, where
from patchkit.check.order import meet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.rows.declaration import Edit
    from patchkit.rows.row import Row
    from patchkit.upstream.facts import Facts

    _Made = Sequence[tuple[Row, Edit]]


class EditSequence:
    """The Edits that hold so far, by the definition that they change; rows come in their order."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], list[tuple[Row, Edit]]] = {}

    def faults(self, row: Row, change: Edit, facts: Facts, text: str) -> Iterator[Fault]:
        """
        List what an Edit runs into, after those that come before it in a process.

        Args:
            row: whose it is.
            change: the Edit.
            facts: its function's.
            text: upstream's, of the function.

        """
        made = self._made.setdefault((facts.module, facts.qualname), [])
        before = [(other, edit) for other, edit in made if other is row or meet(other, row)]
        sure = [(other, edit) for other, edit in before if other is row or _is_sure(other, edit)]
        for several in (before, sure) if sure != before else (before,):
            faults = [*_faults(change, facts, text, several)]
            yield from faults
            if any(one.breaks for one in faults):
                return
        made.append((row, change))


def _is_sure(row: Row, edit: Edit) -> bool:
    """Whether an Edit is made wherever its row is for here."""
    return row.patch.when is None and row.patch.env is None and edit.when is None


def _faults(change: Edit, facts: Facts, text: str, before: _Made) -> Iterator[Fault]:
    assert facts.lines is not None
    for _, edit in before:
        text = look(edit, text, facts.lines[0]).after or text
    found = look(change, text, facts.lines[0])
    others = dict.fromkeys(row.name for row, _ in before)
    place = f"{facts.path}, as {' and '.join(others)} leaves it" if others else facts.path
    if found.after == text:
        message = f"found new the same as old, expected other code, {where(facts)}"
        yield Fault(codes.EDIT_CHANGES_NOTHING, message, "write into new what should stand there")
    elif found.after:
        return
    elif found.fault:
        yield undecidable(found.fault)
    elif found.times == 0 and found.has_new:
        message = f"old is gone and new is there, in {place}; the Edit fails here"
        yield Fault(codes.MERGED_UPSTREAM, message, RETIRE)
    elif found.times < change.count:
        near = f"; nearest to it:\n{found.nearest}" if found.nearest else ""
        message = f"{_occurs(found.times, change)} in {place}{near}"
        yield Fault(codes.ANCHOR_ABSENT, message, "follow upstream's text in old and new")
    else:
        lines = ", ".join(map(str, found.lines))
        message = f"{_occurs(found.times, change)} in {place}, lines {lines}"
        yield Fault(codes.ANCHOR_AMBIGUOUS, message, "make old longer, or set count")


def _occurs(count: int, change: Edit) -> str:
    first = change.old.strip().splitlines()[0]
    if not count:
        return f"{first!r} not found"
    return f"{first!r} found {_times(count)}, expected {_times(change.count)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
