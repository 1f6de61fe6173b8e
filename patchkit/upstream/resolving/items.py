"""Items of the containers that upstream spells out: `TABLE['key']`, `ROWS[0]`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving import literals
from patchkit.upstream.resolving.literals import NotLiteralError, added_by
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import Kind, Value, absent, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.rows.target import Item
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree
    from patchkit.upstream.resolving.values import Values

_CHANGED = (
    rb"\b%s\s*(\[[^\]]*\]\s*=[^=]|\.(update|setdefault|pop|append|extend|insert|clear|remove)\b)"
)


class Held(NamedTuple):
    """
    An item, and what stands there.

    Args:
        item: as a place of its own.
        values: what it holds.

    """

    item: Value
    values: Values


class _Open(NamedTuple):
    """A part of a container that is not spelled out."""

    words: str


def held(lookup: Lookup, value: Value, item: Item) -> Held:
    """Tell what an item of a container is."""
    if value.state != "present":
        return Held(value, (value,))
    spelled = isinstance(value.expression, (ast.Dict, ast.List, ast.Tuple, ast.BinOp))
    if value.tree is None or not spelled:
        return _nothing(undecidable(f"{value.qualname} is no container that is spelled out"))
    opened, found = "", None
    for entry in _entries(lookup, value):
        if isinstance(entry, _Open):
            opened = entry.words
        elif entry[0] == item.key:
            found, opened = entry[1], ""
    if found is None:
        return _nothing(_missing(value, item, opened))
    return _found(lookup, value, item, found, opened)


def _found(lookup: Lookup, value: Value, item: Item, node: ast.expr, opened: str) -> Held:
    assert value.tree is not None
    where = f"{value.qualname}{item}"
    values = lookup.evaluate(node, Scope(value.tree))
    signature = values[0].signature if len(values) == 1 else None
    place = Value(
        "present",
        Kind.ITEM,
        value.module,
        where,
        value.tree,
        (node,),
        expression=node,
        signature=signature,
    )
    if opened:
        place = place.unsure(f"unless {opened} has it too")
    return Held(place, values)


def _missing(value: Value, item: Item, opened: str) -> Value:
    if opened:
        return undecidable(f"{opened} may have {item}")
    assert value.tree is not None
    name = value.qualname.rpartition(".")[2].encode()
    if value.expression is not None and not any(ast.iter_child_nodes(value.expression)):
        return undecidable(f"{value.qualname} is empty, and filled by code")
    if re.search(rb"=\s*(?:\w+\.)*%s\s*$" % re.escape(name), value.tree.source, re.MULTILINE):
        return undecidable(f"{value.qualname} has another name, by which {item} may be set")
    changes = len(re.findall(_CHANGED % re.escape(name), value.tree.source))
    if changes > len(value.nodes) - 1:
        return undecidable(f"{value.qualname} is filled by code, which may set {item}")
    return absent(f"{value.qualname} of {value.module} has no item {item}")


def _nothing(value: Value) -> Held:
    return Held(value, (value,))


def _entries(lookup: Lookup, value: Value) -> Iterator[tuple[object, ast.expr] | _Open]:
    assert value.tree is not None
    assert value.expression is not None
    count = 0
    for entry in _of(lookup, value.expression, value.tree):
        count += 1
        yield entry
    for part in value.nodes[1:]:
        assert isinstance(part, ast.stmt)
        more = added_by(part)
        if more is None:
            yield _Open(f"line {part.lineno}")
            continue
        for entry in _of(lookup, more, value.tree, count):
            count += 1
            yield entry


def _of(
    lookup: Lookup, node: ast.expr, tree: ModuleTree, start: int = 0
) -> Iterator[tuple[object, ast.expr] | _Open]:
    if isinstance(node, ast.Dict):
        yield from _of_dict(lookup, node, tree)
    elif isinstance(node, (ast.List, ast.Tuple)) and not _spreads(node):
        yield from ((start + at, one) for at, one in enumerate(node.elts))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _of(lookup, node.left, tree)
        yield from _of(lookup, node.right, tree)
    else:
        yield _Open(ast.unparse(node))


def _of_dict(
    lookup: Lookup, node: ast.Dict, tree: ModuleTree
) -> Iterator[tuple[object, ast.expr] | _Open]:
    for key, one in zip(node.keys, node.values, strict=True):
        if key is None:
            yield from _of(lookup, one, tree)
            continue
        try:
            yield literals.value(lookup, key, tree), one
        except NotLiteralError:
            yield _Open(f"the key {ast.unparse(key)}")


def _spreads(node: ast.List | ast.Tuple) -> bool:
    return any(isinstance(one, ast.Starred) for one in node.elts)
