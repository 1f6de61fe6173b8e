from __future__ import annotations

import re

from report.reports import screen, shown

from patchkit.report.diff_view import print_diff

OLD = "def f(a):\n    b = a\n    return b\n"
NEW = "def f(a):\n    b = a + 1\n    return b\n"


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_terminal_gets_colors_and_no_stranger_s_sequences() -> None:
    """Texts are colored as Python; what a text holds for the terminal is spelt out."""
    console = screen(80, terminal=True)
    print_diff("m:f", OLD, NEW.replace("1", "'\x1b]0;title\x07'"), console)
    assert "\x1b[" in shown(console)
    assert "\x1b]" not in shown(console)
    assert "\\x1b]0;title" in plain(shown(console))


def test_blank_lines_at_the_ends_keep_their_numbers() -> None:
    """A text that begins and ends with blank lines is shown line by line."""
    console = screen(140, terminal=True)
    print_diff("m:f", f"\n\n{OLD}\n\n", f"\n\n{NEW}\n\n", console)
    assert re.search(r"4 +(\S* *)-? +b = a", plain(shown(console)))
