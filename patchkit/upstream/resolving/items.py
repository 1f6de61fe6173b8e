"""Items of the containers that upstream spells out: `TABLE['key']`, `ROWS[0]`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.literals import Literals, NotLiteralError, added_by
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import Kind, Value, absent, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.rows.target import Item
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree
    from patchkit.upstream.resolving.values import Values

_Entry = tuple[object, ast.expr] | str
_CHANGED = (
    rb"\b%s\s*(\[[^\]]*\]\s*=[^=]|\.(update|setdefault|pop|append|extend|insert|clear|remove)\b)"
)


def held(lookup: Lookup, value: Value, item: Item) -> tuple[Value, Values]:
    """Tell what an item of a container is: as a place of its own, and what stands there."""
    if value.state != "present":
        return value, (value,)
    spelled = isinstance(value.expression, (ast.Dict, ast.List, ast.Tuple, ast.BinOp))
    if value.tree is None or not spelled:
        return _alone(undecidable(f"{value.qualname} is no container that is spelled out"))
    opened, node = "", None
    for entry in _entries(lookup, value):
        if isinstance(entry, str):
            opened = entry
        elif entry[0] == item.key:
            node, opened = entry[1], ""
    if node is None:
        return _alone(_missing(value, item, opened))
    return _found(lookup, value, item, node, opened)


def _alone(value: Value) -> tuple[Value, Values]:
    return value, (value,)


def _found(
    lookup: Lookup, value: Value, item: Item, node: ast.expr, opened: str
) -> tuple[Value, Values]:
    assert value.tree is not None
    values = lookup.evaluate(node, Scope(value.tree))
    place = Value(
        "present",
        Kind.ITEM,
        value.module,
        f"{value.qualname}{item}",
        value.tree,
        (node,),
        expression=node,
        signature=values[0].signature if len(values) == 1 else None,
    )
    return (place.unsure(f"unless {opened} has it too") if opened else place), values


def _missing(value: Value, item: Item, opened: str) -> Value:
    if opened:
        return undecidable(f"{opened} may have {item}")
    assert value.tree is not None
    name = re.escape(value.qualname.rpartition(".")[2].encode())
    if value.expression is not None and not any(ast.iter_child_nodes(value.expression)):
        return undecidable(f"{value.qualname} is empty, and filled by code")
    if re.search(rb"=\s*(?:\w+\.)*%s\s*$" % name, value.tree.source, re.MULTILINE):
        return undecidable(f"{value.qualname} has another name, by which {item} may be set")
    if len(re.findall(_CHANGED % name, value.tree.source)) > len(value.nodes) - 1:
        return undecidable(f"{value.qualname} is filled by code, which may set {item}")
    return absent(f"{value.qualname} of {value.module} has no item {item}")


def _entries(lookup: Lookup, value: Value) -> Iterator[_Entry]:
    assert value.tree is not None
    assert value.expression is not None
    entries = list(_of(lookup, value.expression, value.tree, 0))
    for part in value.nodes[1:]:
        assert isinstance(part, ast.stmt)
        more = added_by(part)
        if more is None:
            entries.append(f"line {part.lineno}")
        else:
            entries += _of(lookup, more, value.tree, len(entries))
    yield from entries


def _of(lookup: Lookup, node: ast.expr, tree: ModuleTree, start: int) -> Iterator[_Entry]:
    """List keys with what they hold; in words what is not spelled out. Lists count from `start`."""
    if isinstance(node, ast.Dict):
        for key, entry in zip(node.keys, node.values, strict=True):
            yield from (
                _of(lookup, entry, tree, 0) if key is None else [_of_key(lookup, key, entry, tree)]
            )
    elif isinstance(node, (ast.List, ast.Tuple)) and not _spreads(node):
        yield from enumerate(node.elts, start)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _of(lookup, node.left, tree, start)
        yield from _of(lookup, node.right, tree, start)
    else:
        yield ast.unparse(node)


def _of_key(lookup: Lookup, key: ast.expr, entry: ast.expr, tree: ModuleTree) -> _Entry:
    try:
        return Literals(lookup, tree).value(key), entry
    except NotLiteralError:
        return f"the key {ast.unparse(key)}"


def _spreads(node: ast.List | ast.Tuple) -> bool:
    return any(isinstance(element, ast.Starred) for element in node.elts)
