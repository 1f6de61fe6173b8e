"""`lock` over wheels that the tests write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY, row, world

from patchkit.cli import main
from patchkit.core.lock.format import Lock, read_lock, write_lock

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

from cli.shelves import BODY, NEW, OLD, answer, run_fix, shop

__all__ = ["shop", "world"]


def test_what_is_locked_is_reviewed_and_what_is_not_is_drift(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lock` writes what is reviewed, and with `--check` nothing; `check` reports the rest as
    drift. The fix that the finding names clears it.
    """
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
    run_fix(finding["fix"], count=2)
    capsys.readouterr()
    answer(capsys, "check", "--releases", "up<3", code=0)
    main(["lock", "--releases", "up<3"])
    capsys.readouterr()
    data = answer(capsys, "check", "--releases", "up<3", code=0)
    assert data["findings"] == []


def test_a_target_that_no_release_has_is_told(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is recorded of it, and no file is named that does not exist."""
    world.pack(row("q", "patch_a", "Wrap('up.mod:nothing', by='w')"), patch_a=BODY)
    assert main(["lock", "--releases", "up<3"]) == 0
    out, err = capsys.readouterr()
    said = (out + err).splitlines()
    assert said[0].endswith("patchkit.lock: nothing new")
    assert said[1:] == [
        "patchkit: q: up.mod:nothing is in none of the releases: nothing is recorded"
    ]
    assert not (tmp_path / "patchkit.lock").exists()


NARROW = "def w(wrapped): ..."
NO_CALL = "def w(wrapped, instance, args, kwargs): ...\ndef asked(a): ...\n"


@pytest.mark.parametrize(
    ("change", "body", "expected"),
    [
        ("Wrap('up.mod:f', by='w')", NARROW, "(PK103): w(wrapped) has to take"),
        ("Wrap('up.mod:f', by='w', when='asked')", NO_CALL, "(PK103): found asked(a)"),
        ("Replace('up.mod:f', by='w')", NARROW, "(PK103): upstream takes"),
        ("Replace('up.mod:f', by='w', unrelated=True)", NARROW, ""),
        ("Wrap('up.mod:f', by='w')", BODY, ""),
    ],
)
def test_a_body_that_does_not_fit_is_told(
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    body: str,
    expected: str,
) -> None:
    """The review is recorded, and one line says that the patch fails all the same."""
    world.pack(row("q", "patch_a", change), patch_a=body)
    assert main(["lock", "--releases", "up<3"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " q: " in line]
    start = "patchkit: q: 'patchkit check' calls it broken "
    assert [line.startswith(f"{start}{expected}") for line in lines] == (
        [True] if expected else []
    )


def test_a_misfit_that_the_project_accepts_is_not_told(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person has looked at it."""
    world.pack(row("q", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a=NARROW)
    settings = '[tool.patchkit]\naccept = ["PK103 up.mod:f"]\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    assert main(["lock", "--releases", "up<3"]) == 0
    assert "calls it broken" not in capsys.readouterr().err


@pytest.mark.parametrize("option", [[], ["--check"]])
def test_releases_that_no_row_is_for_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: list[str]
) -> None:
    """That nothing is new in releases of another distribution would mean nothing."""
    path = tmp_path / "wheels" / "down-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("down/__init__.py", "")
        wheel.writestr("down-1.0.dist-info/METADATA", "Name: down\n")
    assert main(["lock", "--releases", "down", *option]) == 2
    err = capsys.readouterr().err
    assert "none of the selected patches targets" in err
    assert "expected releases of up" in err
    assert not (tmp_path / "patchkit.lock").exists()


def test_a_malformed_lock_is_reported_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command that reads a malformed lock exits with 2, and names its file and line."""
    (tmp_path / "pack" / "patchkit.lock").write_text("format 2\nwhat is this\n")
    for words in (
        ["check", "--releases", "up"],
        ["lock", "--releases", "up"],
        ["diff", "p"],
    ):
        assert main(words) == 2
        assert "patchkit.lock:2: found 'what is this'" in capsys.readouterr().err


def test_lock_and_matrix_leave_installed_packs_out(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`lock` and `matrix` leave installed packs out; a patch that is named is locked here."""
    folder = tmp_path / "site-packages" / "their"
    folder.mkdir(parents=True)
    text = row("q", "patch_b", "Wrap('up.mod:f', by='w')", requires="('up>=1,<3',)")
    world.pack(text, name="site-packages/their")
    (folder / "patch_b.py").write_text(BODY)
    monkeypatch.syspath_prepend(folder.parent)
    write_lock(folder / "patchkit.lock", Lock({"q": {}}))
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack,their")
    for _ in range(2):
        data = answer(capsys, "lock", "--releases", "up<3", code=0)
        assert data["files"] == ["pack/patchkit.lock"]
        assert {span["patch"] for span in data["spans"]} == {"p"}
    matrix = answer(capsys, "matrix", "--releases", "up", code=0)
    assert "of q" not in json.dumps(matrix)
    assert main(["lock", "q", "--releases", "up<3"]) == 0
    assert f"PATCHKIT_LOCK={tmp_path / 'patchkit.lock'}" in capsys.readouterr().err
    # Exit code 1, as `q` has no `why`.
    grid = answer(capsys, "check", "--releases", "up<3", code=1)["grid"]
    assert set(grid["q"].values()) == {"ok"}
    assert set(grid["p"].values()) == {"ok"}


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
    lock = str(folder / "patchkit.lock")
    assert main(["lock", "--releases", "up==1.0", "--lock", lock]) == 0


@pytest.mark.usefixtures("theirs")
def test_reviews_here_take_nothing_from_an_installed_packs_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A review here stands beside that of an installed pack's authors. They reviewed 1.0, and 2.0
    is reviewed here; `--lock` changes nothing.
    """
    assert main(["lock", "q", "--releases", "up==2.0"]) == 0
    capsys.readouterr()
    for words in ((), ("--lock", "patchkit.lock")):
        # Exit code 1, as `q` has no `why`.
        data = answer(capsys, "check", "--releases", "up<3", *words, code=1)
        assert set(data["grid"]["q"].values()) == {"ok"}


@pytest.mark.usefixtures("theirs")
def test_lock_writes_nothing_of_patchkits_own_rows_unasked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where only patchkit's own rows are found, `lock` refuses, unless `--patches` names a pack."""
    monkeypatch.setattr("patchkit.cli.inputs.is_own_pack", lambda name: name == "their")
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
    """A process reads the lock that `lock` wrote, and stops when upstream's source has changed."""
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
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PATCHKIT")
    }
    path = [str(folder), str(tmp_path / "lib"), str(REPOSITORY)]
    env["PYTHONPATH"] = os.pathsep.join(path)
    env["PATCHKIT_VERSIONS"] = "up=1.0"
    env["PATCHKIT_PATCHES"] = "my_pack"

    def python(*words: str, **settings: str) -> int:
        """Run Python in the project, and return its exit code."""
        command = [sys.executable, *words]
        environ = {**env, **settings}
        done = subprocess.run(command, cwd=project, env=environ, check=False)
        return done.returncode

    assert python("-m", "patchkit", "lock", "p") == 0
    assert (folder / "my_pack" / "patchkit.lock").is_file()
    enter = "import patchkit.auto, up.mod"
    assert python("-c", enter, PATCHKIT_ON_DRIFT="stop") == 0
    (tmp_path / "lib" / "up" / "mod.py").write_text(NEW)
    assert python("-c", enter, PATCHKIT_ON_DRIFT="stop") != 0


def test_a_body_that_cannot_be_loaded_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lock --check` is for CI: a pack that cannot start is not in order, reviewed or not."""
    words = ["lock", "--releases", "up<2"]
    answer(capsys, *words, code=0)
    answer(capsys, *words, "--check", code=0)
    (tmp_path / "pack" / "patch_a.py").write_text("def (:\n")
    assert main([*words, "--check"]) == 1
    assert "p: pack.patch_a does not compile" in capsys.readouterr().err
