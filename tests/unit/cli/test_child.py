"""The environment that `patchkit run` gives a command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchkit.cli.commands.run import child_environment
from patchkit.cli.ways_in import SITECUSTOMIZE_FOLDER


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, [SITECUSTOMIZE_FOLDER]),
        ("", [SITECUSTOMIZE_FOLDER]),
        ("/one:/two", [SITECUSTOMIZE_FOLDER, "/one", "/two"]),
        (f"/one:{SITECUSTOMIZE_FOLDER}", [SITECUSTOMIZE_FOLDER, "/one"]),
        ("/one:", [SITECUSTOMIZE_FOLDER, "/one", ""]),
    ],
    ids=[
        "no variable",
        "an empty one",
        "two folders",
        "ours already",
        "an empty entry",
    ],
)
def test_the_folder_of_sitecustomize_comes_first_and_once(
    before: str | None, after: list[str]
) -> None:
    """PYTHONPATH keeps what it held, an empty entry (the current folder) included, and no more."""
    environ: dict[str, str] = {}
    if before is not None:
        environ["PYTHONPATH"] = before
    environ_of_child = child_environment(environ, (), "/journal")
    assert environ_of_child["PYTHONPATH"].split(os.pathsep) == after


def test_other_variables_stay_as_they_are() -> None:
    """Only patchkit's own variables are set, and those that would be empty are not."""
    environ_of_child = child_environment(
        {"HOME": "/home", "PATCHKIT_LOG": "info"}, (), "/journal"
    )
    assert environ_of_child == {
        "HOME": "/home",
        "PATCHKIT_LOG": "info",
        "PYTHONPATH": SITECUSTOMIZE_FOLDER,
        "PATCHKIT": "1",
        "PATCHKIT_JOURNAL": "/journal",
    }


def test_packs_are_named_once() -> None:
    """A pack that is named twice, by a setting and an option, is in PATCHKIT_PATCHES once."""
    environ_of_child = child_environment({}, ("a", "b", "a"), "/journal")
    assert environ_of_child["PATCHKIT_PATCHES"] == "a,b"


def test_the_folder_holds_sitecustomize_alone() -> None:
    """The only module there is the one that Python imports at its start."""
    assert [file.name for file in Path(SITECUSTOMIZE_FOLDER).glob("*.py")] == [
        "sitecustomize.py"
    ]
