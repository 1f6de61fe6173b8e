"""Writes rows as an author does: in a new pack, as the last of one, or in place of themselves."""

import ast
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from patchkit.core.rows.declaration import Change, Patch, Role
from patchkit.errors import ScaffoldError

TextChange = tuple[int, int, str]
"""Where the text that is replaced begins and ends, in bytes, and what replaces it."""
WIDTH = 88
"""A line that is longer is split, with a comma at its end: stable under every formatter."""
INDENT = "    "
_NO_ROOM = "found rows that cannot be added to"
_PLAIN_PACK = "expected one plain tuple, PATCHES = (…,), and a plain 'from patchkit import …'"
_AS_ROW = "expected a row written as Patch(name='…', requires=(…), changes=(…))"
_OPTIONAL_FIELDS = (("required", True), ("after", ()), ("when", None), ("verify", None))
"""Fields of a row that are written only if their value is not this default."""


class _UnplainPackError(ScaffoldError):
    """The rows or the import of a pack are written in a way that cannot be added to."""


def row_text(patch: Patch, depth: int = 0) -> str:
    """Write a row; its first line is not indented.

    Args:
        patch: the row.
        depth: how far its last line is indented, in steps.
    """
    return exploded("Patch", _fields(patch, depth + 1), depth)


def new_pack(module: str, *patches: Patch) -> bytes:
    """Write the `__init__.py` of a pack.

    Args:
        module: the name of the pack.
        patches: its rows.
    """
    names: set[str] = set()
    for patch in patches:
        names |= _imported_names(patch)
    imports = from_import("patchkit", names)
    rows = exploded("PATCHES = ", [row_text(patch, 1) for patch in patches])
    return f'"""Patches of {module}."""\n\n{imports}\n\n{rows}\n'.encode()


def is_named(content: bytes, patch: Patch) -> bool:
    """Whether a file has a row of a patch's name."""
    return re.search(rf"""\bname\s*=\s*["']{patch.name}["']""".encode(), content) is not None


def with_row(file: Path, content: bytes, patch: Patch) -> bytes:
    """Put a row before the closing bracket of a pack's tuple, and its names into the import.

    Args:
        file: the file of the pack, for errors.
        content: what the file has in it.
        patch: the row.

    Returns:
        What the file shall have in it.

    Raises:
        ScaffoldError: tuple or import are written in another way: the row is its author's to paste.
    """
    try:
        new = rewritten(content, lambda text: _additions(text, patch))
        before = len(_tuple_of_rows(ast.parse(content)).elts)
        after = len(_tuple_of_rows(ast.parse(new)).elts)
    except SyntaxError as error:
        raise ScaffoldError(f"{file}: {_NO_ROOM}, {_PLAIN_PACK}") from error
    except (_UnplainPackError, ValueError) as error:  # the parser's own, of null bytes
        raise ScaffoldError(f"{file}: {error}, {_PLAIN_PACK}") from error
    if after != before + 1:
        raise ScaffoldError(f"{file}: {_NO_ROOM}, {_PLAIN_PACK}")
    return new


def with_changes(
    file: Path,
    content: bytes,
    patch: Patch,
    new: Sequence[Sequence[Change]],
    requires: Sequence[str],
) -> bytes:
    """Write what each change of a row becomes, and what the row requires, into a pack's file.

    Args:
        file: the file of the pack, for errors.
        content: what the file has in it.
        patch: the row as it is.
        new: for each change of the row, in order, the changes that replace it.
        requires: the requirements that the row shall have.

    Returns:
        What the file shall have in it.

    Raises:
        ScaffoldError: the row is written in another way: it is its author's to change.
    """

    def text_changes(text: bytes) -> Iterator[TextChange]:
        fields = _written_fields(ast.parse(text), patch.name)
        changes = fields.get("changes")
        requirements = fields.get("requires")
        is_plain = isinstance(changes, ast.Tuple) and len(changes.elts) == len(new)
        if not isinstance(changes, ast.Tuple) or not is_plain or requirements is None:
            raise ScaffoldError(f"{file}: found the row {patch.name} written otherwise, {_AS_ROW}")
        yield from _other_changes(text, changes, patch.changes, new)
        if tuple(requires) != tuple(patch.requires):
            start, end = span(text, requirements)
            yield start, end, literal(tuple(requires))

    return rewritten(content, text_changes)


