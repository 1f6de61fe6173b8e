"""Edits of the functions of one release, looked for and made as they will be at run time."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from patchkit.changes.source.rewriting import (
    FunctionText,
    MiscountError,
    TextEdit,
    nearest,
    rewrite,
)
from patchkit.check import codes
from patchkit.check.declarations import meet
from patchkit.check.findings import RETIRE, Fault, undecidable, where
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.rows.declaration import Edit, Row
    from patchkit.upstream.facts import Facts


class EditSequence:
    """The Edits that hold so far, by the definition that they change; rows come in their order."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], list[tuple[Row, Edit]]] = {}

    def faults(self, row: Row, change: Edit, facts: Facts, text: str) -> Iterator[Fault]:
        """List what an Edit of a function runs into, after those that come before it."""
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
    return row.patch.when is None and row.patch.env is None and edit.when is None


def _faults(
    change: Edit, facts: Facts, text: str, before: Sequence[tuple[Row, Edit]]
) -> Iterator[Fault]:
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
    found, expected = ("once" if one == 1 else f"{one} times" for one in (count, change.count))
    return f"{first!r} found {found}, expected {expected}"


class Sighting(NamedTuple):
    """What became of an edit's text."""

    times: int  # how often `old` occurs
    lines: tuple[int, ...] = ()  # where, in the file
    nearest: str = ""  # the lines that are most like it, with their numbers
    has_new: bool = False
    fault: str = ""  # why it could not be looked for
    after: str = ""  # the function with the edit, '' where it cannot be made


def look(change: Edit, text: str, first: int) -> Sighting:
    """Look for an edit's text in that of a function, decorators included, from its first line."""
    function = FunctionText(text)
    try:
        after = rewrite(function, TextEdit(change.old, change.new, change.count))
    except MiscountError as error:
        lines = tuple(first + text.count("\n", 0, start) for start in error.starts)
        near = "" if error.starts else nearest(text, change.old, first)
        return Sighting(len(lines), lines, near, has_new=_has(change.new, text))
    except TargetError as error:
        return Sighting(0, fault=str(error))
    return Sighting(change.count, after=after.text)


def _has(new: str, text: str) -> bool:
    if not dedent(new).strip():
        return False
    try:
        rewrite(FunctionText(text), TextEdit(new, new))
    except MiscountError as error:
        return bool(error.starts)
    except TargetError:
        return False
    return True
