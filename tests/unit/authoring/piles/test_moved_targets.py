"""Names that a pile sets where the release does not have them any more."""

from __future__ import annotations

import pytest

from authoring.piles.pile_of_up import World, adopt, here, kinds, world

__all__ = ["here", "world"]

REASON = (
    "up 1.0 has nothing there, so that the row adds it; something of that name is at up.lib:g, "
    "and no row changes that"
)


def test_an_added_name_that_is_defined_elsewhere_is_to_be_looked_at(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The function was moved: nobody calls the one that the pile sets."""
    text = "from up import user\nuser.g2 = print\nimport up\nup.g = lambda: 'new'\n"
    report = adopt(here, capsys, {"patches": text}, "--no-observe")
    assert kinds(report)["patches"] == [("Add", "up.user:g2"), ("Add", "up:g")]
    (listed,) = report["left"]
    assert (listed["line"], listed["code"], listed["place"]) == (4, "up.g", "up:g")
    assert (listed["reason"], listed["kind"]) == (REASON, "to look at")
    assert report["sites"] == report["expressed"] == 2


@pytest.mark.parametrize(
    "text",
    [
        # For an earlier release, and for this one.
        "import up.lib\nup.g = up.lib.g = lambda: 'new'\n",
        # A new member of a class: other classes may have one of that name.
        "from up.lib import C\nC.g = lambda self: 'new'\n",
    ],
)
def test_other_added_names_are_not_listed(
    here: World, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """They do something in this release."""
    report = adopt(here, capsys, {"patches": text}, "--no-observe")
    assert report["left"] == []


@pytest.mark.processes
def test_a_name_that_a_call_adds_is_listed_without_a_statement(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its row names the call."""
    text = "import up\n\n\ndef start():\n    exec('up.g = print')\n"
    report = adopt(
        here, capsys, {"patches": text}, "--observe", "--call", "pile.patches:start"
    )
    listed = [each for each in report["left"] if each["kind"] == "to look at"]
    assert [(each["file"], each["place"]) for each in listed] == [("", "up:g")]
