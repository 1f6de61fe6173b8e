"""Edits that lead from one text of a function to another."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.authoring.source import edits as edits_module
from patchkit.authoring.source.edits import edits
from patchkit.core.text.rewriting import FunctionText, TextEdit, rewrite

F = "def f(a, b=1):\n    x = a\n    y = b\n    return x + y\n"


def edited(old: str, new: str) -> str | None:
    """Find the edits from one text to the other, and make them one by one."""
    text_edits = edits(old, new)
    if text_edits is None:
        return None
    text = old
    for text_edit in text_edits:
        text = rewrite(FunctionText(text), text_edit).text
    return text


def dump(text: str) -> str:
    """Dump a syntax tree without `pass`, which takes the place of what is deleted."""
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
def test_an_edit_names_only_the_lines_that_change(
    change: tuple[str, str], expected: list[tuple[str, str]]
) -> None:
    """Where these lines occur once, the edit has no others; a comment is no change."""
    text_edits = edits(F, F.replace(*change))
    assert text_edits == [TextEdit(*texts) for texts in expected]


def test_lines_that_occur_twice_take_others_with_them() -> None:
    old = "def f(a):\n    if a:\n        g()\n    h()\n    if a:\n        g()\n"
    new = "def f(a):\n    if a:\n        g()\n    h()\n    if a:\n        g(1)\n"
    text_edits = edits(old, new)
    assert text_edits is not None
    assert text_edits[0].old.startswith("h()")
    assert ast.dump(ast.parse(edited(old, new) or "")) == ast.dump(ast.parse(new))


def test_a_change_of_decorators_has_no_edits() -> None:
    """The decorators have run already when a function is edited."""
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


def function_of(statements: list[str]) -> str:
    lines = [f"    {statement}\n" for statement in statements]
    return "def f(x):\n" + "".join(lines) + "    return x\n"


@given(LINES, LINES)
def test_edits_make_the_new_function(old: list[str], new: list[str]) -> None:
    """The parser reads the same, whatever the statements and however often they occur."""
    old_function, new_function = function_of(old), function_of(new)
    result = edited(old_function, new_function)
    assert result is not None
    assert dump(result) == dump(new_function)


def test_a_long_text_is_hashed_and_rewritten_no_more_than_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Thousands of lines that are added take a second each time.

    Once are hashed: the old text, what is expected, what the Edit makes of it, and the new one.
    """
    counts = dict.fromkeys(("syntax_hash", "rewrite"), 0)
    for name in counts:
        function = getattr(edits_module, name)

        def counted(*texts: Any, name: str = name, function: Any = function) -> Any:
            counts[name] += 1
            return function(*texts)

        monkeypatch.setattr(edits_module, name, counted)
    assert edits(F, F.replace("    y = b\n", "    y = b\n" + "    y += 1\n" * 9))
    assert counts == {"syntax_hash": 4, "rewrite": 1}
