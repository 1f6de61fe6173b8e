"""Values that upstream's source spells out: `__all__`, tables of lazy names, `TABLE['key']`."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from patchkit.rows.target import Item
from patchkit.upstream.resolving.bindings import Binding
from patchkit.upstream.resolving.module_tree import ModuleTree
from patchkit.upstream.resolving.syntax import dotted
from patchkit.upstream.resolving.values import Kind, Lookup, Scope, Value, Values, absent, undecided

_Entry = tuple[object, ast.expr] | str
_OPEN = object()  # stands in a list or table for what is not spelled out
_DEPTH = 40
_CONTAINERS = (ast.Dict, ast.List, ast.Tuple, ast.BinOp)
_CHANGED = (
    rb"\b%s\s*(\[[^\]]*\]\s*=[^=]|\.(update|setdefault|pop|append|extend|insert|clear|remove)\b)"
)


class NotLiteralError(Exception):
    """An expression that is not spelled out; never leaves the callers."""


def membership(lookup: Lookup, binding: Binding, tree: ModuleTree, item: Any) -> bool | None:
    """Tell whether a name stands for a list or table with an item; None where that is open."""
    try:
        return holds(Literals(lookup, tree).bound(binding), item)
    except NotLiteralError:
        return None


def holds(spelled: Any, item: Any) -> bool | None:
    """Tell whether a literal is a list or table with an item; None where that cannot be told."""
    if not isinstance(spelled, (dict, list, tuple)):
        return None
    return True if item in spelled else None if _OPEN in spelled else False


class Literals:
    """Reads what expressions of one module spell out; up to `depth` names may stand for names."""

    def __init__(self, lookup: Lookup, tree: ModuleTree, depth: int = _DEPTH) -> None:
        self._lookup = lookup
        self._tree = tree
        self._depth = depth

    def value(self, node: ast.expr) -> Any:
        """Read an expression; NotLiteralError where not even a list or table is spelled out."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items: list[Any] = []
            for element in node.elts:
                if isinstance(element, ast.Starred):
                    spread = self.part(element.value)
                    items += spread if isinstance(spread, (list, tuple, dict)) else [_OPEN]
                else:
                    items.append(self.value(element))
            return tuple(items) if isinstance(node, ast.Tuple) else items
        if isinstance(node, ast.Dict):
            return self._dict(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
            return _joined(self.part(node.left), self.part(node.right))
        if isinstance(node, ast.Name):
            return self.of_name(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        raise NotLiteralError

    def of_name(self, name: str) -> Any:
        """Read what a name is bound to; NotLiteralError where not once, or by no literal."""
        if name in ("__name__", "__package__"):
            return self._tree.name if name == "__name__" else self._tree.package
        cases = self._lookup.cases(self._tree, name)
        if len(cases) != 1 or cases[0].binding is None:
            raise NotLiteralError
        return self.bound(cases[0].binding)

    def bound(self, binding: Binding) -> Any:
        """Read what a binding binds; NotLiteralError where that is no literal."""
        if binding.imported:
            return self._in(self._lookup.modules.get(binding.module)).of_name(binding.imported)
        if binding.value is None:
            raise NotLiteralError
        literal = self._in(self._tree).value(binding.value)
        for part in binding.parts:
            literal = _joined(literal, self.part(added_by(part)))
        return literal

    def _in(self, tree: ModuleTree | None) -> "Literals":
        if tree is None or not self._depth:
            raise NotLiteralError
        return Literals(self._lookup, tree, self._depth - 1)

    def part(self, node: ast.expr | None) -> Any:
        """Read an expression; what is not spelled out is a list of what is open."""
        try:
            return self.value(node) if node else [_OPEN]
        except NotLiteralError:
            return [_OPEN]

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        table: dict[Any, Any] = {}
        for key, held in zip(node.keys, node.values, strict=True):
            if key is None:
                table = _joined(table, self.part(held))
                continue
            name = self.value(key)
            try:
                table[name] = self.value(held)
            except NotLiteralError:
                table[name] = held  # known to be there
        return table

    def _attribute(self, node: ast.Attribute) -> Any:
        if dotted(node) == "__spec__.parent":
            return self._tree.package
        for found in self._lookup.evaluate(node, Scope(self._tree)):
            if found.tree is not None and found.expression is not None and not found.nodes[1:]:
                return self._in(found.tree).value(found.expression)
        raise NotLiteralError


def added_by(part: ast.stmt) -> ast.expr | None:
    """Return what a statement adds to a list or table; None where that is not plain."""
    if isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Add, ast.BitOr)):
        return part.value
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
        return ast.Dict([part.targets[0].slice], [part.value])
    call = part.value if isinstance(part, ast.Expr) else None
    if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords:
        method = dotted(call.func).rpartition(".")[2]
        if method in ("extend", "update"):
            return call.args[0]
        if method == "append":
            return ast.List(call.args, ast.Load())
    return None


