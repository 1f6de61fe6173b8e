"""Values that upstream's source spells out: `__all__`, tables of lazy names, container items."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from patchkit.upstream.resolving.bindings import Form
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope

if TYPE_CHECKING:
    from patchkit.upstream.resolving.bindings import Binding
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree


class NotLiteralError(Exception):
    """An expression that is not spelled out; never leaves the callers."""


_MANY = (ast.List, ast.Tuple, ast.Set)


class Literals:
    """
    Reads literals, through names where need be.

    Args:
        lookup: finds the names.

    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._depth = 0

    def text(self, node: ast.expr, tree: ModuleTree) -> str | None:
        """Read a string; None where it is none."""
        try:
            value = self.value(node, tree)
        except NotLiteralError:
            return None
        return value if isinstance(value, str) else None

    def value(self, node: ast.expr, tree: ModuleTree) -> Any:
        """
        Read an expression.

        Raises:
            NotLiteralError: part of it is not spelled out.

        """
        self._depth += 1
        try:
            if self._depth > 40:
                raise NotLiteralError
            return self._value(node, tree)
        finally:
            self._depth -= 1

    def of_name(self, name: str, tree: ModuleTree) -> Any:
        """
        Read what a module's name is bound to.

        Raises:
            NotLiteralError: not in one way, or not by a literal.

        """
        if name == "__name__":
            return tree.name
        if name == "__package__":
            return tree.package
        cases = self._lookup.cases(tree, name)
        if len(cases) != 1 or cases[0].binding is None:
            raise NotLiteralError
        return self._of_binding(cases[0].binding, tree)

    def membership(self, binding: Binding, tree: ModuleTree, item: Any) -> bool | None:
        """Tell whether a list or table holds an item; None where that cannot be told."""
        is_open = False
        for part in self._pieces(binding, tree):
            if part is None:
                is_open = True
            elif item in part:
                return True
        return None if is_open else False

    def _pieces(self, binding: Binding, tree: ModuleTree) -> list[Any]:
        if binding.value is None:
            return [None]
        pieces = [self._piece(one, tree) for one in _flat(binding.value)]
        for part in binding.parts:
            added = added_by(part)
            pieces += [None] if added is None else [self._piece(one, tree) for one in _flat(added)]
        return pieces

    def _piece(self, node: ast.expr, tree: ModuleTree) -> Any:
        try:
            value = self.value(node, tree)
        except NotLiteralError:
            return None
        return value if isinstance(value, (dict, list, tuple, set, frozenset)) else None

    def _value(self, node: ast.expr, tree: ModuleTree) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, _MANY):
            return self._many(node, tree)
        if isinstance(node, ast.Dict):
            return self._dict(node, tree)
        if isinstance(node, ast.BinOp):
            return self._bin_op(node, tree)
        if isinstance(node, ast.Name):
            return self.of_name(node.id, tree)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, tree)
        if isinstance(node, ast.Call):
            return self._call(node, tree)
        raise NotLiteralError

    def _many(self, node: ast.List | ast.Tuple | ast.Set, tree: ModuleTree) -> Any:
        items: list[Any] = []
        for one in node.elts:
            if isinstance(one, ast.Starred):
                items.extend(self.value(one.value, tree))
            else:
                items.append(self.value(one, tree))
        return tuple(items) if isinstance(node, ast.Tuple) else items

    def _dict(self, node: ast.Dict, tree: ModuleTree) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                spread = self.value(value, tree)
                if not isinstance(spread, dict):
                    raise NotLiteralError
                found.update(spread)
                continue
            name = self.value(key, tree)
            try:
                found[name] = self.value(value, tree)
            except NotLiteralError:
                found[name] = value  # known to be there
        return found

    def _bin_op(self, node: ast.BinOp, tree: ModuleTree) -> Any:
        left, right = self.value(node.left, tree), self.value(node.right, tree)
        try:
            if isinstance(node.op, ast.Add) and isinstance(left, (list, tuple, str)):
                return left + right
            if isinstance(node.op, ast.BitOr) and isinstance(left, dict):
                return left | right
        except TypeError as error:
            raise NotLiteralError from error
        raise NotLiteralError

    def _attribute(self, node: ast.Attribute, tree: ModuleTree) -> Any:
        if dotted(node) == "__spec__.parent":
            return tree.package
        for value in self._lookup.evaluate(node, Scope(tree)):
            if value.tree is not None and value.expression is not None and not value.nodes[1:]:
                return self.value(value.expression, value.tree)
        raise NotLiteralError

    def _call(self, node: ast.Call, tree: ModuleTree) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("list", "tuple", "set", "frozenset", "sorted") and len(node.args) == 1:
            return list(self.value(node.args[0], tree))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "keys" and not node.args:
            return list(self.value(node.func.value, tree))
        raise NotLiteralError

    def _of_binding(self, binding: Binding, tree: ModuleTree) -> Any:
        if binding.form is Form.FROM:
            other = self._lookup.modules.get(binding.module)
            if other is None:
                raise NotLiteralError
            return self.of_name(binding.imported, other)
        if binding.value is None:
            raise NotLiteralError
        value = self.value(binding.value, tree)
        for part in binding.parts:
            added = added_by(part)
            if added is None or not isinstance(value, (list, dict)):
                raise NotLiteralError
            more = self.value(added, tree)
            value = {**value, **more} if isinstance(value, dict) else [*value, *more]
        return value


def _flat(node: ast.expr) -> list[ast.expr]:
    """Take sums and spreads apart, so that one unknown part leaves the others known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
        return [*_flat(node.left), *_flat(node.right)]
    if isinstance(node, _MANY):
        spread = [one.value for one in node.elts if isinstance(one, ast.Starred)]
        plain = [one for one in node.elts if not isinstance(one, ast.Starred)]
        return [ast.List(plain, ast.Load()), *(part for one in spread for part in _flat(one))]
    if isinstance(node, ast.Dict):
        spread = [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
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
