"""Which files of releases a command reads."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import find_only_in, write_wheels
from support.packages import row, world

from patchkit.cli import main
from patchkit.cli.commands import fit

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = ["world"]

LINUX = "cp38-abi3-linux_x86_64"
WINDOWS = "cp38-abi3-win_amd64"


@pytest.fixture
def folder(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that uses `up.lib:g`, which only the wheel of `up` for Linux has."""
    monkeypatch.chdir(world.folder)
    find_only_in(monkeypatch, ".")
    for platform, text in ((LINUX, "def g(): ..."), (WINDOWS, "")):
        write_wheels(world.folder, {"1.0": {"lib": text}})
        made = world.folder / "up-1.0-py3-none-any.whl"
        made.rename(made.with_name(f"up-1.0-{platform}.whl"))
    theirs = world.folder / "theirs"
    theirs.mkdir()
    (theirs / "__init__.py").write_text("from up.lib import g\n")
    return world.folder


@pytest.mark.parametrize(
    ("words", "platform", "fits"),
    [
        (("--platform", "linux_x86_64"), LINUX, True),
        (("--platform", "manylinux_2_28_x86_64", "--python", "3.12"), LINUX, True),
        (("--platform", "win_amd64"), WINDOWS, False),
    ],
)
def test_the_file_of_a_release_is_that_of_a_machine(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    platform: str,
    fits: bool,
) -> None:
    """`--platform` and `--python` choose the file that is read, and JSON names it."""
    fit = ["fit", "theirs", "--of", "up", "--format", "json", *words]
    assert main(fit) == int(not fits)
    (release,) = json.loads(capsys.readouterr().out)["releases"]
    assert (release["file"], release["fits"]) == (f"up-1.0-{platform}.whl", fits)


def test_check_names_the_files_that_it_reads(
    folder: Path,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The JSON of `check` has the file of each release; a notice tells of one for elsewhere."""
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    world.pack(
        row("p", "patch_a", "Replace('up.lib:g', by='g')"), patch_a="def g(): ..."
    )
    check = ["check", "p", "--releases", "up", "--format", "json", "--platform"]
    main([*check, "win_arm64"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)["files"] == {"up 1.0": f"up-1.0-{LINUX}.whl"}
    assert "up 1.0 has no file for win_arm64, CPython" in printed.err
    assert printed.err.rstrip().endswith(f"; read from up-1.0-{LINUX}.whl")
    main([*check, "win_amd64"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)["files"] == {"up 1.0": f"up-1.0-{WINDOWS}.whl"}
    assert "has no file" not in printed.err


def test_only_releases_that_are_read_are_told_of(
    folder: Path,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`diff` and `history` list all releases to choose from, and read two of them."""
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    replace = "Replace('up.lib:g', by='g')"
    world.pack(
        row("p", "patch_a", replace, requires="('up>=1',)"), patch_a="def g(): ..."
    )
    for version in ("0.1", "1.1"):
        write_wheels(world.folder, {version: {"lib": "def g(): ..."}})
        made = world.folder / f"up-{version}-py3-none-any.whl"
        made.rename(made.with_name(f"up-{version}-{LINUX}.whl"))
    for words in (["diff", "p"], ["history", "p"]):
        main([*words, "--platform", "win_arm64"])
        told = capsys.readouterr().err
        assert "up 1.1 has no file for win_arm64" in told
        assert "up 0.1" not in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--platform", "Linux!"), "--platform: found 'Linux!', expected a platform"),
        (("--python", "three"), "--python: found 'three', expected a version"),
    ],
)
def test_a_machine_that_cannot_be_read_is_wrong_use(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    """One line says what was found and expected, and the exit code is 2."""
    assert main(["fit", "theirs", "--of", "up", *words]) == 2
    assert message in capsys.readouterr().err


def test_no_garbage_is_collected_while_releases_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even before and after targets are looked up; the caller's garbage is again."""
    seen: list[bool] = []
    open_package = fit.open_package

    def watched(*arguments: Any) -> object:
        seen.append(gc.isenabled())
        return open_package(*arguments)

    monkeypatch.setattr(fit, "open_package", watched)
    main(["fit", "theirs", "--of", "up"])
    assert seen == [False]
    assert gc.isenabled()
