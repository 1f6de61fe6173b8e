"""A row that is there already, with other changes and another range; all else stays as written."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from patchkit.errors import ScaffoldError
from patchkit.rows.declaration import Change, Patch
from patchkit.scaffold.rows import INDENT, TextChange, change_text, literal, offset

_PLAIN = "expected a row written as Patch(name='…', requires=(…), changes=(…))"


def with_changes(
    file: Path,
    content: bytes,
    patch: Patch,
    new: Sequence[Sequence[Change]],
    requires: Sequence[str],
) -> bytes:
    """Write what each change of a row becomes, and what the row requires, into a pack's file.

    Where the row is written in another way, `ScaffoldError`: it is its author's to change.
    """
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    text = content.replace(newline, b"\n")
    fields = _fields(ast.parse(text), patch.name)
    changes, given = fields.get("changes"), fields.get("requires")
    if not isinstance(changes, ast.Tuple) or len(changes.elts) != len(new) or given is None:
        raise ScaffoldError(f"{file}: found the row {patch.name} written otherwise, {_PLAIN}")
    edits = list(_edits(text, changes, list(zip(patch.changes, new, strict=True))))
    if tuple(requires) != tuple(patch.requires):
        edits.append((*span(text, given), literal(tuple(requires))))
    for start, end, words in sorted(edits, reverse=True):
        text = text[:start] + words.encode() + text[end:]
    return text.replace(b"\n", newline)


def _fields(tree: ast.Module, name: str) -> dict[str | None, ast.expr]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for call in calls:
        fields = {one.arg: one.value for one in call.keywords}
        given = fields.get("name")
        if isinstance(given, ast.Constant) and given.value == name and "changes" in fields:
            return fields
    return {}


def _edits(
    text: bytes, changes: ast.Tuple, pairs: Sequence[tuple[Change, Sequence[Change]]]
) -> Iterator[TextChange]:
    starts = [span(text, one)[0] for one in changes.elts]
    ends = [*starts[1:], span(text, changes)[1] - 1]
    for node, first, end, (old, new) in zip(changes.elts, starts, ends, pairs, strict=True):
        margin = text[text.rfind(b"\n", 0, first) + 1 : first]
        depth = len(margin) // len(INDENT) if not margin.strip() else 2
        between = ",\n" + INDENT * depth
        if not new:
            yield first, end, ""
        elif list(new) != [old]:
            yield *span(text, node), between.join(change_text(one, depth) for one in new)


def span(text: bytes, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return where a node begins and ends, in bytes."""
    return (
        offset(text, node.lineno, node.col_offset),
        offset(text, node.end_lineno, node.end_col_offset),
    )
