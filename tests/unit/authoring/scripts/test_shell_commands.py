"""Lines of a shell, as the commands that they consist of."""

from __future__ import annotations

import pytest

from patchkit.authoring.scripts.shell_commands import (
    ShellCommand,
    is_answered,
    split_commands,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a && b; c\nd", ["a", "b", "c", "d"]),
        ("a | b || c && d", ["a | b || c", "d"]),
        ("a 'x && y' \"p; q\" \\; r", ["a 'x && y' \"p; q\" \\; r"]),
        ("sed s/a/b/ $(f 'x; y' && g)/z; h", ["sed s/a/b/ $(f 'x; y' && g)/z", "h"]),
        ('sed "$(p -c "import x; y")/z"; h', ['sed "$(p -c "import x; y")/z"', "h"]),
        ("a `b; c`; d", ["a `b; c`", "d"]),
        ("(cd x && a); b", ["(cd x && a)", "b"]),
        (
            "if a; then b; fi && for x in 1 2; do c; done; d",
            ["if a; then b; fi", "for x in 1 2; do c; done", "d"],
        ),
        (
            "while a; do if b; then c; fi; done; d",
            [
                "while a; do if b; then c; fi; done",
                "d",
            ],
        ),
        ("echo if; echo done", ["echo if", "echo done"]),
        ("f <<EOF\na; b\nEOF\nc", ["f <<EOF\na; b\nEOF", "c"]),
        ("f <<-'E' | g\na\n\tE\nc", ["f <<-'E' | g\na\n\tE", "c"]),
        ("f <<EOF\na", ["f <<EOF\na"]),
        ("f <<< x; g", ["f <<< x", "g"]),
        ("a # b; c\nd", ["a # b; c", "d"]),
        ("a; ; b;", ["a", "b"]),
        ("case $x in a) b;; esac; c", ["case $x in a) b;; esac", "c"]),
        ("a 'open", ["a 'open"]),
        ("", []),
    ],
)
def test_a_text_is_split_between_its_own_commands(
    text: str, expected: list[str]
) -> None:
    """Quoted texts, groups, blocks and documents stay in one piece."""
    assert [command.text for command in split_commands(text)] == expected


def test_the_separator_is_the_one_before() -> None:
    separators = [command.separator for command in split_commands("a && b; c\nd")]
    assert separators == ["", "&&", ";", "\n"]


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("sed -i x y", "sed"),
        ("sudo sed -i x y", "sed"),
        ("A=1 B='x y' /usr/bin/sed -i x", "sed"),
        ("A=$(f x)", ""),
        ("A=1", ""),
        ("(cd x && a)", "("),
        ("if a; then b; fi", "if"),
        ("! grep x", "grep"),
    ],
)
def test_the_program_is_what_is_run(text: str, program: str) -> None:
    """Assignments before it, and programs that only start it, do not count."""
    assert ShellCommand("", text).program == program


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sed A || sed B", True),
        ("sed A 2>&1 || sed B", True),
        ("sed A || { x; sed B; }", True),
        ("sed A || false || sed B", True),
        ("if ! sed A; then sed B; fi", True),
        ("if sed A\nthen\n  x\nelse\n  sed B\nfi", True),
        ("if sed A; then x; elif sed B; then x; fi", True),
        ("f() {\n  sed A || sed B\n}", True),
        ("sed A; sed B", False),
        ("sed A && sed B", False),
        ("sed A || true\nsed B", False),
        ("sed A || { x; }; sed B", False),
        ("f() {\n  sed A || true\n  sed B\n}", False),
        ("if ! sed A; then x; fi\nsed B", False),
        ("sed B || sed A", False),
        ("sed A", False),
        ("", False),
    ],
)
def test_what_is_run_for_the_case_that_a_command_fails(
    text: str, *, expected: bool
) -> None:
    """It stands behind `||`, or in the rest of the `if`."""
    assert is_answered(text, "sed A", ["sed B"]) is expected
    assert is_answered(text, "sed A", []) is False
