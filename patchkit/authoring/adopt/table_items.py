"""Writes an item into the text of a table: a dict or a list that a statement spells out."""

import ast
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.adopt.body_code import BodyCode
from patchkit.authoring.adopt.bringing import bring
from patchkit.authoring.adopt.definitions import Definitions
from patchkit.authoring.adopt.global_names import used_names
from patchkit.authoring.adopt.indents import margin_of
from patchkit.authoring.adopt.module_text import ModuleText
from patchkit.authoring.adopt.values import value_text
from patchkit.authoring.scaffold.rows import literal
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.core.rows.declaration import Add, Replace
from patchkit.core.rows.target import Item
from patchkit.errors import ScaffoldError

_READING = frozenset({"copy", "get", "items", "keys", "values"})
"""The methods of a table that leave it as it is."""


class _ItemCode(NamedTuple):
    """What an item becomes.

    Args:
        value: its value, as code.
        names: the names of the body that the value uses.
    """

    value: str
    names: set[str]


def write_item(
    module: ModuleText, change: Add | Replace, qualname: str, item: Item, body: BodyCode
) -> None:
    """Give an item of a table another value, or add one.

    Args:
        module: the module, which is changed.
        change: the change.
        qualname: the qualified name of the table.
        item: the item.
        body: the body that has its value.

    Raises:
        ScaffoldError: the module does not spell out the items of the table, or changes them later.
    """
    code = module.read()
    display = getattr(code.defined(qualname), "value", None)
    if not isinstance(display, (ast.Dict, ast.List)):
        raise ScaffoldError(f"{module.path} does not spell out the items of {qualname}")
    line = _line_of_change(code, qualname)
    if line:
        raise ScaffoldError(f"line {line} of {module.path} changes {qualname} later")
    values = _values(display)
    old = values.get(item.key)
    if isinstance(change, Replace):
        if old is None:
            raise ScaffoldError(f"{module.path} does not spell out this item")
        margin = margin_of(module.line(old.lineno))
        new = _item_code(change.by, margin, body)
        start, end = span(code.tree.source, old)
        text_change = (start, end, new.value)
    else:
        if old is not None or not isinstance(display, ast.Dict):
            raise ScaffoldError(f"{module.path} has no room for it in {qualname}")
        last_line = display.end_lineno or display.lineno
        margin = margin_of(module.line(last_line))
        new = _item_code(change.by, margin, body)
        key = literal(item.key)
        entry = f"{key}: {new.value}"
        text_change = _addition(code, display, entry)
    content = rewritten(code.tree.source, lambda _: [text_change])
    module.text = content.decode()
    bring(module, new.names, body, qualname)


def _values(display: ast.Dict | ast.List) -> dict[object, ast.expr]:
    """Return the values that a table spells out, by key or index."""
    if isinstance(display, ast.List):
        return dict(enumerate(display.elts))
    values: dict[object, ast.expr] = {}
    for key, value in zip(display.keys, display.values, strict=True):
        if isinstance(key, ast.Constant):
            values[key.value] = value
    return values


def _line_of_change(code: Definitions, qualname: str) -> int:
    """Return the line where the import of a module changes a table in place; 0 if it does not."""
    unread: list[ast.AST] = list(code.tree.tree.body)
    while unread:
        node = unread.pop()
        if not isinstance(node, (*DEFS, ast.Lambda)):
            unread.extend(ast.iter_child_nodes(node))
        holder: ast.AST | None = None
        is_item = isinstance(node, ast.Subscript)
        is_set = is_item and not isinstance(getattr(node, "ctx", None), ast.Load)
        is_called = isinstance(node, ast.Attribute) and node.attr not in _READING
        if is_set or is_called:
            holder = getattr(node, "value", None)
        elif isinstance(node, ast.AugAssign):
            holder = node.target
        if dotted(holder) == qualname:
            return int(getattr(node, "lineno", 0))
    return 0


def _item_code(by: str, margin: str, body: BodyCode) -> _ItemCode:
    """Write the value of an item: that of an assignment, or the name of a function or a class."""
    if by in body.new_names:
        return _ItemCode(body.new_names[by], set())
    if by not in body.definitions.named and by in body.definitions.imports:
        return _ItemCode(by, {by})
    moved = body.moved(by, by, {})
    value = value_text(moved.text, margin)
    if value is None:
        return _ItemCode(by, {by})
    return _ItemCode(value, moved.names & used_names(value))


def _addition(code: Definitions, display: ast.Dict, entry: str) -> TextChange:
    """Return the change of a text that adds an entry to a dict, where the last one ends."""
    source = code.tree.source
    start, end = span(source, display)
    if not display.values:
        return start, end, f"{{{entry}}}"
    last = display.values[-1]
    _, last_end = span(source, last)
    has_one_line = display.lineno == display.end_lineno
    if has_one_line:
        return last_end, last_end, f", {entry}"
    first = display.keys[-1] or last
    lines = source.decode().split("\n")
    margin = margin_of(lines[first.lineno - 1])
    behind = source[last_end:end].lstrip()
    has_comma = behind.startswith(b",")
    if not has_comma:
        return last_end, last_end, f",\n{margin}{entry}"
    line_end = source.index(b"\n", last_end)
    return line_end, line_end, f"\n{margin}{entry},"
