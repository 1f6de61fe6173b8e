"""`patchkit status`: the user's patches come first, idle ones of patchkit's are counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from analysis.status.told import Journals, journal, line, patch, role

from cli import journaled
from cli.journaled import answered
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

written = journaled.written

PACKS = {
    "idle": "patchkit.platform",
    "busy": "patchkit.worker",
    "skipped": "patchkit.worker",
    "mine": "corp.patches",
    "mine-too": "corp.patches",
}
FOLDED = "2 patches that come with patchkit: skipped; --all shows them"


def of_one_patch() -> Journals:
    """A process with rows of patchkit, one of which applies, and two rows of the user."""
    facts = {"module": "m", "layers": {"m:f": ["busy"]}}
    return journal(
        7,
        role("main"),
        patch("idle", "skipped", "vllm is not installed"),
        patch("skipped", "skipped", "vllm is not installed"),
        patch("busy", "applied", **facts),
        patch("mine", "applied", module="m", layers={"m:g": ["mine"]}),
        patch("mine-too", "skipped", "up is not installed"),
        line(
            "in-effect",
            patches={"busy": {"m:f": "never called"}, "mine": {"m:g": "never called"}},
        ),
        patches=list(PACKS),
        packs=PACKS,
    )


@pytest.fixture
def shown(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., list[str]]:
    """Print `status` of that process at 80 columns, and return its lines."""
    monkeypatch.setenv("COLUMNS", "80")
    place = written(of_one_patch())

    def run(*options: str) -> list[str]:
        assert main(["status", str(place), *options]) == 0
        return capsys.readouterr().out.splitlines()

    return run


def patches_in(lines: list[str]) -> list[str]:
    """The patches that have a line of their own, in order."""
    firsts = [text.split()[0] for text in lines if text.strip()]
    return [name for name in firsts if name in PACKS]


def test_the_users_patches_come_first(shown: Callable[..., list[str]]) -> None:
    """The user's patches have a line each, whatever their status; those that are idle, none."""
    lines = shown()
    assert patches_in(lines) == ["mine", "mine-too", "busy"]
    assert FOLDED in lines
    (process,) = [text for text in lines if text.startswith("main")]
    assert process.endswith("2 applied, 1 skipped")


def test_all_shows_every_patch(shown: Callable[..., list[str]]) -> None:
    """With `--all` nothing is folded, and the user's patches still come first."""
    lines = shown("--all")
    assert patches_in(lines) == ["mine", "mine-too", "idle", "busy", "skipped"]
    assert not [text for text in lines if "--all" in text]


def test_unused_lists_the_users_patches(shown: Callable[..., list[str]]) -> None:
    """`--unused` counts patches that come with patchkit, and lists them with `--all`."""
    lines = shown("--unused")
    assert patches_in(lines) == ["mine"]
    assert lines[-1].startswith("1 patch that comes with patchkit: ")
    assert patches_in(shown("--unused", "--all")) == ["mine", "busy"]


def test_json_keeps_everything(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON has every patch, with its pack."""
    (process,) = answered(capsys, str(written(of_one_patch())))["processes"]
    packs = {patch["name"]: patch["pack"] for patch in process["patches"]}
    assert packs == PACKS


def test_a_run_without_patches_of_the_user_says_so_in_a_line(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where all patches are idle ones of patchkit's own, one line stands for them."""
    entries = patch("idle", "skipped", "vllm is not installed")
    packs = {"idle": "patchkit.platform"}
    place = written(journal(7, role("main"), entries, patches=["idle"], packs=packs))
    assert main(["status", str(place)]) == 0
    out = capsys.readouterr().out
    assert "patches  1 patch that comes with patchkit: skipped; --all shows it" in out
    assert re.search(r"^main .* none$", out, re.MULTILINE)


def test_a_run_of_one_patch_fits_a_terminal(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that `status` says of a run with one patch fits 24 lines of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"own-{number}" for number in range(15)]
    packs = {**dict.fromkeys(names, "patchkit.platform"), "mine": "corp"}
    skipped = [patch(name, "skipped", "vllm is not installed") for name in names]
    facts = {"module": "m", "layers": {"m:g": ["mine"]}}
    processes = [
        journal(
            pid,
            role("main"),
            *skipped,
            patch("mine", "applied", **facts),
            at=pid,
            patches=list(packs),
            packs=packs,
        )
        for pid in range(7, 12)
    ]
    place = written(*processes)
    assert main(["status", str(place)]) == 0
    # The folder of the journals is as long as it is here.
    lines = capsys.readouterr().out.replace(str(place), "").splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80


def test_a_mistyped_patch_names_few(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names those that are like it first, five at most, and counts the others."""
    names = [f"other-{number}" for number in range(9)]
    place = written(journal(7, role("main"), patches=[*names, "core-loop"]))
    assert main(["status", str(place), "--patch", "core-lop"]) == 2
    error = capsys.readouterr().err
    assert "expected a patch's name: core-loop, other-0, " in error
    assert "other-3 and 5 more" in error
