"""docs/tutorial.md, word by word: an empty environment first, then one with a real vLLM.

Takes about 60 s.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import folders
import overlay
import page_session
import pytest
from patchkit_lab import scenario
from workflow_machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

PAGE = folders.REPOSITORY / "docs" / "tutorial.md"


def test_the_tutorial(model: Path, tmp_path: Path) -> None:
    """A wheel of patchkit stands for the one on the index; MODEL is a tiny one."""
    for folder in ("machine", "project", "tmp"):
        (tmp_path / folder).mkdir()
    machine = Machine.make(tmp_path / "machine")
    python = overlay.make(tmp_path / "with-vllm", pip=True)
    env = {
        **{
            name: value
            for name, value in machine.environ.items()
            if name != "PYTHONPATH"
        },
        **scenario.CPU,
        "VLLM_PLUGINS": "patchkit",
        "MODEL": str(model),
        # The newest run that `status` finds is this one, whatever runs beside it.
        "TMPDIR": str(tmp_path / "tmp"),
        "HOME": os.environ["HOME"],
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    }
    page_session.run(PAGE.read_text("utf-8"), tmp_path / "project", env)


@pytest.mark.parametrize(
    ("expected", "found"),
    [("one\n…\ntwo …", "one\n1\n\n2\ntwo three"), ("a  b", "a b\n")],
)
def test_what_a_page_may_leave_out(expected: str, found: str) -> None:
    """An ellipsis is anything, and blanks are one; all else is as it stands."""
    assert page_session.matches(expected, found)
    assert not page_session.matches(expected.replace("o", "x").replace("a", "x"), found)
