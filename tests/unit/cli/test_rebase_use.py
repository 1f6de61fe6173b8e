"""`patchkit rebase`: which rows and releases it takes, and what is wrong use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from cli.rebased_packs import EDIT, TEXTS, rebased, rows, shop, world
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]
pytestmark = pytest.mark.processes


def test_either_names_or_all_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    """`rebase` with neither names nor `--all`, or with both, is wrong use."""
    assert main(["rebase", "--to", "2.0"]) == 2
    assert "found no name of a patch" in capsys.readouterr().err
    assert main(["rebase", "p", "--all", "--to", "2.0"]) == 2
    assert "found names and --all" in capsys.readouterr().err


def test_what_is_written_is_reported_before_an_error(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that were written before an error are reported, and the exit code is 2. The second row
    is for no earlier release.
    """
    later = {**TEXTS, "requires": "('up>=5',)"}
    world.pack(row("p", None, EDIT, **TEXTS), row("q", None, EDIT, **later))
    assert rebased(capsys, code=2).keys() == {"p"}
    assert "<2.1" in rows(world)


def test_rows_of_other_packages_are_left_alone(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--all` leaves rows that change nothing of the release's package as they are, and says so."""
    other = {**TEXTS, "requires": "('ray>=2.3',)"}
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    world.pack(
        row("p", None, EDIT, **TEXTS),
        row("q", "patch_a", "Wrap('ray.mod:f', by='w')", **other),
        patch_a=body,
    )
    assert main(["rebase", "--all", "--to", "2.0", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert [patch["name"] for patch in json.loads(printed.out)["patches"]] == ["p"]
    assert "q: left as it is, it changes nothing of up" in printed.err
    assert "requires=('ray>=2.3',)" in rows(world)


def test_a_release_that_cannot_be_read_is_one_line_and_2(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that cannot be read is one error line and exit code 2, and no row is changed."""
    (world.folder / "wheels" / "up-2.0-py3-none-any.whl").write_bytes(b"PK cut off")
    world.pack(row("p", None, EDIT, **TEXTS))
    before = rows(world)
    assert main(["rebase", "p", "--to", "2.0"]) == 2
    error = capsys.readouterr().err
    assert "up 2.0" in error
    assert error.count("\n") == 1
    assert rows(world) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "nobody"),
        (["p", "--from", "3.0"], "found no release up 3.0, expected one such as 1.1"),
        (["p", "--from", "1.11"], "expected one such as 1.1; did you mean 1.1?"),
        (["p", "--from", "2.0"], "found no release up 2.0"),
    ],
)
def test_an_unknown_patch_or_release_is_wrong_use(
    world: World, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """An unknown patch or `--from` release ends `rebase` with 2, and the error names it."""
    world.pack(row("p", None, EDIT, **TEXTS))
    assert main(["rebase", *words, "--to", "2.0"]) == 2
    assert message in capsys.readouterr().err
