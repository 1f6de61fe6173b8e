"""`[tool.patchkit]` of pyproject.toml, as commands read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import find_only_in, write_wheels
from support.packages import REPOSITORY, row, world
from support.samples import pack_source, row_source

from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.packages import World

__all__ = ["world"]

RELEASES = {"1.0": {"mod": "def f(a): ...\n"}, "2.0": {"mod": "def g(a): ...\n"}}
BODY = "def w(wrapped, instance, args, kwargs): ..."
TEXTS = {"why": "'w'", "upstream": "'u'", "sunset": "'s'"}


@pytest.fixture
def project(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Write the section, in a project of two packs, with two releases of `up` in a folder."""
    for name in ("one", "two"):
        wrap = "Wrap('up.mod:f', by='w')"
        text = row(
            f"of-{name}", "patch_a", wrap, requires="('up>=1,<3',)", after="()", **TEXTS
        )
        world.pack(text, name=name, patch_a=BODY)
    write_wheels(tmp_path / "wheels", RELEASES)
    find_only_in(monkeypatch, tmp_path / "wheels")
    monkeypatch.chdir(tmp_path)

    def write(**fields: object) -> None:
        lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
        (tmp_path / "pyproject.toml").write_text(
            "\n".join(["[tool.patchkit]", *lines]) + "\n"
        )

    return write


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """Run a command with `--format json`, check its exit code, and return what it prints."""
    assert main([*words, "--format", "json"]) == code, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def names(data: Any) -> set[str]:
    """The names of the patches in an answer of `list`."""
    return {patch["name"] for patch in data["patches"]}


