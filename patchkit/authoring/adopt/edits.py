"""Edits that make one text of a function of another: as few lines as name their place once."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from textwrap import dedent

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.core.text.rewriting import FunctionText, TextEdit, rewrite
from patchkit.errors import TargetError

Hunk = tuple[int, int, int, int]  # lines of the old text, from and up to, and of the new one


def edits(old: str, new: str) -> list[TextEdit] | None:
    """Find edits that, one after another, make a function of another with the same fingerprint.

    None where none do, as where decorators differ: they have run already.
    """
    if _decorators(old) != _decorators(new):
        return None
    several = hunks(old.splitlines(), new.splitlines()) or [(0, 0, 0, 0)]
    first, last = several[0], several[-1]
    for some in (several, [(first[0], last[1], first[2], last[3])]):
        with suppress(TargetError, SyntaxError):
            return list(_edits(old, new, some))
    return None


def hunks(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """List what differs between lines."""
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [tuple(places) for tag, *places in opcodes if tag != "equal"]  # type: ignore[misc]


def _edits(old: str, new: str, hunks: Sequence[Hunk]) -> Iterator[TextEdit]:
    after, text = new.splitlines(), old
    for start, end, first, last in reversed(hunks):  # so that the numbers of lines stay right
        lines = text.splitlines()
        wanted = "\n".join([*lines[:start], *after[first:last], *lines[end:]])
        if mark(wanted) == mark(text):
            continue  # a comment, or the layout
        edit, text = _anchored(lines, (start, end), after[first:last], wanted)
        yield edit
    if mark(text) != mark(new):
        raise TargetError("found another function, expected the new one")


def _anchored(
    lines: Sequence[str], span: tuple[int, int], filling: Sequence[str], wanted: str
) -> tuple[TextEdit, str]:
    """Take lines around a hunk with it until it can be put in at one place only."""
    start, end = span
    for more in range(2 * len(lines)):
        before, behind = max(0, start - (more + 1) // 2), min(len(lines), end + more // 2)
        around = [*lines[before:start], *filling, *lines[end:behind]]
        for edit in _written(lines[before:behind], around):
            with suppress(TargetError, SyntaxError):
                text = rewrite(FunctionText("\n".join(lines)), edit).text
                if mark(text) == mark(wanted):
                    return edit, text
        if not before and behind == len(lines):
            break
    raise TargetError("found no lines that name the place, expected some")


def _written(old: Sequence[str], new: Sequence[str]) -> Iterator[TextEdit]:
    """Write both as far to the left as they go, and as they are, for texts of several lines."""
    both = "\n".join([*old, *new])
    for text in (dedent(both), both):
        lines = text.split("\n")
        yield TextEdit("\n".join(lines[: len(old)]), "\n".join(lines[len(old) :]))


def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text if text[:1].strip() else f"if 1:\n{text}").body


def mark(text: str) -> str:
    """Hash what a text of a definition means."""
    return of_nodes(_statements(text))


def _decorators(text: str) -> str:
    node = next(one for one in ast.walk(_statements(text)[0]) if isinstance(one, DEFS))
    return of_nodes(node.decorator_list)
