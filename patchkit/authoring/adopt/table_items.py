"""Writes an item into the source of a table: a dict or a list, such as `TABLE = {"a": 1}`.

`patchkit export` uses it for rows whose target is an item, such as `up.lib:TABLE['a']`.
"""

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

_READ_METHODS = frozenset({"copy", "get", "items", "keys", "values"})
"""The methods of a table that do not change it."""


class _ItemCode(NamedTuple):
    """The code of an item's new value.

    Args:
        value: the code.
        names: the names of the body that it uses.
    """

    value: str
    names: set[str]


def write_item(
    module: ModuleText, change: Add | Replace, qualname: str, item: Item, body: BodyCode
) -> None:
    """Replace the value of an item in the source of a table, or add an item to it.

    Args:
        module: the module, which is changed.
        change: the change: a Replace of an item that is there, or an Add of one that is not.
        qualname: the qualified name of the table.
        item: the item.
        body: the body that has the new value.

    Raises:
        ScaffoldError: the module does not spell out the items of the table, changes them later,
            or has the item that is to be added.
    """
    code = module.read()
    display = getattr(code.defined(qualname), "value", None)
    if not isinstance(display, (ast.Dict, ast.List)):
        raise ScaffoldError(f"{module.path} does not spell out the items of {qualname}")
    line = _line_of_change(code, qualname)
    if line:
        raise ScaffoldError(f"line {line} of {module.path} changes {qualname} later")
    old_value = _values(display).get(item.key)
    if isinstance(change, Replace):
        if old_value is None:
            raise ScaffoldError(f"{module.path} does not spell out this item")
        margin = margin_of(module.line(old_value.lineno))
        new = _item_code(change.by, margin, body)
        start, end = span(code.tree.source, old_value)
        text_change = (start, end, new.value)
    else:
        if old_value is not None or not isinstance(display, ast.Dict):
            raise ScaffoldError(f"{module.path} has no room for it in {qualname}")
        last_line = display.end_lineno or display.lineno
        margin = margin_of(module.line(last_line))
        new = _item_code(change.by, margin, body)
        entry = f"{literal(item.key)}: {new.value}"
        text_change = _addition(code, display, entry)
    content = rewritten(code.tree.source, lambda _: [text_change])
    module.text = content.decode()
    bring(module, new.names, body, qualname)


def _values(display: ast.Dict | ast.List) -> dict[object, ast.expr]:
    """Return the values in a table, by key or index; only keys that are constants count."""
    if isinstance(display, ast.List):
        return dict(enumerate(display.elts))
    values: dict[object, ast.expr] = {}
    for key, value in zip(display.keys, display.values, strict=True):
        if isinstance(key, ast.Constant):
            values[key.value] = value
    return values


def _line_of_change(code: Definitions, qualname: str) -> int:
    """Return the line in which a module, as it is imported, changes a table; 0 if it does not.

    Args:
        code: the definitions of the module.
        qualname: the qualified name of the table.
    """
    unread: list[ast.AST] = list(code.tree.tree.body)
    while unread:
        node = unread.pop()
        # The code in functions runs later.
        if not isinstance(node, (*DEFS, ast.Lambda)):
            unread.extend(ast.iter_child_nodes(node))
        if dotted(_changed_object(node)) == qualname:
            return int(getattr(node, "lineno", 0))
    return 0


def _changed_object(node: ast.AST) -> ast.AST | None:
    """Return the expression of the object that a node changes in place; None for no change.

    It is `TABLE` in `TABLE["a"] = 1`, in `TABLE.update(…)` and in `TABLE |= …`.
    """
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Attribute) and node.attr not in _READ_METHODS:
        return node.value
    if isinstance(node, ast.AugAssign):
        return node.target
    return None


def _item_code(by: str, margin: str, body: BodyCode) -> _ItemCode:
    """Return the code of an item's new value.

    Args:
        by: the name of the value in the body.
        margin: the indentation of the line that the value is written into.
        body: the body.
    """
    if by in body.new_names:  # in the module already, under another name
        return _ItemCode(body.new_names[by], set())
    if by not in body.definitions.named and by in body.definitions.imports:
        return _ItemCode(by, {by})
    moved = body.moved(by, by, {})
    value = value_text(moved.text, margin)
    if value is None:  # a function or a class: the item is its name
        return _ItemCode(by, {by})
    return _ItemCode(value, moved.names & used_names(value))


def _addition(code: Definitions, display: ast.Dict, entry: str) -> TextChange:
    """Return the change of a module's text that adds an entry at the end of a dict.

    Args:
        code: the definitions of the module.
        display: the dict.
        entry: the entry, such as `"b": 2`.
    """
    source = code.tree.source
    start, end = span(source, display)
    if not display.values:
        return start, end, f"{{{entry}}}"
    last_value = display.values[-1]
    last_key = display.keys[-1] or last_value  # there is no key in `**others`
    _, last_end = span(source, last_value)
    has_one_line = display.lineno == display.end_lineno
    if has_one_line:
        return last_end, last_end, f", {entry}"
    lines = source.decode().split("\n")
    margin = margin_of(lines[last_key.lineno - 1])
    after_last = source[last_end:end].lstrip()
    if not after_last.startswith(b","):
        return last_end, last_end, f",\n{margin}{entry}"
    line_end = source.index(b"\n", last_end)
    return line_end, line_end, f"\n{margin}{entry},"
