"""Tells which attributes a class has that a call of `collections.namedtuple` makes."""

import ast

from patchkit.analysis.upstream.resolving.literals import literal_text
from patchkit.analysis.upstream.resolving.machinery import OF_TYPE, SET_BY_PYTHON
from patchkit.analysis.upstream.resolving.outside import has_member
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    absent,
    undecided,
)

_GENERATED = frozenset(
    {
        "__getnewargs__",
        "__match_args__",
        "__new__",
        "__repr__",
        "__slots__",
        "_asdict",
        "_field_defaults",
        "_fields",
        "_make",
        "_replace",
    }
)
"""What each named tuple has beside its fields, in every Python."""


def named_tuple_member(lookup: Lookup, value: Value, name: str) -> Value | None:
    """Return an attribute of a class that a call made.

    Args:
        lookup: The release.
        value: The class.
        name: The name of the attribute.

    Returns:
        None if the class is no named tuple, or its fields are not spelled out in the call.
    """
    if value.dotted != "collections.namedtuple" or value.tree is None:
        return None
    call = value.expression
    if not isinstance(call, ast.Call):
        return None
    fields = _fields(lookup, call, Scope(value.tree))
    if fields is None:
        return None
    qualname = f"{value.qualname}.{name}"
    made = Value("present", Kind.GENERATED, value.module, qualname, value.tree)
    if name in fields:
        return Value(
            "present", Kind.FIELD, value.module, qualname, value.tree, value.nodes
        )
    if name in _GENERATED:
        return made.unsure("collections.namedtuple generates it")
    if has_member("builtins.tuple", name):
        dotted = f"builtins.tuple.{name}"
        return Value(
            "present", Kind.OUTSIDE, "builtins", f"tuple.{name}", dotted=dotted
        )
    if name in OF_TYPE or name in SET_BY_PYTHON or name.startswith("__"):
        return undecided(f"{value.qualname} is made by {value.dotted}(…)")
    return absent(f"the named tuple {value.module}:{value.qualname} has no {name!r}")


def _fields(lookup: Lookup, call: ast.Call, scope: Scope) -> set[str] | None:
    """Return the fields in `namedtuple("P", "x y")` or `namedtuple("P", ["x", "y"])`."""
    # `rename=True` gives other names to those that are no identifiers.
    if len(call.args) != 2 or any(one.arg != "defaults" for one in call.keywords):
        return None
    listed = call.args[1]
    if isinstance(listed, (ast.List, ast.Tuple)):
        names = [
            element.value
            for element in listed.elts
            if isinstance(element, ast.Constant) and isinstance(element.value, str)
        ]
        return set(names) if len(names) == len(listed.elts) else None
    text = literal_text(lookup.evaluate(listed, scope))
    if text is None:
        return None
    return set(text.replace(",", " ").split())
