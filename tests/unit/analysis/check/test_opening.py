"""Installed releases are found by the name of the package, or by that of the distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from patchkit.analysis.check.opening import installed
from patchkit.cli import main
from patchkit.core.versions.installed import Versions

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World


@pytest.fixture
def learning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the distribution `kit-learn`, whose package is `kitlearn`."""
    folder = tmp_path / "site"
    info = folder / "kit_learn-1.5.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: kit-learn\nVersion: 1.5.0\n")
    (info / "RECORD").write_text("kitlearn/__init__.py,,\nkitlearn/mod.py,,\n")
    (folder / "kitlearn").mkdir()
    for name in ("__init__.py", "mod.py"):
        (folder / "kitlearn" / name).write_text("")
    monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("learning")
@pytest.mark.parametrize("name", ["kitlearn", "kit-learn", "kit_learn"])
def test_a_package_is_opened_by_either_name(name: str) -> None:
    """The release has the name that was asked for, and the files of the package."""
    (release,), missing = installed([name], Versions())
    assert (release.name, missing) == (f"{name.replace('_', '-')} 1.5.0", [])
    assert release.source.has("kitlearn/mod.py")


@pytest.mark.usefixtures("learning")
def test_what_is_not_installed_is_told() -> None:
    """Neither a package nor a distribution has the name."""
    releases, missing = installed(["other_kit", "kit-learn"], Versions())
    assert [release.name for release in releases] == ["kit-learn 1.5.0"]
    assert missing == ["other_kit"]


@pytest.mark.usefixtures("learning")
@pytest.mark.parametrize("command", ["check", "lock"])
def test_a_row_that_only_waits_for_such_a_package_is_checked(
    world: World, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its only requirement names the distribution, and its only change the package."""
    change = "AfterImport('kitlearn.mod', call='f')"
    requires = "('kit-learn>=1,<2',)"
    fields = dict.fromkeys(("why", "sunset"), "'x'")
    text = row(
        "p", "patch_a", change, requires=requires, upstream="'none: x'", **fields
    )
    world.pack(text, patch_a="def f(): ...\n")
    assert main([command, "--patches", "pack"]) == 0
    captured = capsys.readouterr()
    assert "none is installed here" not in captured.err
