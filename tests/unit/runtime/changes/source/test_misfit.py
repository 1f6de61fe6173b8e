"""An `Edit` whose lines are not indented as those that they replace says so, with the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.text.misfits import misindented
from patchkit.core.text.rewriting import (
    FunctionText,
    MalformedEditError,
    TextEdit,
    rewrite,
)
from patchkit.errors import TargetError
from runtime.changes.source.edits import Desk

if TYPE_CHECKING:
    from collections.abc import Sequence

FUNCTION = """
    def total(items, log):
        total = 0
        for item in items:
            if item:
                total += item
        return total
"""

MISFITS = [
    # The first line as a fragment, the second as in the file.
    ("total += item", "total += item\n            log(item)", (2, 12, 0, 24)),
    # A header with the first line of its block.
    (
        "for item in items:",
        "for item in items:\n        log(item)",
        (2, 8, 0, 12),
    ),
    # A line too far to the left, behind lines that fit.
    (
        "        if item:\n            total += item",
        "        if item:\n            total += item\n          log(item)",
        (3, 10, 8, 10),
    ),
    # Below a line that opens a block, and not in it.
    (
        "total = 0",
        "\n    total = 0\n    if log:\n          log(1)\n      log(2)",
        (5, 6, 4, 6),
    ),
    # Further left than the first line.
    ("    total = 0", "    total = 0\n  log(0)", (2, 2, 4, 2)),
]


@pytest.mark.parametrize(("old", "new", "found"), MISFITS)
def test_the_error_says_which_line_has_which_indentation(
    old: str, new: str, found: Sequence[int]
) -> None:
    """The line of `new`, how far it is from the first one, and the column where that would be."""
    number, indent, first, moved = found
    side = "right" if indent > first else "left"
    with pytest.raises(TargetError) as caught:
        Desk(FUNCTION).prepare("total", old, new)
    assert str(caught.value) == (
        f"Edit('upstream:total'): line {number} of new fits no block: it begins "
        f"{abs(indent - first)} columns {side} of the first line, at column {moved} of the function"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total += item", "total += item\nlog(item)"),
        ("total += item", "total += item\nlog(\n      item,\n  1)"),
        ("total += item", "total += item\nlog('''\n  a\n''')"),
        ("for item in items:", "for item in items:\n    log(item)"),
        ("if item:\n    total += item", "if item:\n  total += item\nelse:\n  log(0)"),
    ],
)
def test_lines_that_fit_are_taken(old: str, new: str) -> None:
    """Lines of one block, in brackets and strings, and in blocks that `new` opens, fit."""
    Desk(FUNCTION).edit("total", old, new)


def test_a_first_line_that_opens_no_block_is_left_to_the_compiler() -> None:
    """Where no further line is at fault, the error is Python's own."""
    with pytest.raises(TargetError, match="does not compile: unexpected indent"):
        Desk(FUNCTION).prepare("total", "for item in items:", "log(0)\nlog(1)")


def test_every_occurrence_is_looked_at() -> None:
    """With a count, the place that does not fit is the one that the error tells of."""
    function = FunctionText("def f(x):\n    if x:\n        g()\n    g()\n")
    edit = TextEdit("g()", "g()\n    h()", 2)
    with pytest.raises(MalformedEditError, match="at column 12 of the function"):
        rewrite(function, edit)


_LINE = st.tuples(
    st.integers(min_value=1, max_value=6),
    st.sampled_from(["x = 1", "if x:", "x = [\n1,\n  2]", "while x:", "'''\n '''"]),
)


_NO_BLOCK_AT_ALL = -1
"""Python misses a block in another line first."""


def _refused_by_python(text: str) -> int | None:
    """The line whose indentation the compiler refuses."""
    try:
        compile(text, "f.py", "exec")
    except IndentationError as error:
        if "expected an indented block" in error.msg:
            return _NO_BLOCK_AT_ALL
        return error.lineno
    return None


@given(st.lists(_LINE, min_size=1, max_size=8))
def test_a_line_is_misindented_where_python_says_so(
    lines: list[tuple[int, str]],
) -> None:
    """The first line in no block is the one that the compiler names, or there is none."""
    text = "def f(x):\n" + "".join(f"{' ' * indent}{code}\n" for indent, code in lines)
    found = misindented(FunctionText(text).tokens)
    line = None if found is None else text.count("\n", 0, found.start) + 1
    refused = _refused_by_python(text)
    if refused != _NO_BLOCK_AT_ALL:
        assert line == refused
