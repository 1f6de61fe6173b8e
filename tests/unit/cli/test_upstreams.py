"""A pack whose patches change several upstreams, each of which has releases of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row, world

from cli.shelves import BODY, NEW, OLD, answer, shop, write_wheel
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = ["shop", "world"]

UPPER = "Wrap('up.mod:f', by='w')"
LOWER = "Wrap('down.mod:f', by='w')"


@pytest.fixture(autouse=True)
def _upstreams(shop: None, world: World, tmp_path: Path) -> None:
    """A patch that changes `up` and `down`, which drops the target in 8.0, and one for each."""
    world.pack(
        row("both", "patch_a", UPPER, LOWER, requires="('up>=1,<4', 'down>=7,<9')"),
        row("lower", "patch_a", LOWER, requires="('down>=7,<8',)"),
        row("upper", "patch_a", UPPER, requires="('up>=1,<3',)"),
        patch_a=BODY,
    )
    write_wheel(tmp_path / "wheels", "down-7.0", "down", OLD)
    write_wheel(tmp_path / "wheels", "down-7.1", "down", NEW)
    write_wheel(tmp_path / "wheels", "down-8.0", "down", "")


def test_history_follows_a_patch_in_each_upstream(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A break in either counts; `--releases` chooses one."""
    data = answer(capsys, "history", "both", code=1)
    assert data["releases"] == {"holds": "2.0", "breaks": "3.0"}
    assert data["releases of down"] == {"holds": "7.1", "breaks": "8.0"}
    assert main(["history", "both"]) == 1
    assert capsys.readouterr().out.startswith(
        "both\n"
        "  releases          holds on 2.0\n"
        "                    breaks on 3.0\n"
        "  releases of down  holds on 7.1\n"
    )
    data = answer(capsys, "history", "both", "--releases", "down<8", code=0)
    assert data["releases"] == {"holds": "7.1", "breaks": None}
    assert "releases of down" not in data


def test_diff_compares_targets_in_the_releases_of_their_upstream(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without ends it compares all; a version is one of the first upstream, or of `--of`."""
    data = answer(capsys, "diff", "both", code=0)
    pairs = [
        (target["from"]["release"], target["to"]["release"])
        for target in data["targets"]
    ]
    assert pairs == [("up 1.0", "up 3.0"), ("down 7.0", "down 8.0")]
    assert main(["diff", "both"]) == 0
    out = capsys.readouterr().out
    assert "both: up 1.0 to up 3.0\n" in out
    assert "both: down 7.0 to down 8.0\n" in out
    data = answer(capsys, "diff", "both", "--of", "down", "--to", "7.1", code=0)
    assert (data["from"], data["to"]) == ("down 7.0", "down 7.1")


def test_diff_to_a_version_is_of_one_upstream(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It says which, and how to see the other; one that the patch does not change is refused."""
    assert main(["diff", "both", "--to", "2.0"]) == 0
    printed = capsys.readouterr()
    assert "down" not in printed.out
    assert "what both changes in up; --of down is for others" in printed.err
    assert main(["diff", "both", "--of", "vllm"]) == 2
    assert "found 'vllm', expected one of up, down" in capsys.readouterr().err


def test_check_looks_at_each_row_in_the_releases_of_its_upstream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`releases` of a project may name several upstreams; rows of others are told."""
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.patchkit]\nreleases = ["up<3", "down<8"]\n')
    grid = answer(capsys, "check", "--select", "PK1", code=0)["grid"]
    assert grid["upper"].keys() == {"up 1.0", "up 2.0"}
    assert grid["lower"].keys() == {"down 7.0", "down 7.1"}
    assert grid["both"].keys() == grid["upper"].keys() | grid["lower"].keys()
    project.write_text('[tool.patchkit]\nreleases = ["up<3"]\n')
    told = "not checked, as pyproject.toml names no releases of down: lower\n"
    for words, is_told in (([], True), (["--releases", "up<2"], False)):
        main(["check", *words])
        assert (told in capsys.readouterr().err) is is_told


def test_two_names_of_one_function_are_one_diff(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function under two names has changed once; the second target says as which."""
    again = "Wrap('down.mod:g', by='w')"
    world.pack(
        row("both", "patch_a", LOWER, again, requires="('down>=7,<8',)"), patch_a=BODY
    )
    for release, text in (("down-7.0", OLD), ("down-7.1", NEW)):
        write_wheel(tmp_path / "wheels", release, "down", f"{text}g = f\n")
    assert main(["diff", "both", "--to", "7.1"]) == 0
    out = capsys.readouterr().out
    assert "down.mod:g: changed, as down.mod:f\n" in out
    assert out.count("+    return [alpha - one for one in beta]") == 1
