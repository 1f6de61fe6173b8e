"""Values that are in the text: literals, and arithmetic on numbers."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.source.literals import literal_value


def expression(text: str) -> ast.expr:
    """The syntax tree of an expression."""
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("512 * 1024 * 1024", 512 * 1024 * 1024),
        ("-(1 << 4)", -16),
        ("(1 + 1, [2 ** 3], 'a')", (2, [8], "a")),
        ("7 // 2 + 7 % 4 - 1 / 2", 5.5),
        ("LIMIT * 2", 6),
        ("{'a': 1}", {"a": 1}),
    ],
)
def test_arithmetic_is_done(text: str, value: object) -> None:
    values = {"LIMIT": expression("1 + 2")}
    assert literal_value(expression(text), values) == value


@pytest.mark.parametrize(
    "text",
    [
        "f()",
        "OTHER",
        "LIMIT",
        "1 / 0",
        "2 ** 1000",
        "1 << 1000",
        "1 << -1",
        "'a' * 1000000000",
        "1e308 * 10",
        "(-8) ** 0.5",
        "1 | 2",
    ],
)
def test_what_is_not_in_the_text_is_no_literal(text: str) -> None:
    """Nothing that fills the memory is evaluated, nor a name that is made from itself."""
    values = {"LIMIT": expression("LIMIT + 1")}
    with pytest.raises(ValueError, match=r"."):
        literal_value(expression(text), values)