def test_its_packs_are_read_by_every_command_and_flags_win(
    project: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands read the project's `packs`, and those of `--patches` in their place."""
    project(packs=["one"])
    assert "of-one" in names(answer(capsys, "list"))
    assert "of-one" not in names(answer(capsys, "list", "--patches", "two"))
    assert main(["show", "of-one"]) == 0
    assert main(["doctor"]) == 1
    assert "from pyproject.toml" in capsys.readouterr().out


def test_check_is_of_the_packs_that_are_named(
    project: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` is of the project's packs, or those of a flag, and of no other installed pack."""
    project(packs=["one"], releases=["up<2"])
    assert list(answer(capsys, "check")["grid"]) == ["of-one"]
    assert list(answer(capsys, "check", "--patches", "two")["grid"]) == ["of-two"]
    grid = answer(capsys, "check", "--releases", "up<2", "of-one")["grid"]
    assert list(grid) == ["of-one"]


def test_its_releases_are_what_check_looks_at(
    project: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` looks at the project's `releases`, and at those of a flag in their place."""
    project(packs=["one"], releases=["up"])
    assert answer(capsys, "check", code=1)["releases"] == ["up 1.0", "up 2.0"]
    assert answer(capsys, "check", "--releases", "up<2")["releases"] == ["up 1.0"]
    assert main(["check", "--here"]) == 2
    assert (
        "found no release to look at, expected one of up: none is installed"
        in capsys.readouterr().err
    )
    assert main(["matrix"]) == 0


def test_what_is_accepted_stays_visible_and_does_not_count(
    project: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code and counts leave it out; JSON names it as accepted, the table counts it."""
    project(packs=["one"], releases=["up"], accept=["PK101 up.mod:f"])
    data = answer(capsys, "check")
    (finding,) = data["findings"]
    assert (finding["code"], finding["accepted"]) == ("PK101", True)
    assert (data["summary"]["errors"], data["summary"]["accepted"]) == (0, 1)
    assert data["grid"]["of-one"]["up 2.0"] == "broken"
    assert main(["check"]) == 0
    out = capsys.readouterr().out
    assert "1 finding accepted (of-one is still broken)" in out
    assert "PK101" not in out
    project(packs=["one"], releases=["up"], accept=["PK101 up.mod:g"])
    assert main(["check"]) == 1
    project(packs=["one"], releases=["up"], accept=["PK101 of-one"])
    assert main(["check"]) == 0
    project(packs=["one"], releases=["up"], ignore=["PK101"])
    assert main(["check"]) == 0


def test_an_unknown_code_is_wrong_use(
    project: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown code in `ignore` is an error that names the file and the nearest code."""
    project(packs=["one"], releases=["up"], ignore=["PK109"])
    assert main(["check"]) == 2
    err = capsys.readouterr().err
    assert "pyproject.toml" in err
    assert "PK109" in err
    assert "did you mean PK10" in err


def test_its_lock_is_written_and_read(
    project: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lock` writes the file that is named, `check` reads it; `--lock` wins."""
    project(packs=["one"], releases=["up<2"], lock="kept.lock")
    assert main(["check"]) == 2
    assert "'patchkit lock' writes" in capsys.readouterr().err
    assert main(["lock"]) == 0
    assert (tmp_path / "kept.lock").exists()
    assert main(["check"]) == 0
    assert main(["check", "--lock", "none.lock"]) == 2


@pytest.mark.parametrize(
    "words", [["list"], ["check"], ["lock"], ["doctor"], ["run", "true"]]
)
def test_an_unknown_key_is_one_line_and_2(
    words: list[str], project: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown key ends every command with 2 and one line that names the nearest key."""
    project(pakcs=["one"])
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "unknown key 'pakcs'; did you mean packs?" in err


@pytest.mark.parametrize(
    ("fields", "words", "message"),
    [
        ({"releases": ["up=>1"]}, ["list"], "releases: found 'up=>1'"),
        ({"releases": ["0.32"]}, ["list"], "releases: found '0.32', expected a list"),
        ({"lock": "nope.lock"}, ["check"], "lock: found no file 'nope.lock'"),
        ({"packs": ["flatpack"]}, ["check"], "packs)"),
    ],
)
def test_a_setting_that_cannot_be_met_names_the_file_and_the_key(
    fields: dict[str, object],
    words: list[str],
    message: str,
    project: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A setting that cannot be met is an error that names pyproject.toml and the key."""
    project(**{"packs": ["one"], **fields})
    assert main(words) == 2
    assert f"pyproject.toml, [tool.patchkit] {message}" in capsys.readouterr().err


def patchkit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with nothing of the test on the path."""
    return subprocess.run(
        [
            sys.executable,
            "-P" if sys.version_info >= (3, 11) else "-s",
            "-m",
            "patchkit",
            *words,
        ],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


@pytest.mark.processes
@pytest.mark.parametrize("place", [".", "src"])
def test_run_and_commands_find_a_pack_that_is_not_installed(
    place: str, tmp_path: Path
) -> None:
    """Commands find the project's pack from a folder below it, and so do processes of `run`."""
    pack = tmp_path / place / "mine"
    (pack / "deep").mkdir(parents=True)
    (pack / "__init__.py").write_text(
        pack_source(row_source(name="'of-mine'", body="'patch_thing'"))
    )
    (pack / "patch_thing.py").touch()
    (tmp_path / "pyproject.toml").write_text(
        "[tool.patchkit]\npacks = ['mine']\nlock = 'kept.lock'"
    )
    assert "of-mine" in patchkit(pack / "deep", "list", "--all").stdout
    say = "import mine, os; print('found', os.environ['PATCHKIT_LOCK'])"
    done = patchkit(pack / "deep", "run", "--", sys.executable, "-c", say)
    assert done.stdout == f"found {tmp_path / 'kept.lock'}\n"


@pytest.mark.processes
@pytest.mark.parametrize("place", [".", "src"])
def test_commands_read_the_pack_of_the_project_and_no_installed_copy(
    place: str, tmp_path: Path
) -> None:
    """The pack that commands read is the project's, not a copy of it that was installed earlier."""
    for folder, name in (
        (tmp_path / "site", "of-yore"),
        (tmp_path / "work" / place, "of-mine"),
    ):
        (folder / "mine").mkdir(parents=True)
        text = pack_source(row_source(name=f"'{name}'", body="'patch_thing'"))
        (folder / "mine" / "__init__.py").write_text(text)
        (folder / "mine" / "patch_thing.py").touch()
    (tmp_path / "work" / "pyproject.toml").write_text(
        "[tool.patchkit]\npacks = ['mine']\n"
    )
    script = (
        "import sys; from patchkit.cli import main; sys.exit(main(['list', '--all']))"
    )
    path = os.pathsep.join([str(tmp_path / "site"), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, "-P" if sys.version_info >= (3, 11) else "-B", "-c", script],
        cwd=tmp_path / "work",
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "of-mine" in done.stdout
    assert "of-yore" not in done.stdout


def test_a_lock_with_a_name_that_no_file_can_have_is_not_there(
    project: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told as any other file that is not there."""
    project(packs=["one"], lock="a" * 5_000)
    assert main(["check"]) == 2
    assert "lock: found no file 'aaa" in capsys.readouterr().err


def test_a_table_that_is_misnamed_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr: the command itself goes on without its settings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.patch-kit]\npacks = ['one']\n")
    assert main(["list"]) == 0
    told = "found [tool.patch-kit], expected [tool.patchkit]: it is not read"
    assert capsys.readouterr().err.count(told) == 1
