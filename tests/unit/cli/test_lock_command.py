"""`lock` over wheels that the tests write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY, row, world

from patchkit.cli import main
from patchkit.core.lock.format import Lock, read_lock, write_lock

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

from cli.shelves import BODY, NEW, OLD, answer, cleared, do, shop

__all__ = ["shop", "world"]


def test_lock_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is locked is shown and reviewed; what is not is drift; a dry run writes nothing."""
    words = ["lock", "--releases", "up<2"]
    assert answer(capsys, *words, "--check", code=1)["written"] is False
    assert not (tmp_path / "patchkit.lock").exists()
    data = answer(capsys, *words, code=0)
    assert (data["changed"], data["written"]) == (True, True)
    assert any(
        line.startswith("+") and line.endswith("up 1.0") for line in data["diff"]
    )
    assert data["diff"][:2] == [f"--- a/{data['file']}", f"+++ b/{data['file']}"]
    (span,) = data["spans"]
    assert (span["patch"], span["target"], span["first"]) == ("p", "up.mod:f", "1.0")
    assert answer(capsys, *words, "--check", code=0)["changed"] is False
    data = answer(capsys, "check", "--releases", "up<3", code=1)
    assert data["grid"]["p"] == {"up 1.0": "ok", "up 2.0": "drift"}
    (finding,) = data["findings"]
    assert finding["code"] == "PK201"
    do(finding["fix"], count=2)
    capsys.readouterr()
    answer(capsys, "check", "--releases", "up<3", code=0)
    main(["lock", "--releases", "up<3"])
    assert (
        answer(cleared(capsys), "check", "--releases", "up<3", code=0)["findings"] == []
    )


def test_a_malformed_lock_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names file and line, for every command that reads it."""
    (tmp_path / "pack" / "patchkit.lock").write_text("format 2\nwhat is this\n")
    for words in (
        ["check", "--releases", "up"],
        ["lock", "--releases", "up"],
        ["diff", "p"],
    ):
        assert main(words) == 2
        assert "patchkit.lock:2: found 'what is this'" in capsys.readouterr().err


def test_packs_that_are_kept_elsewhere_are_their_authors(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`lock` and `matrix` leave installed packs out; one that is named is reviewed beside them."""
    theirs = "Wrap('up.mod:f', by='w')"
    text = row("q", "patch_b", theirs, requires="('up>=1,<3',)")
    (tmp_path / "site-packages" / "their").mkdir(parents=True)
    world.pack(text, name="site-packages/their")
    (tmp_path / "site-packages" / "their" / "patch_b.py").write_text(BODY)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    write_lock(tmp_path / "site-packages" / "their" / "patchkit.lock", Lock({"q": {}}))
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack,their")
    for _ in range(2):
        data = answer(capsys, "lock", "--releases", "up<3", code=0)
        assert data["files"] == ["pack/patchkit.lock"]
        assert {span["patch"] for span in data["spans"]} == {"p"}
    shown = answer(capsys, "matrix", "--releases", "up", code=0)
    assert "of q" not in json.dumps(shown)
    assert main(["lock", "q", "--releases", "up<3"]) == 0
    assert f"PATCHKIT_LOCK={tmp_path / 'patchkit.lock'}" in capsys.readouterr().err
    # Q has no `why`.
    grid = answer(capsys, "check", "--releases", "up<3", code=1)["grid"]
    assert set(grid["q"].values()) == set(grid["p"].values()) == {"ok"}


