from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.text import Text

from cli.report.reports import screen, shown
from patchkit.cli.report.console import console, print_diff_lines, print_lines

if TYPE_CHECKING:
    from rich.console import Console

PATH = "/opt/somewhere/very/deep/environments/vllm-0.32.0/lib/python3.12/site-packages/patchkit"
LINES = [
    (["topic"], ""),
    (["  ok", "short"], "a few words that need no second line"),
    (["  bad", "a-patch-with-a-long-name"], f"found {PATH} and some words behind it"),
    (["  ", "file"], PATH),
]


def printed(out: Console, *lines: tuple[list[str], str]) -> list[str]:
    """Print lines of cells and words, and return the lines that are shown."""
    print_lines(out, [([*map(Text, cells)], words) for cells, words in lines])
    return shown(out).splitlines()


@pytest.mark.parametrize("width", [40, 80, 160, 10_000])
def test_a_path_is_never_broken(width: int) -> None:
    """A path stays whole, however narrow the terminal; other lines keep to its width."""
    lines = printed(screen(width), *LINES)
    assert sum(PATH in line for line in lines) == 2
    assert max(len(line) for line in lines if PATH not in line) <= max(width, 40)


def test_messages_begin_in_one_column() -> None:
    """Messages begin in one column, behind the widest mark and subject."""
    lines = printed(screen(160), *LINES[:3])
    assert lines[0] == "topic"
    assert lines[1].index("a few") == lines[2].index("found") == 33


def test_a_subject_that_leaves_no_room_gets_a_line_of_its_own() -> None:
    """Where a subject leaves no room for its message, the message begins on the next line."""
    lines = printed(screen(50), *LINES[1:3])
    assert "  bad  a-patch-with-a-long-name" in lines


def test_a_diff_drives_no_terminal() -> None:
    """Escape sequences of a diff are spelt out on a terminal; a pipe gets them as they are."""
    lines = ["--- a", "+++ b", "@@ -1 +1 @@", "-old", "+'\x1b]0;title\x07'"]
    terminal, pipe = screen(80, terminal=True), screen(80)
    for out in (terminal, pipe):
        print_diff_lines(lines, out)
    assert "\x1b[32m" in shown(terminal)
    assert "\x1b]" not in shown(terminal)
    assert "\\x1b]0;title" in shown(terminal)
    assert "\x1b]0;title" in shown(pipe)


def test_a_text_of_a_pack_drives_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its escape sequences are spelt out, also in the cells of a table; those of styles stay."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    cells = [Text("a", style="ok"), Text("why \x1b]0;title\x07")]
    print_lines(console(), [(cells, "")])
    printed = capsys.readouterr().out
    assert "\x1b[32m" in printed
    assert "\x1b]" not in printed
    assert "\\x1b]0;title" in printed
