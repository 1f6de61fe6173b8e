"""What is shown on stderr while a command works."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from patchkit.cli.output import busy

if TYPE_CHECKING:
    import pytest


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
