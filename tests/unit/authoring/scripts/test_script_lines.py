"""The line of a script that a command stands in."""

from __future__ import annotations

import pytest

from patchkit.authoring.scripts.script_lines import line_of, line_with

LINES = [
    "sed -i 's/a/b/' $SP/lib.py",
    "sed -i 's/a long one/b/' $SP/lib.py",
    "true",
]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("sed -i s/a/b/ up/lib.py", 1),
        ("sed -i s/a long one/b/ up/lib.py", 2),
        ("patch 'x", 1),
        ("patch", 1),
    ],
)
def test_it_has_most_of_the_words(command: str, line: int) -> None:
    """The first line is told where nothing is known."""
    assert line_of(command, LINES, 1) == line


def test_lines_before_the_step_do_not_count() -> None:
    """A step of a Dockerfile begins at its own line."""
    assert line_of("sed -i s/a/b/ up/lib.py", LINES, 2) == 2


def test_a_word_is_no_part_of_another() -> None:
    """`fit.diff` is not in a line with `unfit.diff`."""
    lines = ["patch -i unfit.diff", "patch -i fit.diff"]
    assert line_of("patch -i fit.diff", lines, 1) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [("a long one", 2), ("x\na long one\n", 2), ("sed -i", 9), ("gone", 9), ("", 9)],
)
def test_an_edit_is_in_the_only_line_with_its_text(text: str, line: int) -> None:
    """Its longest line counts; where several lines have it, another number is told."""
    assert line_with(text, LINES, 9) == line
