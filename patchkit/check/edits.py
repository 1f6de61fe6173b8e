"""Edits of the functions of one release, looked for and made as they will be at run time."""

from __future__ import annotations

from contextlib import suppress
from textwrap import dedent
from typing import TYPE_CHECKING

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
    for _, edit in before:
        with suppress(TargetError):
            text = edited(edit, text)
    others = dict.fromkeys(row.name for row, _ in before)
    place = f"{facts.path}, as {' and '.join(others)} leaves it" if others else facts.path
    try:
        if edited(change, text) == text:
            message = f"found new the same as old, expected other code, {where(facts)}"
            fix = "write into new what should stand there"
            yield Fault(codes.EDIT_CHANGES_NOTHING, message, fix)
    except MiscountError as error:
        assert facts.lines is not None
        yield _miscounted(change, text, facts.lines[0], error.starts, place)
    except TargetError as error:
        yield undecidable(str(error))


def _miscounted(change: Edit, text: str, first: int, starts: Sequence[int], place: str) -> Fault:
    if not starts and _has(change.new, text):
        message = f"old is gone and new is there, in {place}; the Edit fails here"
        return Fault(codes.MERGED_UPSTREAM, message, RETIRE)
    message = f"{_occurs(len(starts), change)} in {place}"
    if len(starts) < change.count:
        near = "" if starts else nearest(text, change.old, first)
        message += f"; nearest to it:\n{near}" if near else ""
        return Fault(codes.ANCHOR_ABSENT, message, "follow upstream's text in old and new")
    lines = ", ".join(str(first + text.count("\n", 0, start)) for start in starts)
    message += f", lines {lines}"
    return Fault(codes.ANCHOR_AMBIGUOUS, message, "make old longer, or set count")


def _occurs(count: int, change: Edit) -> str:
    first = change.old.strip().splitlines()[0]
    if not count:
        return f"{first!r} not found"
    found, expected = ("once" if one == 1 else f"{one} times" for one in (count, change.count))
    return f"{first!r} found {found}, expected {expected}"


def edited(change: Edit, text: str) -> str:
    """Make an Edit in the text of a function, decorators included; TargetError where that fails."""
    return rewrite(FunctionText(text), TextEdit(change.old, change.new, change.count)).text


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
