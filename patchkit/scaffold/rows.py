"""A row as an author writes it, in a new pack or as the last of one."""

import ast
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from patchkit.errors import ScaffoldError
from patchkit.rows.declaration import Change, Patch, Role

TextChange = tuple[int, int, str]
WIDTH = 88
"""What is longer is taken apart, with a comma at its end: stable under every formatter."""
INDENT = "    "
_NO_ROOM = "found rows that cannot be added to"
_PLAIN = "expected one plain tuple, PATCHES = (…,), and a plain 'from patchkit import …'"


def row_text(patch: Patch, depth: int = 0) -> str:
    """Write a row; its first line is not indented."""
    return exploded("Patch", _fields(patch, depth + 1), depth)


def new_pack(module: str, patch: Patch) -> bytes:
    """Write the `__init__.py` of a pack that has one row."""
    imports = from_import("patchkit", _words(patch))
    rows = exploded("PATCHES = ", [row_text(patch, 1)])
    return f'"""Patches of {module}."""\n\n{imports}\n\n{rows}\n'.encode()


def is_named(content: bytes, patch: Patch) -> bool:
    """Whether a row of this name is in a file."""
    return re.search(rf"""\bname\s*=\s*["']{patch.name}["']""".encode(), content) is not None


def with_row(file: Path, content: bytes, patch: Patch) -> bytes:
    """Put a row before the closing bracket of a pack's tuple, and its words into the import.

    Where they are written in another way, `ScaffoldError`: the row is its author's to paste.
    """
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    old = content.replace(newline, b"\n")
    try:
        tree = ast.parse(old)
        rows = _tuple(tree)
        new = old
        changes = [_added_row(old, rows, patch), *_added_words(old, tree, patch)]
        for start, end, text in sorted(changes, reverse=True):
            new = new[:start] + text.encode() + new[end:]
        if len(_tuple(ast.parse(new)).elts) != len(rows.elts) + 1:
            raise ValueError(_NO_ROOM)
    except (SyntaxError, ValueError) as error:
        fault = _NO_ROOM if isinstance(error, SyntaxError) else error
        raise ScaffoldError(f"{file}: {fault}, {_PLAIN}") from error
    return new.replace(b"\n", newline)


def _words(patch: Patch) -> set[str]:
    roles = {"Role"} if patch.roles is not None else set()
    return {"Patch", *roles, *(change.kind for change in patch.changes)}


def _fields(patch: Patch, depth: int) -> Iterator[str]:
    yield f"name={literal(patch.name)}"
    if patch.body is not None:
        yield f"body={literal(patch.body)}"
    yield f"requires={literal(tuple(patch.requires))}"
    if patch.roles is not None:
        yield f"roles={{{', '.join(f'Role.{role.name}' for role in Role if role in patch.roles)}}}"
    yield _changes(patch, depth)
    yield from (f"{name}={literal(getattr(patch, name))}" for name in ("why", "upstream", "sunset"))
    for name, usual in (("required", True), ("after", ()), ("when", None)):
        if (value := getattr(patch, name)) != usual:
            yield f"{name}={literal(value)}"


def _changes(patch: Patch, depth: int) -> str:
    """A short change that is alone stays on the line: there, formatters do not mind the comma."""
    if len(patch.changes) == 1:
        (alone,) = patch.changes
        text = change_text(alone, depth + 1, room=len("changes=(,),") - len(INDENT))
        return exploded("changes=", [text], depth) if "\n" in text else f"changes=({text},)"
    return exploded("changes=", [change_text(change, depth + 1) for change in patch.changes], depth)


def change_text(change: Change, depth: int, room: int = 1) -> str:
    """Write a change; its first line is not indented."""
    (_, target), *others = (
        (field.name, getattr(change, field.name))
        for field in sorted(dataclasses.fields(change), key=lambda one: bool(one.kw_only))
        if field.default is dataclasses.MISSING or getattr(change, field.name) != field.default
    )
    arguments = [literal(target), *(f"{name}={literal(value)}" for name, value in others)]
    plain = f"{change.kind}({', '.join(arguments)})"
    if len(INDENT) * depth + len(plain) + room <= WIDTH:
        return plain
    return exploded(change.kind, arguments, depth)


def _tuple(tree: ast.Module) -> ast.Tuple:
    bound = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "PATCHES"]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if targets == bound and isinstance(value := getattr(node, "value", None), ast.Tuple):
            return value
    raise ValueError("found no such PATCHES")


def _added_row(old: bytes, rows: ast.Tuple, patch: Patch) -> TextChange:
    close = offset(old, rows.end_lineno, rows.end_col_offset) - 1
    if old[close : close + 1] != b")":
        raise ValueError("found PATCHES without brackets")
    row = f"{INDENT}{row_text(patch, 1)},\n"
    start = old.rfind(b"\n", 0, close) + 1
    if old[start:close].strip():
        return close, close, f"\n{row}"
    return start, start, row


def _added_words(old: bytes, tree: ast.Module, patch: Patch) -> Iterator[TextChange]:
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom) and not node.level)
    ours = next((node for node in imports if node.module == "patchkit"), None)
    if ours is None or any(name.asname or name.name == "*" for name in ours.names):
        raise ValueError("found no such import")
    names = {name.name for name in ours.names}
    start = offset(old, ours.lineno, ours.col_offset)
    end = offset(old, ours.end_lineno, ours.end_col_offset)
    if not _words(patch) <= names:
        if b"#" in old[start:end]:
            raise ValueError("found comments in the import")
        yield start, end, from_import("patchkit", names | _words(patch))


def offset(text: bytes, line: int | None, column: int | None) -> int:
    """Return the place, in bytes, of a line and column of the parser's."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: (line or 1) - 1])) + (column or 0)


def literal(value: object) -> str:
    """Write a text, a number, or a type."""
    if isinstance(value, str):
        return repr(value) if '"' in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
    return value.__name__ if isinstance(value, type) else repr(value)


def exploded(head: str, arguments: Iterable[str], depth: int = 0) -> str:
    """Write a call with an argument a line."""
    lines = [f"{head}(", *(f"{INDENT * (depth + 1)}{argument}," for argument in arguments)]
    return "\n".join([*lines, f"{INDENT * depth})"])


def from_import(module: str, names: Iterable[str]) -> str:
    """Write an import of sorted names."""
    line = f"from {module} import {', '.join(sorted(names))}"
    return line if len(line) <= WIDTH else exploded(f"from {module} import ", sorted(names))
