from __future__ import annotations

import pytest

from patchkit.analysis.check.first_difference import first_difference

_TEXT = """\
def f(a):
    x = g(
        a,
        1,
    )
    if a:
        return x
    return a
"""


@pytest.mark.parametrize(
    ("old", "what", "details"),
    [
        (
            "if a:\n    return y\nreturn a",
            "line 2 of old differs",
            "found 'return x' in line 16, expected 'return y'",
        ),
        (
            # A line of its own is also one that goes on.
            "\nif a:\n    return x\nreturn a + 1",
            "line 3 of old differs",
            "found 'return a' in line 17, expected 'return a + 1'",
        ),
        (
            "if a:\n    return x\n    return a",
            "line 3 of old is indented otherwise",
            "found 'return a' in line 17, at the column of line 1 of old, expected it 4 columns"
            " right of it",
        ),
        (
            "if a:\n        return x\n    return a",
            "line 3 of old is indented otherwise",
            "found 'return a' in line 17, at the column of line 1 of old, expected it 4 columns"
            " right of it",
        ),
        (
            "x = g(a,\n  2)",
            "line 2 of old differs",
            "found '1,' in line 13, expected '2)'",
        ),
        (
            "return a\nreturn b",
            "line 2 of old differs",
            "found the end of the function, expected 'return b'",
        ),
    ],
)
def test_the_first_line_that_differs_is_named(
    old: str, what: str, details: str
) -> None:
    """Its lines are counted from the first of `old`, those of the function as in the file."""
    difference = first_difference(old, _TEXT, 10)
    assert difference is not None
    assert difference.what == what
    assert difference.details == details


def test_the_excerpt_begins_where_old_begins() -> None:
    """It has as many lines as `old`."""
    difference = first_difference("if a:\n    return y", _TEXT, 10)
    assert difference is not None
    assert difference.excerpt == "    15      if a:\n    16          return x"


@pytest.mark.parametrize("old", ["return b\nreturn a", "return b", "$", "# note", ""])
def test_where_the_first_line_is_absent_nothing_is_named(old: str) -> None:
    """Nor where `old` is no code."""
    assert first_difference(old, _TEXT, 1) is None
    assert first_difference("if a:\n    b", "x = 1\n", 1) is None
