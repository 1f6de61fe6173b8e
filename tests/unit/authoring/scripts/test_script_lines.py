"""The line of a script that a command stands in."""

from __future__ import annotations

import pytest

from patchkit.authoring.scripts.script_lines import line_of

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
