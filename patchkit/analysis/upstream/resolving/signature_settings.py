"""Tells which methods of a class code gives another signature, as by `cls.run.__signature__ = …`.

Such a change stands among the attributes that the code sets, under a dotted name:
`run.__signature__`.
"""

import ast
from collections.abc import Collection, Iterable, Mapping

from patchkit.analysis.upstream.resolving.syntax import dotted

SIGNATURE_ATTRIBUTES = frozenset(
    {
        "__code__",
        "__defaults__",
        "__kwdefaults__",
        "__signature__",
        "__text_signature__",
        "__wrapped__",
    }
)
"""Attributes of a function from which its signature is read."""
_ANY = "*"
"""Stands for a method whose name the source does not tell."""


def signatures_set(nodes: Iterable[ast.AST], others: Collection[str]) -> set[str]:
    """List the methods to which code gives another signature.

    Args:
        nodes: The expressions of the code.
        others: Names of what is no method of the class: the class itself, and functions that the
            code makes.

    Returns:
        Such as `run.__signature__`; `*.__signature__` for a method that the source does not name.
    """
    found: set[str] = set()
    for node in nodes:
        target, attribute = _attribute_set(node)
        if target is None or attribute not in SIGNATURE_ATTRIBUTES:
            continue
        if isinstance(target, ast.Attribute):
            found.add(f"{target.attr}.{attribute}")
        elif dotted(target) not in others:
            found.add(f"{_ANY}.{attribute}")
    return found


def _attribute_set(node: ast.AST) -> tuple[ast.expr | None, object]:
    """Return what an expression sets an attribute on, and its name; None for any other."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return node.value, node.attr
    if isinstance(node, ast.Call) and dotted(node.func) in ("setattr", "delattr"):
        target, name = [*node.args[:2], None, None][:2]
        return target, getattr(name, "value", None)
    return None, None


def setter_of_signature(setters: Mapping[str, str], method: str) -> str:
    """Say what gives a method another signature.

    Args:
        setters: The attributes that are set on its class, each with the words for what sets it.
        method: The name of the method.

    Returns:
        The words for the report; '' if nothing does.
    """
    for attribute, setter in setters.items():
        name, dot, of_function = attribute.partition(".")
        if dot and name in (method, _ANY):
            return f"{setter} sets {of_function} of {method}"
    return ""
