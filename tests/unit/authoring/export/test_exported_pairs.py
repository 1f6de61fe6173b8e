"""Names that one statement sets together, in a diff."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import World, row, world

from authoring.export.exporting import applied, export, here

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]


PAIRS = """\
'''Names that are set together.'''

HERE, THERE = 1, 2  # places
LONG, SHORT = (
    # as they came
    "long",
    "short",
)
QUOTIENT, REMAINDER = divmod(7, 2)
FIRST = LAST = 0
TWICE = 1
TWICE, ONCE = 2, 1


class Config:
    width, height = 3, 4
"""
PAIRS_BODY = """\
from up.lib import THERE

LOW = 7
HIGH = THERE + 1
CHOSEN = 7 if LOW else 8
OTHER = (yes := 9)
SWAPPED, BACK = BACK, 1


def helper():
    return LOW


def used():
    return helper() + HIGH + THERE
"""


@pytest.mark.parametrize(
    ("change", "removed", "added"),
    [
        (
            "Replace('up.lib:HERE', by='LOW')",
            "HERE, THERE = 1, 2",
            "HERE, THERE = 7, 2  # places",
        ),
        ("Replace('up.lib:SHORT', by='LOW')", '    "short",', "    7,"),
        ("Replace('up.lib:Config.height', by='LOW')", "", "    width, height = 3, 7"),
        ("Replace('up.lib:QUOTIENT', by='LOW')", None, "QUOTIENT = 7"),
        ("Replace('up.lib:LAST', by='LOW')", None, "LAST = 7"),
        ("Replace('up.lib:HERE', by='HIGH')", None, "HERE = THERE + 1"),
        ("Replace('up.lib:HERE', by='CHOSEN')", "", "HERE, THERE = 7 if LOW else 8, 2"),
        ("Replace('up.lib:HERE', by='OTHER')", "", "HERE, THERE = (yes := 9), 2"),
        ("Replace('up.lib:REMAINDER', by='used')", None, "def REMAINDER():"),
    ],
)
def test_one_of_several_names_that_are_set_together(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    removed: str | None,
    added: str,
) -> None:
    """It gets its new value in its place or on the next line; the others keep theirs."""
    write_wheels(here, {"1.0": {"lib": PAIRS}})
    world.pack(row("one", "patch_lib", change), patch_lib=PAIRS_BODY)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    lines = diff.splitlines()
    assert any(line.startswith(f"+{added}") for line in lines)
    removed_lines = [
        line for line in lines if line.startswith("-") and not line.startswith("---")
    ]
    if removed is None:
        assert removed_lines == []
    else:
        (removed_line,) = removed_lines
        assert removed_line.startswith(f"-{removed}")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            "Replace('up.lib:TWICE', by='LOW')",
            "more than one statement of up/lib.py sets TWICE",
        ),
        ("Replace('up.lib:HERE', by='SWAPPED')", "alone defines SWAPPED"),
    ],
)
def test_names_that_cannot_be_set_apart_are_listed(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    reason: str,
) -> None:
    """Nothing is written of a name that is set twice, or of values that depend on one another."""
    write_wheels(here, {"1.0": {"lib": PAIRS}})
    world.pack(row("one", "patch_lib", change), patch_lib=PAIRS_BODY)
    code, diff, errors = export(capsys)
    assert (code, diff) == (1, "")
    assert reason in errors


@pytest.mark.processes
def test_a_diff_brings_only_the_names_that_its_code_uses(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of names that are set together it brings those, once each, and none that the module has."""
    write_wheels(here, {"1.0": {"lib": PAIRS}})
    changes = ("Add('up.lib:used', by='used')", "Replace('up.lib:HERE', by='LOW')")
    world.pack(row("one", "patch_lib", *changes), patch_lib=PAIRS_BODY)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    patched = applied(here, diff)
    assert patched.text(patched.named["helper"]) == "def helper():\n    return HERE"
    assert patched.text(patched.named["HIGH"]) == "HIGH = THERE + 1"
    assert {"helper", "used"} <= patched.named.keys()
    assert {"LOW", "CHOSEN", "OTHER", "yes"}.isdisjoint(patched.named)
    assert not patched.imports
    program = "import up.lib as m; print(m.used(), m.HERE, m.THERE)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=here / "tree", check=True, capture_output=True, timeout=30
    )
    assert done.stdout.split() == [b"12", b"7", b"2"]
