"""A package whose distribution has another name, as `sklearn` of scikit-learn."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import find_only_in
from support.packages import row, world

from patchkit.cli import main

__all__ = ["world"]

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

MOD = {"kit/__init__.py": "", "kit/mod.py": "def f(): ...\n"}


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Write a wheel."""
    folder.mkdir(exist_ok=True)
    stem = f"{name}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{stem}.dist-info/METADATA", f"Name: {name}\n")


@pytest.fixture(autouse=True)
def _placeholder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index with an empty `kit` and `real-kit`, which has the package and is installed."""
    wheel(tmp_path / "wheels", "kit", "0.1", {})
    wheel(tmp_path / "wheels", "real_kit", "1.0", MOD)
    find_only_in(monkeypatch, tmp_path / "wheels")
    site = tmp_path / "site"
    info = site / "real_kit-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: real-kit\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in MOD))
    (site / "kit").mkdir()
    for path, text in MOD.items():
        (site / path).write_text(text)
    monkeypatch.syspath_prepend(site)


def test_history_reads_the_distribution_that_has_the_package(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The distribution of the package's name is empty, and the installed one is another."""
    assert main(["history", "kit.mod:f", "--format", "json"]) == 0
    captured = capsys.readouterr()
    steps = json.loads(captured.out)["releases"]
    assert [(step["release"], step["state"]) for step in steps] == [("1.0", "present")]
    assert "kit lacks kit.mod:f; real-kit has kit here" in captured.err


def test_history_keeps_to_the_releases_that_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who names the empty distribution is told what it has."""
    main(["history", "kit.mod:f", "--releases", "kit"])
    assert "real-kit" not in capsys.readouterr().err


def test_check_names_the_distribution_of_the_package(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A requirement on the empty distribution allows no release."""
    change = "Wrap('kit.mod:f', by='w')"
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    world.pack(row("p", "patch_a", change, requires="('real-kit>=1',)"), patch_a=body)
    assert main(["check", "--patches", "pack", "--releases", "kit>=1"]) == 2
    expected = "; the package kit is of the distribution real-kit here"
    assert expected in capsys.readouterr().err
