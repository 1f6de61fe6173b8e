from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchkit.cli.commands.run import SITECUSTOMIZE_FOLDER, child_environment


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, [SITECUSTOMIZE_FOLDER]),
        ("", [SITECUSTOMIZE_FOLDER]),
        ("/one:/two", [SITECUSTOMIZE_FOLDER, "/one", "/two"]),
        (f"/one:{SITECUSTOMIZE_FOLDER}", [SITECUSTOMIZE_FOLDER, "/one"]),
        ("/one:", [SITECUSTOMIZE_FOLDER, "/one", ""]),
    ],
)
def test_our_folder_comes_first_and_once(before: str | None, after: list[str]) -> None:
    """PYTHONPATH keeps what it held, an empty entry (the current folder) included, and no more."""
    environ = {} if before is None else {"PYTHONPATH": before}
    made = child_environment(environ, (), "/journal")
    assert made["PYTHONPATH"].split(os.pathsep) == after


def test_the_rest_of_the_environment_is_kept() -> None:
    """Only patchkit's own variables are set, and those that would be empty are not."""
    made = child_environment({"HOME": "/home", "PATCHKIT_LOG": "info"}, (), "/journal")
    assert made == {
        "HOME": "/home",
        "PATCHKIT_LOG": "info",
        "PYTHONPATH": SITECUSTOMIZE_FOLDER,
        "PATCHKIT": "1",
        "PATCHKIT_JOURNAL": "/journal",
    }


def test_packs_are_named_once() -> None:
    """A pack that is set and given is read once."""
    made = child_environment({}, ("a", "b", "a"), "/journal")
    assert made["PATCHKIT_PATCHES"] == "a,b"


def test_the_folder_holds_the_way_in() -> None:
    """The one file there is what Python imports by itself."""
    assert [file.name for file in Path(SITECUSTOMIZE_FOLDER).glob("*.py")] == ["sitecustomize.py"]
