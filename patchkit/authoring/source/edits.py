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
    """A range of lines in an old text, and the range in a new text that replaces it.

    Both are slices: `old_lines[old_start:old_end]` becomes `new_lines[new_start:new_end]`.

    Args:
        old_start: the index of the first line in the old text.
        old_end: the index after the last line there.
        new_start: the index of the first line in the new text.
        new_end: the index after the last line there.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def edits(old: str, new: str) -> list[TextEdit] | None:
    """Find edits that turn one version of a function into another.

    Args:
        old: the source of the function that is edited, decorators included.
        new: the source that it shall have; comments and layout may differ.

    Returns:
        The edits, to be made one after another; None where no edits can do it.
    """
    # An Edit recompiles the function; its decorators have run by then.
    if _hash_of_decorators(old) != _hash_of_decorators(new):
        return None
    separate = hunks(old.splitlines(), new.splitlines())
    # Two equal texts have no hunk. An empty one, of which no edit is made, saves a special case.
    if not separate:
        separate = [ChangedLines(0, 0, 0, 0)]
    first_hunk = separate[0]
    last_hunk = separate[-1]
    joined = ChangedLines(
        first_hunk.old_start, last_hunk.old_end, first_hunk.new_start, last_hunk.new_end
    )
    # One hunk from the first change to the last works where a single change is no valid Python.
    for attempt in (separate, [joined]):
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
    """Return the ranges of lines that differ between two texts.

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
    """Yield an edit for each hunk that changes the code, from the last hunk to the first.

    Raises:
        TargetError: a hunk cannot be made an edit, or the edits do not result in the new function.
        SyntaxError: the function is no valid Python once one hunk is replaced.
    """
    new_lines = new.splitlines()
    text = old
    # Hashes are kept: those of a long function take the most time here.
    text_hash = syntax_hash(text)
    for hunk in reversed(hunks):  # from the end, so that earlier indexes stay valid
        lines = text.splitlines()
        replacement = new_lines[hunk.new_start : hunk.new_end]
        expected = "\n".join(
            [*lines[: hunk.old_start], *replacement, *lines[hunk.old_end :]]
        )
        expected_hash = syntax_hash(expected)
        if expected_hash == text_hash:
            continue  # a comment, or the layout
        edit, text = _anchored(lines, hunk, replacement, expected_hash)
        text_hash = expected_hash
        yield edit
    if text_hash != syntax_hash(new):
        raise TargetError("found another function, expected the new one")


def _anchored(
    lines: Sequence[str],
    hunk: ChangedLines,
    replacement: Sequence[str],
    expected_hash: str,
) -> tuple[TextEdit, str]:
    """Write one hunk, a range of changed lines, as an edit whose old text occurs only once.

    Neighbouring lines are added to the hunk, before it and after it in turn, until it is unique.

    Args:
        lines: the lines of the function.
        hunk: which of them are replaced.
        replacement: the lines that replace them.
        expected_hash: the hash of the function with the lines replaced.

    Returns:
        The edit, and the text of the function after it.

    Raises:
        TargetError: even with all lines of the function, no edit results in the expected text.
    """
    function = FunctionText("\n".join(lines))
    for neighbours in range(2 * len(lines)):
        count_after = neighbours // 2
        count_before = neighbours - count_after
        start = max(0, hunk.old_start - count_before)
        end = min(len(lines), hunk.old_end + count_after)
        if start == end:  # lines are only added, and no Edit has an empty old text
            continue
        lines_before = lines[start : hunk.old_start]
        lines_after = lines[hunk.old_end : end]
        new_lines = [*lines_before, *replacement, *lines_after]
        for edit in _variants(lines[start:end], new_lines):
            with suppress(TargetError, SyntaxError):
                text = rewrite(function, edit).text
                if syntax_hash(text) == expected_hash:
                    return edit, text
        if start == 0 and end == len(lines):
            break  # there are no more neighbours
    raise TargetError("found no lines that name the place, expected some")


def _variants(old: Sequence[str], new: Sequence[str]) -> Iterator[TextEdit]:
    """Yield an edit of lines twice: first dedented, which reads best, then as they are.

    Dedented lines do not fit if they contain a string of several lines.
    """
    # Dedented together, so that both lose the same margin.
    all_lines = "\n".join([*old, *new])
    for text in (dedent(all_lines), all_lines):
        lines = text.split("\n")
        old_lines = lines[: len(old)]
        new_lines = lines[len(old) :]
        yield TextEdit("\n".join(old_lines), "\n".join(new_lines))


def _statements(text: str) -> list[ast.stmt]:
    """Parse statements, which may be indented.

    Returns:
        The statements; if they are indented, the one block that is put around them.

    Raises:
        SyntaxError: the text is no Python.
    """
    is_indented = not text[:1].strip()
    if is_indented:  # the parser needs a block around such lines
        text = f"if 1:\n{text}"
    return ast.parse(text).body


def syntax_hash(text: str) -> str:
    """Return a hash of a definition's syntax; comments and layout make no difference.

    Args:
        text: the source of the definition.

    Raises:
        SyntaxError: it is no Python.
    """
    return of_nodes(_statements(text))


def _hash_of_decorators(text: str) -> str:
    """Hash the decorators of a function.

    Raises:
        TargetError: the text defines no function.
        SyntaxError: it is no Python.
    """
    # The function may be inside of a block that `_statements` has put around it.
    for node in ast.walk(_statements(text)[0]):
        if isinstance(node, DEFS):
            return of_nodes(node.decorator_list)
    raise TargetError("found no function, expected one")