def _joined(first: Any, second: Any) -> Any:
    if first == second == [_OPEN]:
        raise NotLiteralError
    if isinstance(first, dict) and second == [_OPEN]:
        return {**first, _OPEN: None}
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **second}
    if isinstance(first, str) and isinstance(second, str):
        return first + second
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple, dict)):
        return [*first, *second]
    raise NotLiteralError


def item_of(lookup: Lookup, value: Value, item: Item, *, is_last: bool) -> Values:
    """Tell what an item of a container is: as a place of its own where it is the last step."""
    if value.state != "present":
        return (value,)
    opened, node = "", None
    if value.tree is None or not isinstance(value.expression, _CONTAINERS):
        return (undecided(f"{value.qualname} is no container that is spelled out"),)
    for entry in _entries(lookup, value, value.expression):
        if isinstance(entry, str):
            opened = entry
        elif entry[0] == item.key:
            node, opened = entry[1], ""
    if node is None:
        return (_missing(value, value.expression, item, opened),)
    values = lookup.evaluate(node, Scope(value.tree))
    if not is_last:
        return values
    called = values[0].signature if len(values) == 1 else None
    where = (value.module, f"{value.qualname}{item}", value.tree, (node,))
    place = Value("present", Kind.ITEM, *where, expression=node, signature=called)
    return (place.unsure(f"unless {opened} has it too") if opened else place,)


def _missing(value: Value, container: ast.expr, item: Item, opened: str) -> Value:
    if opened:
        return undecided(f"{opened} may have {item}")
    source = value.home.source
    name = re.escape(value.qualname.rpartition(".")[2].encode())
    if not any(ast.iter_child_nodes(container)):
        return undecided(f"{value.qualname} is empty, and filled by code")
    if re.search(rb"=\s*(?:\w+\.)*%s\s*$" % name, source, re.MULTILINE):
        return undecided(f"{value.qualname} has another name, by which {item} may be set")
    if len(re.findall(_CHANGED % name, source)) > len(value.nodes) - 1:
        return undecided(f"{value.qualname} is filled by code, which may set {item}")
    return absent(f"{value.qualname} of {value.module} has no item {item}")


def _entries(lookup: Lookup, value: Value, container: ast.expr) -> list[_Entry]:
    literals = Literals(lookup, value.home)
    entries = list(_of(literals, container, 0))
    for part in value.nodes[1:]:
        assert isinstance(part, ast.stmt)
        more = added_by(part)
        entries += _of(literals, more, len(entries)) if more else [f"line {part.lineno}"]
    return entries


def _of(literals: Literals, node: ast.expr, start: int) -> Iterator[_Entry]:
    if isinstance(node, ast.Dict):
        for key, entry in zip(node.keys, node.values, strict=True):
            if key is None:
                yield from _of(literals, entry, 0)
                continue
            try:
                yield literals.value(key), entry
            except NotLiteralError:
                yield f"the key {ast.unparse(key)}"
    elif isinstance(node, (ast.List, ast.Tuple)) and not any(
        isinstance(element, ast.Starred) for element in node.elts
    ):
        yield from enumerate(node.elts, start)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _of(literals, node.left, start)
        yield from _of(literals, node.right, start)
    else:
        yield ast.unparse(node)
