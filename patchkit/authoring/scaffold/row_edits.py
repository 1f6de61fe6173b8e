"""Edits rows in the file of a pack: adds a row, or rewrites the changes of one."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from patchkit.authoring.scaffold.rows import (
    INDENT,
    change_text,
    from_import,
    imported_names,
    literal,
    row_text,
)
from patchkit.authoring.scaffold.source_edits import (
    TextChange,
    line_start,
    rewritten,
    span,
)
from patchkit.core.rows.declaration import Change, Patch
from patchkit.errors import ScaffoldError

_NO_ROOM = "found rows that cannot be added to"
_PLAIN_PACK = (
    "expected one plain tuple, PATCHES = (…,), and a plain 'from patchkit import …'"
)
_AS_ROW = "expected a row written as Patch(name='…', requires=(…), changes=(…))"


class _UnplainPackError(ScaffoldError):
    """The rows or the import of a pack are not written in the plain form that can be edited."""


def with_row(file: Path, content: bytes, patch: Patch) -> bytes:
    """Add a row at the end of a pack's PATCHES, and the names it needs to the import of patchkit.

    Args:
        file: the file of the pack, for errors.
        content: its content.
        patch: the row.

    Returns:
        The new content.

    Raises:
        ScaffoldError: Tuple or import are not written in the plain form.
    """
    try:
        new = rewritten(content, lambda text: _additions(text, patch))
        row_count = _count_rows(content)
        new_row_count = _count_rows(new)
    except SyntaxError as error:
        raise ScaffoldError(f"{file}: {_NO_ROOM}, {_PLAIN_PACK}") from error
    except (_UnplainPackError, ValueError) as error:  # ValueError: it has null bytes
        raise ScaffoldError(f"{file}: {error}, {_PLAIN_PACK}") from error
    # Without a comma after the last row, Python takes the brackets of a new one for a call of it.
    if new_row_count != row_count + 1:
        raise ScaffoldError(f"{file}: {_NO_ROOM}, {_PLAIN_PACK}")
    return new


def with_changes(
    file: Path,
    content: bytes,
    patch: Patch,
    new: Sequence[Sequence[Change]],
    requires: Sequence[str],
) -> bytes:
    """Replace the changes and the requirements of a row in a pack's file.

    Args:
        file: the file of the pack, for errors.
        content: its content.
        patch: the row as it is.
        new: for each change of the row, in order, the changes that replace it.
        requires: the new requirements of the row.

    Returns:
        The new content.

    Raises:
        ScaffoldError: The row is not written in the plain form.
    """

    def text_changes(text: bytes) -> Iterator[TextChange]:
        fields = _written_fields(ast.parse(text), patch.name)
        changes = fields.get("changes")
        requirements = fields.get("requires")
        is_plain = isinstance(changes, ast.Tuple) and len(changes.elts) == len(new)
        # `is_plain` implies the first condition, which is there for type checkers.
        if not isinstance(changes, ast.Tuple) or not is_plain or requirements is None:
            raise ScaffoldError(
                f"{file}: found the row {patch.name} written otherwise, {_AS_ROW}"
            )
        yield from _replaced_changes(text, changes, patch.changes, new)
        new_requirements = tuple(requires)
        if new_requirements != tuple(patch.requires):
            start, end = span(text, requirements)
            yield start, end, literal(new_requirements)

    return rewritten(content, text_changes)


def _count_rows(content: bytes) -> int:
    """Count the elements of PATCHES."""
    tree = ast.parse(content)
    return len(_tuple_of_rows(tree).elts)


def _tuple_of_rows(tree: ast.Module) -> ast.Tuple:
    """Find the tuple that a pack assigns to PATCHES.

    Raises:
        _UnplainPackError: There is none, or the file uses the name elsewhere too.
    """
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    uses = [name for name in names if name.id == "PATCHES"]
    for statement in tree.body:
        targets = _targets_of(statement)
        value = getattr(statement, "value", None)
        # The name is used nowhere but as the one target of this statement.
        is_only_use = bool(targets) and targets == uses
        if is_only_use and isinstance(value, ast.Tuple):
            return value
    raise _UnplainPackError("found no such PATCHES")


def _targets_of(node: ast.stmt) -> list[ast.expr]:
    """Return the targets of an assignment; [] for any other statement."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return [node.target]
    return []


