"""`patchkit diff` to what lies on this machine, and has the version of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import world

from cli.shelves import NEW, OLD, answer, shop
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = ["shop", "world"]

EDITED = NEW.replace("alpha - one", "alpha * one")


@pytest.fixture
def installed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.0 is installed, and somebody has edited the target in it."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=2.0")
    world.module("up.mod", EDITED)


@pytest.mark.usefixtures("installed")
def test_what_was_edited_here_is_compared_with_its_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not with an earlier release, whose other changes would hide the edit."""
    for words, place in ((["--here"], "installed here"), (["--path", "."], "in .")):
        data = answer(capsys, "diff", "p", *words, code=0)
        assert (data["from"], data["to"]) == ("up 2.0", f"up 2.0 {place}")
        (target,) = data["targets"]
        assert "-    return [alpha - one for one in beta]" in target["diff"]
        assert "+    return [alpha * one for one in beta]" in target["diff"]
    assert main(["diff", "p", "--here"]) == 0
    printed = capsys.readouterr()
    assert "this is not up 2.0 as it was released" in printed.err
    assert printed.out.startswith("p: up 2.0 to up 2.0 installed here\n")


@pytest.mark.usefixtures("installed")
def test_the_release_of_the_version_may_be_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--from` has the version that is installed, and the page has the difference."""
    assert main(["diff", "p", "--here", "--from", "2.0"]) == 0
    assert "+    return [alpha * one for one in beta]" in capsys.readouterr().out
    assert main(["diff", "p", "--here", "--from", "1.0"]) == 0
    printed = capsys.readouterr()
    assert "-    return [alpha + one for one in beta]" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize("source", [NEW, OLD])
def test_what_is_as_it_was_released_is_compared_with_what_was_reviewed(
    world: World,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    source: str,
) -> None:
    """Without an edit, `--here` shows what upstream changed since the last review."""
    version = "2.0" if source == NEW else "1.0"
    monkeypatch.setenv("PATCHKIT_VERSIONS", f"up={version}")
    world.module("up.mod", source)
    data = answer(capsys, "diff", "p", "--here", code=0)
    assert data["from"] == "up 1.0"


def test_a_version_that_is_no_release_is_compared_with_what_was_reviewed(
    world: World,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A build of one's own has no release that it could be an edited copy of."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=2.5")
    world.module("up.mod", EDITED)
    data = answer(capsys, "diff", "p", "--here", code=0)
    assert (data["from"], data["to"]) == ("up 1.0", "up 2.5")
