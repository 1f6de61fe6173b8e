"""A pack with one patch, and releases of what it changes, as wheels that the tests write."""

from __future__ import annotations

import json
import shlex
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import find_only_in, no_own_packs, write_wheels
from support.packages import row

from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

OLD = "def f(alpha, beta):\n    return [alpha + one for one in beta]\n"
NEW = "def f(alpha, beta):\n    return [alpha - one for one in beta]\n"
RELEASES = {"1.0": {"mod": OLD}, "2.0": {"mod": NEW}, "3.0": {"mod": "", "late": NEW}}
BODY = "def w(wrapped, instance, args, kwargs): ..."


@pytest.fixture(autouse=True)
def shop(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack with one patch, three releases in a folder, and no index."""
    no_own_packs(monkeypatch)
    texts = {"why": "'w'", "upstream": "'u'", "sunset": "'s'"}
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(
        row("p", "patch_a", wrap, requires="('up>=1,<4',)", **texts), patch_a=BODY
    )
    world.pack(name="empty", patch_a="")
    (tmp_path / "empty" / "patch_a.py").unlink()
    write_wheels(tmp_path / "wheels", RELEASES)
    find_only_in(monkeypatch, tmp_path / "wheels")
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    monkeypatch.chdir(tmp_path)


def write_wheel(folder: Path, release: str, package: str, module: str) -> None:
    """Write the wheel of a release such as `up-1.0`, of a package that has one module `mod`."""
    file = folder / f"{release}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "")
        archive.writestr(f"{package}/mod.py", module)
        archive.writestr(f"{release}.dist-info/METADATA", "")


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> Any:
    """Run a command with `--format json`, check its exit code, and return what it prints."""
    assert main([*words, "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def run_fix(fix: str, count: int) -> None:
    """Run each command of a fix, as it stands there."""
    commands = fix.split("\n  ")[1:]
    assert len(commands) == count
    for command in commands:
        name, *words = shlex.split(command)
        assert name == "patchkit"
        assert main(words) == 0
