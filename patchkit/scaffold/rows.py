"""A row as an author writes it, in a new pack or as the last of one."""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import TYPE_CHECKING

from patchkit.errors import ScaffoldError
from patchkit.rows.declaration import Role
from patchkit.scaffold.text import INDENT, WIDTH, exploded, from_import, literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchkit.rows.declaration import Change, Patch

_COMMENT = re.compile(rb"#[^\n]*")
_EXPECTED = "expected one plain tuple, PATCHES = (…), and a plain 'from patchkit import …'"


def row_text(patch: Patch, depth: int = 0) -> str:
    """Write a row; its first line is not indented."""
    return exploded("Patch", _fields(patch, depth + 1), ")", depth)


def new_pack(module: str, patch: Patch) -> bytes:
    """Write the `__init__.py` of a pack that has one row."""
    imports = from_import("patchkit", _words(patch))
    rows = exploded("PATCHES = ", [row_text(patch, 1)])
    return f'"""Patches of {module}."""\n\n{imports}\n\n{rows}\n'.encode()


def is_named(content: bytes, patch: Patch) -> bool:
    """Whether a row of this name is in a file."""
    return re.search(rf"""\bname\s*=\s*["']{patch.name}["']""".encode(), content) is not None


def with_row(file: Path, content: bytes, patch: Patch) -> bytes:
    """
    Put a row before the closing bracket of a pack's tuple, and its words into the import.

    Args:
        file: for messages.
        content: what lies there.
        patch: the row.

    Raises:
        ScaffoldError: it is written in another way: the row is its author's to paste.

    """
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    old = content.replace(newline, b"\n")
    try:
        tree = ast.parse(old)
        edits = [*_row_edits(old, _tuple(tree), patch), *_import_edits(old, tree, patch)]
        new = old
        for start, end, text in sorted(edits, reverse=True):
            new = new[:start] + text.encode() + new[end:]
        if len(_tuple(ast.parse(new)).elts) != len(_tuple(tree).elts) + 1:
            raise ValueError("found rows that cannot be added to")
    except (SyntaxError, ValueError) as error:
        raise ScaffoldError(f"{file}: {error}, {_EXPECTED}") from error
    return new.replace(b"\n", newline)


def _words(patch: Patch) -> set[str]:
    """Name what a row needs of patchkit's vocabulary."""
    roles = {"Role"} if patch.roles is not None else set()
    return {"Patch", *roles, *(one.kind for one in patch.changes)}


def _fields(patch: Patch, depth: int) -> Iterator[str]:
    yield f"name={literal(patch.name)}"
    if patch.body is not None:
        yield f"body={literal(patch.body)}"
    comma = "," if len(patch.requires) == 1 else ""
    yield f"requires=({', '.join(map(literal, patch.requires))}{comma})"
    if patch.roles is not None:
        yield f"roles={{{', '.join(f'Role.{one.name}' for one in Role if one in patch.roles)}}}"
    yield _changes(patch, depth)
    yield from (f"{name}={literal(getattr(patch, name))}" for name in ("why", "upstream", "sunset"))


def _changes(patch: Patch, depth: int) -> str:
    """A short change that is alone stays on the line: there, formatters do not mind the comma."""
    if len(patch.changes) > 1:
        return exploded("changes=", [_change(one, depth + 1) for one in patch.changes], ")", depth)
    (alone,) = patch.changes
    text = _change(alone, depth + 1, room=len("changes=(,),") - len(INDENT))
    return exploded("changes=", [text], ")", depth) if "\n" in text else f"changes=({text},)"


def _change(change: Change, depth: int, room: int = 1) -> str:
    """Write it on one line where that leaves some room, else an argument a line."""
    (_, target), *others = (
        (one.name, getattr(change, one.name))
        for one in dataclasses.fields(change)
        if one.default is dataclasses.MISSING or getattr(change, one.name) != one.default
    )
    arguments = [literal(target), *(f"{name}={literal(value)}" for name, value in others)]
    plain = f"{change.kind}({', '.join(arguments)})"
    if len(INDENT) * depth + len(plain) + room <= WIDTH:
        return plain
    return exploded(change.kind, arguments, depth=depth)


def _tuple(tree: ast.Module) -> ast.Tuple:
    bound = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id == "PATCHES"]
    for one in tree.body:
        targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
        if targets == bound and isinstance(value := getattr(one, "value", None), ast.Tuple):
            return value
    raise ValueError("found no such PATCHES")


def _row_edits(old: bytes, rows: ast.Tuple, patch: Patch) -> Iterator[tuple[int, int, str]]:
    close = _offset(old, rows.end_lineno, rows.end_col_offset) - 1
    if old[close : close + 1] != b")" or not _begins(old, rows):
        raise ValueError("found PATCHES without parentheses")
    row = f"{INDENT}{row_text(patch, 1)},\n"
    if rows.elts:
        last = _offset(old, rows.elts[-1].end_lineno, rows.elts[-1].end_col_offset)
        rest = _COMMENT.sub(b"", old[last:close]).strip()
        if rest not in (b"", b","):
            raise ValueError("found a last row that cannot be added to")
        if not rest:
            yield last, last, ","
    start = old.rfind(b"\n", 0, close) + 1
    if old[start:close].strip():
        yield close, close, f"\n{row}"
    else:
        yield start, start, row


def _begins(old: bytes, rows: ast.Tuple) -> bool:
    start = _offset(old, rows.lineno, rows.col_offset)
    return old[start : start + 1] == b"(" and (
        not rows.elts or start < _offset(old, rows.elts[0].lineno, rows.elts[0].col_offset)
    )


def _import_edits(old: bytes, tree: ast.Module, patch: Patch) -> Iterator[tuple[int, int, str]]:
    """Write the import anew, sorted, where it lacks a word."""
    ours = (one for one in tree.body if isinstance(one, ast.ImportFrom) and not one.level)
    found = next((one for one in ours if one.module == "patchkit"), None)
    if found is None or any(one.asname or one.name == "*" for one in found.names):
        raise ValueError("found no such import")
    names = {one.name for one in found.names} | _words(patch)
    if len(names) == len(found.names):
        return
    start = _offset(old, found.lineno, found.col_offset)
    end = _offset(old, found.end_lineno, found.end_col_offset)
    if b"#" in old[start:end]:
        raise ValueError("found comments in the import")
    yield start, end, from_import("patchkit", names)


def _offset(text: bytes, line: int | None, column: int | None) -> int:
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: (line or 1) - 1])) + (column or 0)