@pytest.fixture
def theirs(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack `their` with a patch `q`, as an installer puts it, whose authors reviewed 1.0."""
    folder = tmp_path / "site-packages" / "their"
    folder.mkdir(parents=True)
    text = row("q", "patch_b", "Wrap('up.mod:f', by='w')", requires="('up>=1,<3',)")
    world.pack(text, name="site-packages/their")
    (folder / "patch_b.py").write_text(BODY)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setenv("PATCHKIT_PATCHES", "their")
    assert (
        main(["lock", "--releases", "up==1.0", "--lock", str(folder / "patchkit.lock")])
        == 0
    )


@pytest.mark.usefixtures("theirs")
def test_reviews_here_take_nothing_from_an_installed_packs_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither for who names the file: 1.0 is reviewed by its authors, 2.0 here."""
    assert main(["lock", "q", "--releases", "up==2.0"]) == 0
    capsys.readouterr()
    for words in ((), ("--lock", "patchkit.lock")):
        # Q has no `why`.
        data = answer(capsys, "check", "--releases", "up<3", *words, code=1)
        assert set(data["grid"]["q"].values()) == {"ok"}


@pytest.mark.usefixtures("theirs")
def test_lock_writes_nothing_of_patchkits_own_rows_unasked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder that has no pack; who names their pack means them."""
    monkeypatch.setattr("patchkit.cli.inputs.OWN_PACKS", ("their",))
    assert main(["lock", "--releases", "up==2.0"]) == 2
    assert "found no patch here but patchkit's own" in capsys.readouterr().err
    assert not (tmp_path / "patchkit.lock").exists()
    assert main(["lock", "--patches", "their", "--releases", "up==2.0"]) == 0


def test_each_pack_has_its_own_lock(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is reviewed of several packs goes where processes look for it: into their folders."""
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(
        row("q", "patch_b", wrap, requires="('up>=1,<3',)"), name="other", patch_b=BODY
    )
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack,other")
    assert main(["lock", "--releases", "up<3"]) == 0
    assert capsys.readouterr().err.count("written") == 2
    for name, patch in (("pack", "p"), ("other", "q")):
        assert list(read_lock(world.folder / name / "patchkit.lock").entries) == [patch]
    data = answer(capsys, "lock", "--releases", "up<3", code=0)
    assert (data["changed"], len(data["files"])) == (False, 2)


@pytest.mark.processes
@pytest.mark.parametrize("layout", ["flat", "src", "flat, without pyproject.toml"])
def test_what_lock_writes_is_what_processes_read(layout: str, tmp_path: Path) -> None:
    """As the tutorial has it: drift of the lock that was just written stops a process."""
    project = tmp_path / "project"
    folder = project / "src" if layout == "src" else project
    (folder / "my_pack").mkdir(parents=True)
    if "without" not in layout:
        (project / "pyproject.toml").write_text("[project]\nname = 'my-pack'\n")
    head = "from patchkit import Patch, Role, Wrap\nPATCHES = ("
    text = row("p", "patch_a", "Wrap('up.mod:f', by='w')", required="True")
    (folder / "my_pack" / "__init__.py").write_text(f"{head}{text},)\n")
    (folder / "my_pack" / "patch_a.py").write_text(BODY)
    (tmp_path / "lib" / "up").mkdir(parents=True)
    (tmp_path / "lib" / "up" / "__init__.py").touch()
    (tmp_path / "lib" / "up" / "mod.py").write_text(OLD)
    env = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PATCHKIT")
        },
        "PYTHONPATH": os.pathsep.join(map(str, (folder, tmp_path / "lib", REPOSITORY))),
        "PATCHKIT_VERSIONS": "up=1.0",
        "PATCHKIT_PATCHES": "my_pack",
    }

    def python(*words: str, **more: str) -> int:
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=project, env={**env, **more}, check=False
        ).returncode

    assert python("-m", "patchkit", "lock", "p") == 0
    assert (folder / "my_pack" / "patchkit.lock").is_file()
    enter = "import patchkit.auto, up.mod"
    assert python("-c", enter, PATCHKIT_ON_DRIFT="stop") == 0
    (tmp_path / "lib" / "up" / "mod.py").write_text(NEW)
    assert python("-c", enter, PATCHKIT_ON_DRIFT="stop") != 0
