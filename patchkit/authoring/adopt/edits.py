"""Finds the smallest set of unambiguous Edits between two versions of a function."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from textwrap import dedent
from typing import NamedTuple

from patchkit.analysis.check.edit_sequence import edited
from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.core.rows.declaration import Edit
from patchkit.core.text.rewriting import FunctionText, TextEdit, rewrite
from patchkit.errors import TargetError


class ChangedLines(NamedTuple):
    """Lines of an old text, and those of a new one that replace them; counted from 0.

    Args:
        old_start: the first line of the old text.
        old_end: the line after the last.
        new_start: the first line of the new text.
        new_end: the line after the last.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def edits(old: str, new: str) -> list[TextEdit] | None:
    """Find edits that, one after another, make a function of another with the same fingerprint.

    Args:
        old: the text of the function, decorators included.
        new: the text that the edits shall make of it.

    Returns:
        The edits; None where none do, as where decorators differ: they have run already.
    """
    if _hash_of_decorators(old) != _hash_of_decorators(new):
        return None
    fine = hunks(old.splitlines(), new.splitlines()) or [ChangedLines(0, 0, 0, 0)]
    first = fine[0]
    last = fine[-1]
    coarse = [
        ChangedLines(first.old_start, last.old_end, first.new_start, last.new_end)
    ]
    for attempt in (fine, coarse):
        with suppress(TargetError, SyntaxError):
            return list(_edits(old, new, attempt))
    return None


def all_edited(changes: Sequence[Edit], text: str) -> str:
    """Return a text with Edits made, one after another.

    Args:
        changes: the Edits.
        text: the text of a function.

    Raises:
        TargetError: an Edit does not fit.
    """
    for change in changes:
        text = edited(change, text)
    return text


def hunks(old: Sequence[str], new: Sequence[str]) -> list[ChangedLines]:
    """Return what differs between lines.

    Args:
        old: the lines before.
        new: the lines after.
    """
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        ChangedLines(*numbers)
        for tag, *numbers in matcher.get_opcodes()
        if tag != "equal"
    ]


def _edits(old: str, new: str, hunks: Sequence[ChangedLines]) -> Iterator[TextEdit]:
    """Write an edit for each hunk that means something, from the last to the first.

    Raises:
        TargetError: no lines name where a hunk is, or the edits do not make the new function.
        SyntaxError: with one hunk alone, the text is no Python.
    """
    new_lines = new.splitlines()
    text = old
    for hunk in reversed(hunks):  # so that the numbers of lines stay right
        lines = text.splitlines()
        filling = new_lines[hunk.new_start : hunk.new_end]
        expected = "\n".join(
            [*lines[: hunk.old_start], *filling, *lines[hunk.old_end :]]
        )
        if mark(expected) == mark(text):
            continue  # a comment, or the layout
        edit, text = _anchored(lines, hunk, filling, expected)
        yield edit
    if mark(text) != mark(new):
        raise TargetError("found another function, expected the new one")


def _anchored(
    lines: Sequence[str], hunk: ChangedLines, filling: Sequence[str], expected: str
) -> tuple[TextEdit, str]:
    """Add neighbouring lines to a hunk, before and after it in turn, until it fits once only.

    Args:
        lines: the lines of the function.
        hunk: which of them are replaced.
        filling: the lines that replace them.
        expected: the text of the function with the lines replaced.

    Returns:
        The edit, and the text that it makes.

    Raises:
        TargetError: no number of lines is enough.
    """
    function = FunctionText("\n".join(lines))
    for neighbours in range(2 * len(lines)):
        start = max(0, hunk.old_start - (neighbours + 1) // 2)
        end = min(len(lines), hunk.old_end + neighbours // 2)
        before = lines[start : hunk.old_start]
        after = lines[hunk.old_end : end]
        for edit in _written(lines[start:end], [*before, *filling, *after]):
            with suppress(TargetError, SyntaxError):
                text = rewrite(function, edit).text
                if mark(text) == mark(expected):
                    return edit, text
        if start == 0 and end == len(lines):
            break
    raise TargetError("found no lines that name the place, expected some")


def _written(old: Sequence[str], new: Sequence[str]) -> Iterator[TextEdit]:
    """Write lines as an edit: as far to the left as they go, and as they are.

    The second fits where a text of more than one line stands in them.
    """
    both = "\n".join([*old, *new])
    for text in (dedent(both), both):
        lines = text.split("\n")
        old_lines = lines[: len(old)]
        new_lines = lines[len(old) :]
        yield TextEdit("\n".join(old_lines), "\n".join(new_lines))


def _statements(text: str) -> list[ast.stmt]:
    """Parse statements, which may be indented; SyntaxError where the text is no Python."""
    is_indented = not text[:1].strip()
    if is_indented:
        text = f"if 1:\n{text}"
    return ast.parse(text).body


def mark(text: str) -> str:
    """Return a hash of what a text of a definition means.

    Args:
        text: the text.

    Raises:
        SyntaxError: it is no Python.
    """
    return of_nodes(_statements(text))


def _hash_of_decorators(text: str) -> str:
    """Hash the decorators of a function."""
    for node in ast.walk(_statements(text)[0]):
        if isinstance(node, DEFS):
            return of_nodes(node.decorator_list)
    raise TargetError("found no function, expected one")
