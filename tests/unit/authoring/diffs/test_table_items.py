"""Which items of a table differ between two texts."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.diffs.table_items import changed_items


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{'a': 1, 'b': 2}", "{'a': 1, 'b': 3}", ["Replace t['b'] 3"]),
        ("{'a': 1, 'b': 2}", "{'a': 1, 'c': f(), 'b': 2}", ["Add t['c'] f()"]),
        ("{1: {2: 3, 4: 5}}", "{1: {2: 3, 4: 6}}", ["Replace t[1][4] 6"]),
        ("{1: [2, 3]}", "{1: [2, 4]}", ["Replace t[1][1] 4"]),
        ("[1, 2, 3]", "[1, 5, 3]", ["Replace t[1] 5"]),
        ("{**A, 'a': 1, 'c': 1}", "{**A, 'a': 2, 'c': 1}", ["Replace t['a'] 2"]),
        ("{'a': [1], 'b': 2}", "{'a': [1, 2], 'b': 2}", ["Replace t['a'] [1, 2]"]),
    ],
)
def test_items_that_differ(old: str, new: str, expected: list[str]) -> None:
    found = changed_items(_expression(old), _expression(new))
    assert found is not None
    assert [
        f"{'Add' if item.is_new else 'Replace'} {item.target('t')} {ast.unparse(item.value)}"
        for item in found
    ] == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{'a': 1, 'b': 2}", "{'a': 1}"),
        ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1, 'c': 3}"),
        ("{'a': 1}", "{'a': 2}"),
        ("[1, 2]", "[1, 2, 3]"),
        ("[1, 2]", "[1, *x]"),
        ("{'a': 1, 'b': 1, **A}", "{'a': 2, 'b': 1, **A}"),
        ("{'a': 1, **A}", "{'a': 1, **A, **B}"),
        ("{'a': 1, KEY: 1}", "{'a': 1, KEY: 2}"),
        ("{'a': 1, 'b]': 1}", "{'a': 1, 'b]': 2}"),
        ("{'a': 1, 'a': 1, 'b': 2}", "{'a': 1, 'a': 1, 'b': 3}"),
        ("(1, 2)", "(1, 3)"),
        ("f()", "{'a': 1}"),
    ],
)
def test_tables_that_differ_otherwise(old: str, new: str) -> None:
    """No row removes or moves an item, or reaches one that something else may set."""
    assert not changed_items(_expression(old), _expression(new))


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
