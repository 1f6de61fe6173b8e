"""Lists and tables that upstream's source spells out: `__all__`, lazy names, `TABLE['key']`."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)
from patchkit.core.rows.target import Item

_Entry = tuple[object, ast.expr] | str
_CHANGED = (
    rb"\b%s\s*(\[[^\]]*\]\s*=[^=]|\.(update|setdefault|pop|append|extend|insert|clear|remove)\b)"
    rb"|=\s*(?:\w+\.)*%s\s*$"
)
"""Code that changes a list or table, or gives it another name."""


class LiteralContainer(NamedTuple):
    """What a list or table holds, as far as that is spelled out."""

    items: dict[Any, ast.expr]  # by key, in a list by place
    opened: str  # what may bring more, '' for nothing
    is_table: bool

    def contains(self, item: Any) -> bool | None:
        """Tell whether it has a key, in a list an element; None where that cannot be told."""
        elements = [one.value for one in self.items.values() if isinstance(one, ast.Constant)]
        if item in (self.items if self.is_table else elements):
            return True
        is_open = self.opened or (not self.is_table and len(elements) < len(self.items))
        return None if is_open else False


def literal_container(value: Value) -> LiteralContainer | None:
    """Read a list or table; None where a value is none that is spelled out."""
    container = value.expression
    while isinstance(container, ast.BinOp):
        container = container.left
    if not isinstance(container, (ast.Dict, ast.List, ast.Tuple, ast.Set)):
        return None
    items: dict[Any, ast.expr] = {}
    opened = ""
    for part in (value.expression, *map(_added_by, value.nodes[1:])):
        assert part is not None  # it has a container in it
        for entry in _entries(part, len(items)):
            if isinstance(entry, str):
                opened = entry
            else:
                items[entry[0]] = entry[1]
    return LiteralContainer(items, opened, isinstance(container, ast.Dict))


def contains(values: Sequence[Value], item: Any) -> bool | None:
    """Tell whether something is a list or table with an item; None where that cannot be told."""
    several = [literal_container(value) for value in values]
    answers = {one.contains(item) if one else None for one in several}
    return answers.pop() if len(answers) == 1 else None


def literal_text(values: Sequence[Value]) -> str | None:
    """Return the text that something is spelled out to be; None for anything else."""
    texts = {getattr(one.expression, "value", None) for one in values}
    text = texts.pop() if len(texts) == 1 else None
    return text if isinstance(text, str) else None


def _entries(node: ast.AST, start: int) -> Iterator[_Entry]:
    """List keys with what they hold, or places from one on; words for what is not spelled out."""
    if isinstance(node, ast.Dict):
        for key, entry in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, entry
            else:
                yield f"the key {ast.unparse(key)}" if key else ast.unparse(entry)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for at, element in enumerate(node.elts, start):
            yield ast.unparse(element) if isinstance(element, ast.Starred) else (at, element)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
        left = [*_entries(node.left, start)]
        yield from left
        yield from _entries(node.right, start + len(left))
    else:
        yield f"line {node.lineno}" if isinstance(node, ast.stmt) else ast.unparse(node)


def _added_by(part: ast.AST) -> ast.AST:
    """Return what a statement adds to a list or table; the statement where that is not plain."""
    if isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Add, ast.BitOr)):
        return part.value
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
        return ast.Dict([part.targets[0].slice], [part.value])
    return part


def item_of(lookup: Lookup, value: Value, item: Item, *, is_last: bool) -> Values:
    """Tell what an item of a container is: as a place of its own where it is the last step."""
    if value.state != "present":
        return (value,)
    container = literal_container(value) if value.tree else None
    if container is None:
        return (undecided(f"{value.qualname} is no container that is spelled out"),)
    node = container.items.get(item.key)
    if node is None or (container.opened and not container.is_table):
        return (_missing(value, container, item),)
    values = lookup.evaluate(node, Scope(value.module_tree))
    if not is_last:
        return values
    called = values[0].signature if len(values) == 1 else None
    where = (value.module, f"{value.qualname}{item}", value.tree, (node,))
    place = Value("present", Kind.ITEM, *where, expression=node, signature=called)
    return (place.unsure(f"{container.opened} may set it") if container.opened else place,)


def _missing(value: Value, container: LiteralContainer, item: Item) -> Value:
    if container.opened:
        return undecided(f"{container.opened} may have {item}")
    name = re.escape(value.qualname.rpartition(".")[2].encode())
    is_changed = re.search(_CHANGED % (name, name), value.module_tree.source, re.MULTILINE)
    if not container.items or value.nodes[1:] or is_changed:
        return undecided(f"{value.qualname} is filled by code, which may set {item}")
    return absent(f"{value.qualname} of {value.module} has no item {item}")
