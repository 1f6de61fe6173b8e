"""Values that upstream's source spells out: `__all__`, tables of lazy names, container items."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from patchkit.upstream.resolving.bindings import Form
from patchkit.upstream.resolving.syntax import dotted
from patchkit.upstream.resolving.values import Kind, Scope, Value, absent, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.rows.target import Item
    from patchkit.upstream.resolving.bindings import Binding
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree
    from patchkit.upstream.resolving.values import Values


class NotLiteralError(Exception):
    """An expression that is not spelled out; never leaves the callers."""


_MANY = (ast.List, ast.Tuple, ast.Set)
_DEPTH = 40


def text(lookup: Lookup, node: ast.expr, tree: ModuleTree) -> str | None:
    """Read a string; None where it is none."""
    try:
        literal = Literals(lookup, tree).value(node)
    except NotLiteralError:
        return None
    return literal if isinstance(literal, str) else None


def membership(lookup: Lookup, binding: Binding, tree: ModuleTree, item: Any) -> bool | None:
    """Tell whether a list or table holds an item; None where that cannot be told."""
    added = [binding.value, *map(added_by, binding.parts)]
    is_open = False
    for piece in (piece for node in added for piece in (_flat(node) if node else [None])):
        try:
            container = Literals(lookup, tree).value(piece) if piece else None
        except NotLiteralError:
            container = None
        if not isinstance(container, (dict, list, tuple)):
            is_open = True
        elif item in container:
            return True
    return None if is_open else False


class Literals:
    """
    Reads what expressions of one module spell out, through names where need be.

    Args:
        lookup: finds the names.
        tree: the module.
        depth: how many more names may stand for names.

    """

    def __init__(self, lookup: Lookup, tree: ModuleTree, depth: int = _DEPTH) -> None:
        self._lookup = lookup
        self._tree = tree
        self._depth = depth

    def value(self, node: ast.expr) -> Any:
        """
        Read an expression.

        Raises:
            NotLiteralError: part of it is not spelled out.

        """
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, _MANY):
            return self._many(node)
        if isinstance(node, ast.Dict):
            return self._dict(node)
        if isinstance(node, ast.BinOp):
            return self._sum(node)
        if isinstance(node, ast.Name):
            return self.of_name(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        raise NotLiteralError

    def of_name(self, name: str) -> Any:
        """
        Read what a module's name is bound to.

        Raises:
            NotLiteralError: not in one way, or not by a literal.

        """
        if name in ("__name__", "__package__"):
            return self._tree.name if name == "__name__" else self._tree.package
        cases = self._lookup.cases(self._tree, name)
        binding = cases[0].binding if len(cases) == 1 else None
        if binding is None:
            raise NotLiteralError
        if binding.form is Form.FROM:
            return self._in(self._lookup.modules.get(binding.module)).of_name(binding.imported)
        if binding.value is None:
            raise NotLiteralError
        literal = self._in(self._tree).value(binding.value)
        for part in binding.parts:
            added = added_by(part)
            if added is None or not isinstance(literal, (list, dict)):
                raise NotLiteralError
            literal = _joined(literal, self.value(added))
        return literal

    def _in(self, tree: ModuleTree | None) -> Literals:
        if tree is None or not self._depth:
            raise NotLiteralError
        return Literals(self._lookup, tree, self._depth - 1)

    def _many(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        items: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                items.extend(self.value(element.value))
            else:
                items.append(self.value(element))
        return tuple(items) if isinstance(node, ast.Tuple) else items

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        table: dict[Any, Any] = {}
        for key, held in zip(node.keys, node.values, strict=True):
            if key is None:
                table = _joined(table, self.value(held))
                continue
            name = self.value(key)
            try:
                table[name] = self.value(held)
            except NotLiteralError:
                table[name] = held  # known to be there
        return table

    def _sum(self, node: ast.BinOp) -> Any:
        if not isinstance(node.op, (ast.Add, ast.BitOr)):
            raise NotLiteralError
        return _joined(self.value(node.left), self.value(node.right))

    def _attribute(self, node: ast.Attribute) -> Any:
        if dotted(node) == "__spec__.parent":
            return self._tree.package
        for found in self._lookup.evaluate(node, Scope(self._tree)):
            if found.tree is not None and found.expression is not None and not found.nodes[1:]:
                return self._in(found.tree).value(found.expression)
        raise NotLiteralError


def _joined(first: Any, second: Any) -> Any:
    """Add a list to a list, a table to a table."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **second}
    if isinstance(first, str) and isinstance(second, str):
        return first + second
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple, dict)):
        return [*first, *second]
    raise NotLiteralError


def _flat(node: ast.expr) -> list[ast.expr]:
    """Take sums and spreads apart, so that one unknown part leaves the others known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
        return [*_flat(node.left), *_flat(node.right)]
    if isinstance(node, _MANY):
        spread = [part.value for part in node.elts if isinstance(part, ast.Starred)]
        plain = [part for part in node.elts if not isinstance(part, ast.Starred)]
        return [ast.List(plain, ast.Load()), *(part for one in spread for part in _flat(one))]
    if isinstance(node, ast.Dict):
        spread = [held for key, held in zip(node.keys, node.values, strict=True) if key is None]
        keys = [key for key in node.keys if key is not None]
        return [ast.List(keys, ast.Load()), *(part for one in spread for part in _flat(one))]
    return [node]


def added_by(part: ast.stmt) -> ast.expr | None:
    """Return what a statement adds to a list or table; None where that is not plain."""
    if isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Add, ast.BitOr)):
        return part.value
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
        return ast.Dict([part.targets[0].slice], [part.value])
    if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
        call = part.value
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in ("extend", "update") and len(call.args) == 1 and not call.keywords:
            return call.args[0]
        if name == "append" and len(call.args) == 1:
            return ast.List([call.args[0]], ast.Load())
    return None


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
