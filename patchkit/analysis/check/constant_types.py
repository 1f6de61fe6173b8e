"""Finds constants that a Replace gives another type than upstream's have."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from numbers import Number

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.resolving.values import Value
from patchkit.core.rows.declaration import Replace, Row
from patchkit.core.rows.target import Target

_TYPES: dict[type, str] = {Number: "a number", str: "a str", bytes: "bytes"}
"""Types of literals, in words. All numbers are alike, and None may stand for any type."""
_DECLARED = {"bool", "bytes", "float", "int", "str"}
"""Annotations that allow one of these types alone."""


def other_type(
    change: Replace, release: CheckedRelease, row: Row, pack: CheckedRelease
) -> Iterator[Fault]:
    """Compare the type of a constant of the body with that of upstream's.

    Args:
        change: A Replace of a value by a value.
        release: The release.
        row: The row.
        pack: The pack of the row.

    Yields:
        A fault if both values are spelled out, and their types differ.
    """
    found = type_of(Target(row.body, change.by), pack)
    if not found:
        return
    expected = type_of(change.place, release)
    if expected not in ("", found):
        message = (
            f"found {change.by} ({found}), expected {expected}, as upstream has it"
        )
        fix = "write a value of that type; unrelated=True allows another"
        yield Fault(codes.TYPE_CHANGED, message, fix, change.by)


def type_of(target: Target, release: CheckedRelease) -> str:
    """Return the type of a constant, in words; '' if it is not known, or may be another.

    Args:
        target: What may be a constant: a number, a string, or bytes.
        release: The release, or the pack.
    """
    values = release.resolver.resolve(target).variants
    types = set(map(_type_of_literal, values))
    if len(types) == 1:
        return types.pop()
    return ""


def _type_of_literal(value: Value) -> str:
    """Return the type of a literal, in words; '' for other code, or a wider annotation."""
    if value.expression is None:
        return ""
    annotations = [
        ast.unparse(node.annotation)
        for node in value.nodes
        if isinstance(node, ast.AnnAssign)
    ]
    if not set(annotations) <= _DECLARED:
        return ""
    with suppress(ValueError, TypeError):
        literal = ast.literal_eval(value.expression)
        for known, words in _TYPES.items():
            if isinstance(literal, known):
                return words
    return ""
