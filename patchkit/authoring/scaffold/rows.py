"""A row as an author writes it, in a new pack, as the last of one, or in the place of itself."""

import ast
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from patchkit.core.rows.declaration import Change, Patch, Role
from patchkit.errors import ScaffoldError

TextChange = tuple[int, int, str]
WIDTH = 88
"""What is longer is taken apart, with a comma at its end: stable under every formatter."""
INDENT = "    "
_NO_ROOM = "found rows that cannot be added to"
_PLAIN_PACK = "expected one plain tuple, PATCHES = (…,), and a plain 'from patchkit import …'"
_AS_ROW = "expected a row written as Patch(name='…', requires=(…), changes=(…))"


def row_text(patch: Patch, depth: int = 0) -> str:
    """Write a row; its first line is not indented."""
    return exploded("Patch", _fields(patch, depth + 1), depth)


def new_pack(module: str, *patches: Patch) -> bytes:
    """Write the `__init__.py` of a pack."""
    imports = from_import("patchkit", set().union(*map(_words, patches)))
    rows = exploded("PATCHES = ", [row_text(one, 1) for one in patches])
    return f'"""Patches of {module}."""\n\n{imports}\n\n{rows}\n'.encode()


def is_named(content: bytes, patch: Patch) -> bool:
    """Whether a row of this name is in a file."""
    return re.search(rf"""\bname\s*=\s*["']{patch.name}["']""".encode(), content) is not None


def with_row(file: Path, content: bytes, patch: Patch) -> bytes:
    """Put a row before the closing bracket of a pack's tuple, and its words into the import.

    Where they are written in another way, `ScaffoldError`: the row is its author's to paste.
    """
    try:
        new = rewritten(content, lambda old: _additions(old, patch))
        if len(_tuple(ast.parse(new)).elts) != len(_tuple(ast.parse(content)).elts) + 1:
            raise ValueError(_NO_ROOM)
    except (SyntaxError, ValueError) as error:
        fault = _NO_ROOM if isinstance(error, SyntaxError) else error
        raise ScaffoldError(f"{file}: {fault}, {_PLAIN_PACK}") from error
    return new


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

    def edits(text: bytes) -> Iterator[TextChange]:
        fields = _written_fields(ast.parse(text), patch.name)
        changes, given = fields.get("changes"), fields.get("requires")
        if not isinstance(changes, ast.Tuple) or len(changes.elts) != len(new) or given is None:
            raise ScaffoldError(f"{file}: found the row {patch.name} written otherwise, {_AS_ROW}")
        yield from _other_changes(text, changes, patch.changes, new)
        if tuple(requires) != tuple(patch.requires):
            yield *span(text, given), literal(tuple(requires))

    return rewritten(content, edits)


def rewritten(content: bytes, edits: Callable[[bytes], Iterable[TextChange]]) -> bytes:
    """Make edits of a file's text; its lines end as before."""
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    text = content.replace(newline, b"\n")
    for start, end, words in sorted(edits(text), reverse=True):
        text = text[:start] + words.encode() + text[end:]
    return text.replace(b"\n", newline)


def span(text: bytes, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return where a node begins and ends, in bytes."""
    start = offset(text, node.lineno, node.col_offset)
    return start, offset(text, node.end_lineno, node.end_col_offset)


def offset(text: bytes, line: int | None, column: int | None) -> int:
    """Return the place, in bytes, of a line and column of the parser's."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: (line or 1) - 1])) + (column or 0)


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
    for name, usual in (("required", True), ("after", ()), ("when", None), ("verify", None)):
        if (value := getattr(patch, name)) != usual:
            yield f"{name}={literal(value)}"


def _changes(patch: Patch, depth: int) -> str:
    """A short change that is alone stays on the line: there, formatters do not mind the comma."""
    if len(patch.changes) == 1:
        (alone,) = patch.changes
        text = _change(alone, depth + 1, room=len("changes=(,),") - len(INDENT))
        return exploded("changes=", [text], depth) if "\n" in text else f"changes=({text},)"
    return exploded("changes=", [_change(change, depth + 1) for change in patch.changes], depth)


def _change(change: Change, depth: int, room: int = 1) -> str:
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


def _additions(old: bytes, patch: Patch) -> Iterator[TextChange]:
    tree = ast.parse(old)
    close = span(old, _tuple(tree))[1] - 1
    if old[close : close + 1] != b")":
        raise ValueError("found PATCHES without brackets")
    start = old.rfind(b"\n", 0, close) + 1
    is_alone = not old[start:close].strip()
    at, before = (start, "") if is_alone else (close, "\n")
    yield at, at, f"{before}{INDENT}{row_text(patch, 1)},\n"
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom) and not node.level)
    ours = next((node for node in imports if node.module == "patchkit"), None)
    if ours is None or any(name.asname or name.name == "*" for name in ours.names):
        raise ValueError("found no such import")
    names, (start, end) = {name.name for name in ours.names}, span(old, ours)
    if not _words(patch) <= names:
        if b"#" in old[start:end]:
            raise ValueError("found comments in the import")
        yield start, end, from_import("patchkit", names | _words(patch))


def _written_fields(tree: ast.Module, name: str) -> dict[str | None, ast.expr]:
    for call in ast.walk(tree):
        fields = {one.arg: one.value for one in getattr(call, "keywords", ())}
        given = fields.get("name")
        if isinstance(given, ast.Constant) and given.value == name and "changes" in fields:
            return fields
    return {}


def _other_changes(
    text: bytes, written: ast.Tuple, before: Iterable[Change], after: Sequence[Sequence[Change]]
) -> Iterator[TextChange]:
    starts = [span(text, one)[0] for one in written.elts]
    ends = [*starts[1:], span(text, written)[1] - 1]
    _, last = span(text, written.elts[-1])
    if not any(after[:-1]) and text[last:].lstrip()[:1] != b",":
        yield last, last, "," * bool(after[-1])  # what is alone in a tuple needs one
    for node, first, end, old, new in zip(written.elts, starts, ends, before, after, strict=True):
        margin = text[text.rfind(b"\n", 0, first) + 1 : first]
        depth = len(margin) // len(INDENT) if not margin.strip() else 2
        if not new:
            yield first, end, ""
        elif list(new) != [old]:
            yield *span(text, node), f",\n{INDENT * depth}".join(_change(one, depth) for one in new)


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