def _additions(text: bytes, patch: Patch) -> Iterator[TextChange]:
    """Yield the text changes that add a row to a pack's file.

    Raises:
        _UnplainPackError: Tuple or import are not written in the plain form.
    """
    tree = ast.parse(text)
    _, end_of_tuple = span(text, _tuple_of_rows(tree))
    bracket = end_of_tuple - 1
    if text[bracket:end_of_tuple] != b")":
        raise _UnplainPackError("found PATCHES without brackets")
    start_of_line = line_start(text, bracket)
    row = f"{INDENT}{row_text(patch, 1)},\n"
    before_bracket = text[start_of_line:bracket]
    is_alone = not before_bracket.strip()  # the closing bracket has a line of its own
    if is_alone:
        yield start_of_line, start_of_line, row
    else:
        yield bracket, bracket, f"\n{row}"
    names = imported_names(patch)
    yield from _import_additions(text, tree, names)


def _import_additions(
    text: bytes, tree: ast.Module, names: set[str]
) -> Iterator[TextChange]:
    """Yield the text change that adds names to a pack's import of patchkit; none if it has them.

    Raises:
        _UnplainPackError: The import is not written in the plain form.
    """
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    of_patchkit = [
        node for node in imports if node.module == "patchkit" and not node.level
    ]
    if not of_patchkit:
        raise _UnplainPackError("found no such import")
    statement = of_patchkit[0]
    for alias in statement.names:
        if alias.asname or alias.name == "*":
            raise _UnplainPackError("found no such import")
    imported = {alias.name for alias in statement.names}
    if names <= imported:
        return
    start, end = span(text, statement)
    written = text[start:end]
    if b"#" in written:
        raise _UnplainPackError("found comments in the import")
    new_import = from_import("patchkit", imported | names)
    yield start, end, new_import


def _written_fields(tree: ast.Module, name: str) -> dict[str | None, ast.expr]:
    """Find the call that makes a row, and return its arguments by keyword.

    It is the call with this `name=` and `changes=`, whatever it calls: `Patch` may be renamed, or
    called by a function of the pack.

    Returns:
        The arguments; {} if there is no such call.
    """
    for node in ast.walk(tree):
        keywords = getattr(node, "keywords", ())
        fields = {keyword.arg: keyword.value for keyword in keywords}
        written_name = fields.get("name")
        is_of_row = (
            isinstance(written_name, ast.Constant) and written_name.value == name
        )
        if is_of_row and "changes" in fields:
            return fields
    return {}


def _replaced_changes(
    text: bytes,
    written: ast.Tuple,
    before: Iterable[Change],
    after: Sequence[Sequence[Change]],
) -> Iterator[TextChange]:
    """Yield the text changes that replace changes of a row; those that stay are not touched.

    Args:
        text: the text of the pack's file.
        written: the tuple of changes in it.
        before: the changes that the row has.
        after: for each of them, the changes that replace it.
    """
    spans = [span(text, element) for element in written.elts]
    starts = [start for start, _ in spans]
    _, end_of_tuple = span(text, written)
    bracket = end_of_tuple - 1
    next_starts = [*starts[1:], bracket]
    _, end_of_last = spans[-1]
    # The last change may have no comma behind it. Left alone, it needs one: `(x)` is no tuple.
    is_last_alone = bool(after[-1]) and not any(after[:-1])
    has_comma = text[end_of_last:].lstrip().startswith(b",")
    if is_last_alone and not has_comma:
        yield end_of_last, end_of_last, ","
    for (start, end), next_start, old, new in zip(
        spans, next_starts, before, after, strict=True
    ):
        if not new:
            yield start, next_start, ""  # with the comma and space behind it
        elif list(new) != [old]:
            depth = _depth_at(text, start)
            separator = f",\n{INDENT * depth}"
            replacement = separator.join(change_text(change, depth) for change in new)
            yield start, end, replacement


def _depth_at(text: bytes, start: int) -> int:
    """Return the indentation of a change in steps, for the lines of what replaces it.

    Where other code is before the change on its line, as in `changes=(Wrap(…),)`, that is 2: the
    indentation of the fields of a row in PATCHES.
    """
    margin = text[line_start(text, start) : start]
    if margin.strip():
        return 2
    return len(margin) // len(INDENT)
