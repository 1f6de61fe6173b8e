"""Where an Edit's text occurs upstream, found as at run time."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from patchkit.changes.source.function_text import FunctionText
from patchkit.changes.source.mismatch import nearest
from patchkit.changes.source.rewriting import MiscountError, TextEdit, rewrite
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from patchkit.rows.declaration import Edit


class Sighting(NamedTuple):
    """
    What became of an edit's text.

    Args:
        times: how often `old` occurs.
        lines: where, from the definition's first.
        nearest: the lines that are most like it, with their numbers.
        has_new: whether `new` is there already.
        fault: why it could not be looked for.
        after: the function with the edit, '' where it cannot be made.

    """

    times: int
    lines: tuple[int, ...] = ()
    nearest: str = ""
    has_new: bool = False
    fault: str = ""
    after: str = ""


def look(change: Edit, text: str, first: int) -> Sighting:
    """
    Look for an edit's text.

    Args:
        change: the edit.
        text: the function's, decorators included.
        first: its line in the file.

    """
    function = FunctionText(text)
    try:
        after = rewrite(function, TextEdit(change.old, change.new, change.count))
    except MiscountError as error:
        lines = tuple(first + text.count("\n", 0, start) for start in error.starts)
        near = "" if error.starts else nearest(text, change.old, first)
        return Sighting(len(lines), lines, near, _has(change.new, text))
    except TargetError as error:
        return Sighting(0, fault=str(error))
    return Sighting(change.count, after=after.text)


def _has(new: str, text: str) -> bool:
    """Whether what an edit would put in is there, and is something."""
    if not dedent(new).strip():
        return False
    try:
        rewrite(FunctionText(text), TextEdit(new, new))
    except MiscountError as error:
        return bool(error.starts)
    except TargetError:
        return False
    return True
