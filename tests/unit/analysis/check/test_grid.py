"""The grid contradicts no finding: where there is an error, the patch is broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.packages import row, world

from analysis.check.released import checked, codes, subject
from analysis.check.test_findings_page import EXAMPLES, folder, release
from patchkit.analysis.check.codes import CODES
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = ["folder", "world"]

WRAP = "Wrap('up.mod:f', by='w')"
BODY = "def w(wrapped, instance, args, kwargs): ...\n"


@pytest.mark.parametrize(
    "code", [code for code in CODES if EXAMPLES[code].command == "check"]
)
def test_the_grid_is_broken_wherever_there_is_an_error(
    code: str, world: World, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of a release breaks the patch there, another one in each release of its range."""
    example = EXAMPLES[code]
    world.pack(*example.rows, name="my_pack", **example.bodies)
    for version, files in example.releases.items():
        release(folder, version, files)
    if example.locked:
        assert main(["lock", "my-patch", "--releases", f"vllm=={example.locked}"]) == 0
    capsys.readouterr()
    main(["check", *example.words, "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    names = {finding["patch"] for finding in report["findings"] if finding["patch"]}
    assert names <= report["grid"].keys()
    for finding in report["findings"]:
        if finding["severity"] != "error" or not finding["patch"]:
            continue
        states = report["grid"][finding["patch"]]
        if finding["release"]:
            assert states[finding["release"]] == "broken"
        else:
            assert set(states.values()) <= {"broken", "out-of-range"}
            assert states


def test_a_row_without_its_body_is_in_the_grid(world: World) -> None:
    """It is broken in each release of its range; the other rows are checked as usual."""
    world.pack(
        row("lost", "patch_lost", WRAP, requires="('up>=1,<2',)"),
        row("kept", "patch_a", WRAP, requires="('up>=1,<3',)", after="('lost',)"),
        patch_a=BODY,
    )
    report = checked([subject("1.0", mod="def f(): ..."), subject("2.0", mod="")])
    assert report.grid == {
        "lost": {"up 1.0": "broken", "up 2.0": "out-of-range"},
        "kept": {"up 1.0": "ok", "up 2.0": "broken"},
    }
    assert codes(report) == ["PK502", "PK101"]


@pytest.mark.parametrize("form", ["table", "markdown", "html", "github"])
def test_no_page_calls_a_broken_row_fine(
    form: str, world: World, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that the body lacks (PK503) is an error on every page, and the state is broken."""
    example = EXAMPLES["PK503"]
    world.pack(*example.rows, name="my_pack", **example.bodies)
    for version, files in example.releases.items():
        release(folder, version, files)
    assert main(["check", *example.words, "--format", form]) == 1
    out = capsys.readouterr().out
    if form != "github":
        assert "broken" in out
    assert "hold, or do not" not in out
    assert "holds, or does not" not in out
