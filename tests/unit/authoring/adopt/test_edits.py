"""Edits that lead from one text of a function to another."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.authoring.adopt.edits import edits
from patchkit.core.text.rewriting import FunctionText, TextEdit, rewrite

F = "def f(a, b=1):\n    x = a\n    y = b\n    return x + y\n"


def made(old: str, new: str) -> str | None:
    found = edits(old, new)
    if found is None:
        return None
    for one in found:
        old = rewrite(FunctionText(old), one).text
    return old


def dump(text: str) -> str:
    """Without `pass`, which takes the place of what is deleted."""
    return ast.dump(ast.parse(text)).replace("Pass(), ", "")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("y = b", "y = b * 2"), [("y = b", "y = b * 2")]),
        (("    y = b\n", ""), [("y = b", "")]),
        (("    y = b\n", "    y = b\n    y += 1\n"), [("y = b", "y = b\ny += 1")]),
        (("b=1", "b=2"), [("def f(a, b=1):", "def f(a, b=2):")]),
        (("x = a", "x = a  # as it is"), []),
    ],
)
def test_few_lines_name_their_place(
    change: tuple[str, str], expected: list[tuple[str, str]]
) -> None:
    found = edits(F, F.replace(*change))
    assert found == [TextEdit(*one) for one in expected]


def test_lines_that_occur_twice_take_others_with_them() -> None:
    old = "def f(a):\n    if a:\n        g()\n    h()\n    if a:\n        g()\n"
    new = "def f(a):\n    if a:\n        g()\n    h()\n    if a:\n        g(1)\n"
    found = edits(old, new)
    assert found is not None
    assert found[0].old.startswith("h()")
    assert ast.dump(ast.parse(made(old, new) or "")) == ast.dump(ast.parse(new))


def test_decorators_have_run_already() -> None:
    assert edits(F, f"@other\n{F}") is None


LINES = st.lists(
    st.sampled_from(
        [
            "x = 1",
            "y = x",
            "g(x)",
            "# a word",
            "z = '''\n  a\n'''",
            "if x: y = 2",
            "h(x,\n  y)",
        ]
    ),
    min_size=1,
    max_size=12,
)


@given(LINES, LINES)
def test_what_is_made_is_the_new_function(old: list[str], new: list[str]) -> None:
    """Held against the parser: whatever the statements, however often they occur."""
    texts = [
        "def f(x):\n" + "".join(f"    {one}\n" for one in some) + "    return x\n"
        for some in (old, new)
    ]
    result = made(*texts)
    assert result is not None
    assert dump(result) == dump(texts[1])
