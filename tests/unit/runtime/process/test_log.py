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
    """A level is heard from its threshold on, on stderr, one line each."""
    for level in LEVELS:
        say(level, "text", threshold)
    out, err = capsys.readouterr()
    heard = LEVELS[LEVELS.index(threshold) :]
    assert err.splitlines() == [
        f"patchkit[{os.getpid()}] {level}: text" for level in heard
    ]
    assert out == ""


def test_no_stderr_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without stderr, with a closed one, or one that cannot encode, goes on."""
    closed = io.StringIO()
    closed.close()
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    for stream in (None, closed, ascii_only):
        monkeypatch.setattr(sys, "stderr", stream)
        say("error", "naïve")