def rewritten(content: bytes, edits: Callable[[bytes], Iterable[TextChange]]) -> bytes:
    """Make changes in a file's text; its lines end as before.

    Args:
        content: what the file has in it.
        edits: works out the changes of a text, of which lines end with a newline alone.
    """
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    text = content.replace(newline, b"\n")
    for start, end, replacement in sorted(edits(text), reverse=True):
        text = text[:start] + replacement.encode() + text[end:]
    return text.replace(b"\n", newline)


def span(text: bytes, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return where a node begins and ends, in bytes."""
    start = offset(text, node.lineno, node.col_offset)
    end = offset(text, node.end_lineno, node.end_col_offset)
    return start, end


def offset(text: bytes, line: int | None, column: int | None) -> int:
    """Convert a line, from 1, and a column, from 0, of the parser's into a place in bytes."""
    lines = text.splitlines(keepends=True)
    lines_before = lines[: (line or 1) - 1]
    return sum(map(len, lines_before)) + (column or 0)


def _line_start(text: bytes, position: int) -> int:
    """Return where the line of a position begins, in bytes."""
    return text.rfind(b"\n", 0, position) + 1


def _imported_names(patch: Patch) -> set[str]:
    """List what the text of a row needs from patchkit."""
    names = {"Patch"}
    if patch.roles is not None:
        names.add("Role")
    names.update(change.kind for change in patch.changes)
    return names


def _fields(patch: Patch, depth: int) -> Iterator[str]:
    """Write the arguments of a row, each at a depth."""
    yield f"name={literal(patch.name)}"
    if patch.body is not None:
        yield f"body={literal(patch.body)}"
    yield f"requires={literal(tuple(patch.requires))}"
    if patch.roles is not None:
        roles = [f"Role.{role.name}" for role in Role if role in patch.roles]
        yield f"roles={{{', '.join(roles)}}}"
    yield _changes(patch, depth)
    for name in ("why", "upstream", "sunset"):
        yield f"{name}={literal(getattr(patch, name))}"
    for name, default in _OPTIONAL_FIELDS:
        value = getattr(patch, name)
        if value != default:
            yield f"{name}={literal(value)}"


def _changes(patch: Patch, depth: int) -> str:
    """Write the changes of a row.

    A short change that is alone stays on the line: there, formatters do not mind the comma.
    """
    if len(patch.changes) != 1:
        return exploded("changes=", [_change(change, depth + 1) for change in patch.changes], depth)
    (alone,) = patch.changes
    text = _change(alone, depth + 1, room=len("changes=(,),") - len(INDENT))
    if "\n" in text:
        return exploded("changes=", [text], depth)
    return f"changes=({text},)"


def _change(change: Change, depth: int, room: int = 1) -> str:
    """Write a change, on one line if that is short enough.

    Args:
        change: the change.
        depth: how far the line is indented, in steps.
        room: how many characters there are beside the change on its line.
    """
    target, *others = _written_arguments(change)
    arguments = [literal(getattr(change, target))]
    arguments += [f"{name}={literal(getattr(change, name))}" for name in others]
    plain = f"{change.kind}({', '.join(arguments)})"
    if len(INDENT) * depth + len(plain) + room <= WIDTH:
        return plain
    return exploded(change.kind, arguments, depth)


def _written_arguments(change: Change) -> list[str]:
    """Name the fields of a change that are no defaults, the positional one first."""
    names: list[str] = []
    fields = sorted(dataclasses.fields(change), key=lambda declared: bool(declared.kw_only))
    for field in fields:
        is_needed = field.default is dataclasses.MISSING
        if is_needed or getattr(change, field.name) != field.default:
            names.append(field.name)
    return names


def _tuple_of_rows(tree: ast.Module) -> ast.Tuple:
    """Find the tuple that a pack assigns to PATCHES, which it names nowhere else.

    Raises:
        _UnplainPackError: there is none.
    """
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "PATCHES"]
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets = [node.target]
        value = getattr(node, "value", None)
        if targets and targets == uses and isinstance(value, ast.Tuple):
            return value
    raise _UnplainPackError("found no such PATCHES")


