from __future__ import annotations

import io
import os
import sys

import pytest

from patchkit.runtime.process.journal import LEVELS, say


@pytest.mark.parametrize("threshold", LEVELS)
def test_only_what_is_loud_enough_is_heard(
    threshold: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message is printed on stderr, in one line, from the threshold of its level on."""
    for level in LEVELS:
        say(level, "text", threshold)
    out, err = capsys.readouterr()
    heard = LEVELS[LEVELS.index(threshold) :]
    assert err.splitlines() == [
        f"patchkit[{os.getpid()}] {level}: text" for level in heard
    ]
    assert out == ""


def test_no_stderr_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised where stderr is missing, closed, or cannot encode the message."""
    closed = io.StringIO()
    closed.close()
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    for stream in (None, closed, ascii_only):
        monkeypatch.setattr(sys, "stderr", stream)
        say("error", "naïve")
