"""An empty project, releases of `up` to patch, and `patchkit new` on both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import find_only_in, no_own_packs, write_wheels
from support.packages import world

from cli.new_samples import RELEASES
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["body", "new", "project", "refusal", "rows", "world"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty project, two releases in a folder, and no index."""
    no_own_packs(monkeypatch)
    write_wheels(tmp_path / "wheels", RELEASES)
    find_only_in(monkeypatch, tmp_path / "wheels")
    folder = world.folder / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))


def new(*words: str, at: str = "up==1.2") -> int:
    """Run `new` for a pack, in role main unless another is named; return its exit code."""
    role = [] if "--role" in words else ["--role", "main"]
    return main(["new", *words, *role, "--pack", "my_pack", "--releases", at])


def refusal(
    capsys: pytest.CaptureFixture[str], *words: str, at: str = "up==1.2"
) -> str:
    """Run `new`, check that it exits with 2, and return what it says on stderr."""
    assert new(*words, at=at) == 2
    return capsys.readouterr().err


def body(target: str, *words: str) -> str:
    """Start a patch of a target, check that its body compiles, and return the body."""
    assert new("p", "--target", target, "--body", "patch_it", *words) == 0
    text = Path("my_pack/patch_it.py").read_text()
    compile(text, "body", "exec")
    return text


def rows() -> dict[str, Any]:
    """Read the pack in a Python of its own, and return the changes of each row, by name."""
    code = (
        "import my_pack; print({one.name: str(one.changes) for one in my_pack.PATCHES})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    changes: dict[str, Any] = eval(done.stdout)
    return changes