def _additions(text: bytes, patch: Patch) -> Iterator[TextChange]:
    """Write the changes that `with_row` makes.

    Raises:
        _UnplainPackError: tuple or import are written in another way.
    """
    tree = ast.parse(text)
    _, end_of_tuple = span(text, _tuple_of_rows(tree))
    bracket = end_of_tuple - 1
    if text[bracket:end_of_tuple] != b")":
        raise _UnplainPackError("found PATCHES without brackets")
    line_start = _line_start(text, bracket)
    row = f"{INDENT}{row_text(patch, 1)},\n"
    is_alone = not text[line_start:bracket].strip()
    if is_alone:
        yield line_start, line_start, row
    else:
        yield bracket, bracket, f"\n{row}"
    yield from _import_additions(text, tree, _imported_names(patch))


def _import_additions(text: bytes, tree: ast.Module, names: set[str]) -> Iterator[TextChange]:
    """Write the change that adds names to a pack's import of patchkit; none if it has them.

    Raises:
        _UnplainPackError: the import is written in another way.
    """
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    of_patchkit = [node for node in imports if node.module == "patchkit" and not node.level]
    if not of_patchkit:
        raise _UnplainPackError("found no such import")
    statement = of_patchkit[0]
    if any(alias.asname or alias.name == "*" for alias in statement.names):
        raise _UnplainPackError("found no such import")
    imported = {alias.name for alias in statement.names}
    if names <= imported:
        return
    start, end = span(text, statement)
    if b"#" in text[start:end]:
        raise _UnplainPackError("found comments in the import")
    yield start, end, from_import("patchkit", imported | names)


def _written_fields(tree: ast.Module, name: str) -> dict[str | None, ast.expr]:
    """Find the arguments of the call that makes a row, by keyword; none where there is no such."""
    for call in ast.walk(tree):
        fields = {keyword.arg: keyword.value for keyword in getattr(call, "keywords", ())}
        written = fields.get("name")
        is_its = isinstance(written, ast.Constant) and written.value == name
        if is_its and "changes" in fields:
            return fields
    return {}


def _other_changes(
    text: bytes, written: ast.Tuple, before: Iterable[Change], after: Sequence[Sequence[Change]]
) -> Iterator[TextChange]:
    """Write each change of a row that becomes another.

    Args:
        text: the text of the pack's file.
        written: the tuple of changes in it.
        before: the changes that the row has.
        after: for each of them, the changes that replace it.
    """
    starts = [span(text, element)[0] for element in written.elts]
    bracket = span(text, written)[1] - 1
    ends = [*starts[1:], bracket]
    _, end_of_last = span(text, written.elts[-1])
    # What is alone in a tuple needs a comma.
    is_last_alone = bool(after[-1]) and not any(after[:-1])
    has_comma = text[end_of_last:].lstrip().startswith(b",")
    if is_last_alone and not has_comma:
        yield end_of_last, end_of_last, ","
    for node, start, end, old, new in zip(written.elts, starts, ends, before, after, strict=True):
        if not new:
            yield start, end, ""
        elif list(new) != [old]:
            margin = text[_line_start(text, start) : start]
            depth = 2
            if not margin.strip():
                depth = len(margin) // len(INDENT)
            separator = f",\n{INDENT * depth}"
            start_of_node, end_of_node = span(text, node)
            replacement = separator.join(_change(change, depth) for change in new)
            yield start_of_node, end_of_node, replacement


def literal(value: object) -> str:
    """Write a string, a number, a type, or a tuple of them, as Python has it."""
    if isinstance(value, str):
        if '"' in value:
            return repr(value)
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        elements = ", ".join(map(literal, value))
        return f"({elements},)" if len(value) == 1 else f"({elements})"
    if isinstance(value, type):
        return value.__name__
    return repr(value)


def exploded(head: str, arguments: Iterable[str], depth: int = 0) -> str:
    """Write a call with an argument a line.

    Args:
        head: what stands before the opening bracket.
        arguments: the arguments; the first line of each is not indented.
        depth: how far the closing bracket is indented, in steps.
    """
    inner = INDENT * (depth + 1)
    lines = [f"{head}("]
    lines += [f"{inner}{argument}," for argument in arguments]
    lines.append(f"{INDENT * depth})")
    return "\n".join(lines)


def from_import(module: str, names: Iterable[str]) -> str:
    """Write an import of sorted names, with a name a line where one line is too long."""
    sorted_names = sorted(names)
    line = f"from {module} import {', '.join(sorted_names)}"
    if len(line) <= WIDTH:
        return line
    return exploded(f"from {module} import ", sorted_names)
