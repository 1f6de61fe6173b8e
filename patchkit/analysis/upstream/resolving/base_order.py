"""Puts the bases of a class in the order in which Python looks through them."""

import ast
from collections import Counter
from collections.abc import Sequence

from patchkit.analysis.upstream.resolving.values import Kind, Value

_GENERIC = frozenset({"typing.Generic", "typing_extensions.Generic"})
_PROTOCOL = frozenset({"typing.Protocol", "typing_extensions.Protocol"})
_TYPING = ("typing.", "typing_extensions.")


def without_generic(bases: Sequence[tuple[ast.expr, Value]]) -> list[Value]:
    """Return the bases that Python gives a class for those that are written down.

    `class C(Generic[T], Base[T])` derives from `Base` alone, which has `Generic` among its own,
    and `class C(Generic[T], Protocol)` from `Protocol`.

    Args:
        bases: Each base as it is written, and what it is.
    """
    kept: list[Value] = []
    for index, (node, base) in enumerate(bases):
        is_generic = base.dotted in _GENERIC and isinstance(node, ast.Subscript)
        later = bases[index + 1 :]
        if not is_generic or not any(_stands_for_generic(*other) for other in later):
            kept.append(base)
    return kept


def _stands_for_generic(node: ast.expr, base: Value) -> bool:
    """Whether a base has `Generic` among its own: `Base[T]`, `typing.Mapping[K, V]`, `Protocol`."""
    if not isinstance(node, ast.Subscript):
        return base.dotted in _PROTOCOL
    return base.has_class_statement or base.dotted.startswith(_TYPING)


def merged_orders(orders: list[list[Value]]) -> list[Value] | None:
    """Merge the orders of bases by Python's C3 algorithm.

    Args:
        orders: The order of each base, and that in which the class names them.

    Returns:
        None if they contradict each other.
    """
    merged: list[Value] = []
    # Each order from its end, so that its head is the last, and is taken off at no cost.
    remaining = [
        [(identity(value), value) for value in reversed(order)] for order in orders
    ]
    # How many orders have a class behind another one.
    behind = Counter(key for order in remaining for key, _ in order[:-1])
    remaining = [order for order in remaining if order]
    while remaining:
        heads = [order[-1] for order in remaining]
        free = [(key, value) for key, value in heads if not behind[key]]
        if not free:
            return None
        key, value = free[0]
        merged.append(value)
        for order in remaining:
            head, _ = order[-1]
            if head != key:
                continue
            order.pop()
            if order:
                following, _ = order[-1]
                behind[following] -= 1
        remaining = [order for order in remaining if order]
    return merged


def identity(value: Value) -> object:
    """Return a key that is the same for all values that stand for the same class.

    Args:
        value: The class.
    """
    if value.has_class_statement:
        return id(value.class_statement)
    if value.kind is Kind.OUTSIDE:
        return value.dotted
    return id(value)
