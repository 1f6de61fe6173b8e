"""Changes rows in the file of a pack: adds one to the tuple, or rewrites what one consists of."""

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
    """The rows or the import of a pack are written in a way that cannot be added to."""


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
        row_count = _count_rows(content)
        new_row_count = _count_rows(new)
    except SyntaxError as error:
        raise ScaffoldError(f"{file}: {_NO_ROOM}, {_PLAIN_PACK}") from error
    except (_UnplainPackError, ValueError) as error:  # the parser's own, of null bytes
        raise ScaffoldError(f"{file}: {error}, {_PLAIN_PACK}") from error
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
            raise ScaffoldError(
                f"{file}: found the row {patch.name} written otherwise, {_AS_ROW}"
            )
        yield from _other_changes(text, changes, patch.changes, new)
        new_requirements = tuple(requires)
        if new_requirements != tuple(patch.requires):
            start, end = span(text, requirements)
            yield start, end, literal(new_requirements)

    return rewritten(content, text_changes)


def _count_rows(content: bytes) -> int:
    tree = ast.parse(content)
    return len(_tuple_of_rows(tree).elts)


def _tuple_of_rows(tree: ast.Module) -> ast.Tuple:
    """Find the tuple that a pack assigns to PATCHES, which it names nowhere else.

    Raises:
        _UnplainPackError: there is none.
    """
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    uses = [name for name in names if name.id == "PATCHES"]
    for node in tree.body:
        targets = _targets_of(node)
        value = getattr(node, "value", None)
        is_only_use = bool(targets) and targets == uses
        if is_only_use and isinstance(value, ast.Tuple):
            return value
    raise _UnplainPackError("found no such PATCHES")


def _targets_of(node: ast.stmt) -> list[ast.expr]:
    """Return what a statement assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return [node.target]
    return []


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
    start_of_line = line_start(text, bracket)
    row = f"{INDENT}{row_text(patch, 1)},\n"
    before_bracket = text[start_of_line:bracket]
    is_alone = not before_bracket.strip()
    if is_alone:
        yield start_of_line, start_of_line, row
    else:
        yield bracket, bracket, f"\n{row}"
    names = imported_names(patch)
    yield from _import_additions(text, tree, names)


def _import_additions(
    text: bytes, tree: ast.Module, names: set[str]
) -> Iterator[TextChange]:
    """Write the change that adds names to a pack's import of patchkit; none if it has them.

    Raises:
        _UnplainPackError: the import is written in another way.
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
    """Find the arguments of the call that makes a row, by keyword; none where there is no such."""
    for call in ast.walk(tree):
        keywords = getattr(call, "keywords", ())
        fields = {keyword.arg: keyword.value for keyword in keywords}
        written = fields.get("name")
        is_its = isinstance(written, ast.Constant) and written.value == name
        if is_its and "changes" in fields:
            return fields
    return {}


def _other_changes(
    text: bytes,
    written: ast.Tuple,
    before: Iterable[Change],
    after: Sequence[Sequence[Change]],
) -> Iterator[TextChange]:
    """Write each change of a row that becomes another.

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
    ends = [*starts[1:], bracket]
    _, end_of_last = spans[-1]
    # What is alone in a tuple needs a comma.
    is_last_alone = bool(after[-1]) and not any(after[:-1])
    behind_last = text[end_of_last:].lstrip()
    has_comma = behind_last.startswith(b",")
    if is_last_alone and not has_comma:
        yield end_of_last, end_of_last, ","
    for (start, end), next_start, old, new in zip(
        spans, ends, before, after, strict=True
    ):
        if not new:
            yield start, next_start, ""
        elif list(new) != [old]:
            depth = _depth_at(text, start)
            separator = f",\n{INDENT * depth}"
            replacement = separator.join(change_text(change, depth) for change in new)
            yield start, end, replacement


def _depth_at(text: bytes, start: int) -> int:
    """Return how far a change is indented, in steps; 2 where other code is before it."""
    margin = text[line_start(text, start) : start]
    if margin.strip():
        return 2
    return len(margin) // len(INDENT)
