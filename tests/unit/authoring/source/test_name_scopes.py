"""What names and expressions of a pile's module may stand for."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.source.name_scopes import NameScope


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("C", ["up.lib.C"]),
        ("C.m", ["up.lib.C.m"]),
        ("C if old else D", ["up.lib.C", "up.lib.D"]),
        ("(C if old else D).m", ["up.lib.C.m", "up.lib.D.m"]),
        ("(C, D)", ["up.lib.C", "up.lib.D"]),
        ("unknown", []),
        ("C if old else unknown", ["up.lib.C"]),
    ],
)
def test_an_expression_stands_for_each_of_its_meanings(
    expression: str, names: list[str]
) -> None:
    """Both sides of a condition count, in their order; a name that means nothing adds nothing."""
    scope = NameScope({"C": ["up.lib.C"], "D": ["up.lib.D"]})
    node = ast.parse(expression, mode="eval").body
    assert scope.dotted_names_of(node) == names
