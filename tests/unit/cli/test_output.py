"""What is shown on stderr while a command works."""

from __future__ import annotations

import io
import sys

import pytest

from patchkit.cli.output import busy, say


class Terminal(io.StringIO):
    """Keeps what a terminal would show."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_a_terminal_shows_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is there while the work lasts."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with busy("adopting my_plugin"):
        pass
    assert "adopting my_plugin …" in shown.getvalue()


def test_a_file_gets_no_such_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a process without stderr."""
    shown = io.StringIO()
    for stream in (shown, None):
        monkeypatch.setattr(sys, "stderr", stream)
        with busy("adopting my_plugin"):
            pass
    assert shown.getvalue() == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("found 'https://me:cr/et@host/up.whl'", "found 'https://…@host/…'"),
        ("found https:/me:cret@host/up.whl", "found https://…@host/…"),
        ("git+ssh://cret@host is wrong", "git+ssh://…@host is wrong"),
        ("file:///home/me@work is wrong", "file:///home/me@work is wrong"),
        ("see https://host/a, and b@c", "see https://host/…, and b@c"),
        ("https://host/simple/up/?key=cret", "https://host/simple/…/?…"),
        (
            "served at http://localhost:90/metrics",
            "served at http://localhost:90/metrics",
        ),
        ("\x1b[31mred\x00\nline", "\\x1b[31mred\\x00 line"),
    ],
)
def test_a_message_is_one_line_without_a_password(
    capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    """Nor does it drive a terminal, whatever it quotes."""
    say(text)
    assert capsys.readouterr().err == f"patchkit: {line}\n"


def test_the_middle_of_a_very_long_message_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """How it begins, and what is expected at its end, remain."""
    say("found '" + "x" * 100_000 + "', expected a name")
    line = capsys.readouterr().err
    assert line.startswith("patchkit: found 'xxx")
    assert line.endswith("x', expected a name\n")
    assert len(line) < 2_000
