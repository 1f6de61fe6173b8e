"""Packs whose module does what no module does: commands say so, and never end with a traceback."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import find_only_in, no_own_packs, write_wheels
from support.odd_places import ending_in

from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROW = """
from patchkit import Patch, Wrap
PATCHES = (
    Patch(name="p", body="patch_b", why={why}, upstream="u", sunset="s",
          requires=("up>=1,<4",), changes=(Wrap("up.mod:f", by="f"),)),
)
"""
GOOD = ROW.format(why="'w'")
BAD = ROW.format(why=3)
PACKS = {
    "getattr": "def __getattr__(name): raise RuntimeError(name)",
    "no module": "import sys\nsys.modules[__name__] = None",
    "endless file": f"__file__ = '/dev/zero'\n{BAD}",
    "pipe as file": f"__file__ = 'pipe'\n{BAD}",
    "number as file": f"__file__ = 3\n{GOOD}",
    "null in file": f"__file__ = 'a\\0b'\n{GOOD}",
}


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    """End a test that waits for ever."""
    with ending_in(30):
        yield


@pytest.mark.parametrize("command", ["check", "list", "doctor"])
@pytest.mark.parametrize("name", PACKS)
def test_a_hostile_pack_ends_no_command_with_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: str
) -> None:
    """Each command returns, and with one of its own exit codes."""
    place = tmp_path / "hostile_pack"
    place.mkdir()
    (place / "__init__.py").write_text(PACKS[name])
    (place / "patch_b.py").write_text("def f(original, *args): return original(*args)")
    write_wheels(tmp_path, {"1.0": {"mod": "def f(): ..."}})
    no_own_packs(monkeypatch)
    find_only_in(monkeypatch, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    releases = ["--releases", "up"] if command == "check" else []
    try:
        assert main([command, "--patches", "hostile_pack", *releases]) in (0, 1, 2)
    finally:
        for module in [one for one in sys.modules if one.startswith("hostile_pack")]:
            del sys.modules[module]
