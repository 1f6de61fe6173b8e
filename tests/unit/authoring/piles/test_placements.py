"""What `patchkit adopt` reads of a pile: rows that do what it does, or a place in the list."""

from __future__ import annotations

import pytest

from authoring.piles.pile_of_up import (
    PROBE,
    TOOLS,
    World,
    adopt,
    answers,
    forms,
    here,
    kinds,
    program,
    world,
)

__all__ = ["here", "world"]

KINDS = {
    "a check that it is there": ["Replace"],
    "a class": ["Replace"],
    "a class with a base that names its target": ["Add", "Replace"],
    "a condition": ["Replace", "Add"],
    "a function that is called": ["Replace"],
    "a loop in a function that is called": ["Add", "Add", "Replace"],
    "a loop over names and values": ["Replace", "Add"],
    "a loop over places": ["Replace", "Replace"],
    "a method": ["Replace"],
    "a module from sys modules": ["Replace"],
    "a namespace": ["Add", "Replace"],
    "a new attribute": ["Add", "Add"],
    "a static method": ["Replace"],
    "a wrapper on one line": ["Replace"],
    "a wrapper with a text of several lines": ["Replace"],
    "an alias": ["Add", "Replace", "Replace"],
    "an item": ["Replace"],
    "an original that is kept": ["Wrap"],
    "an original that is kept for others too": ["Replace"],
    "any arguments": ["Wrap"],
    "by the name of its module": ["Replace"],
    "registrations": ["Replace", "Replace"],
    "setattr": ["Replace"],
    "several at once": ["Add", "Add"],
    "what is no name": ["Replace"] * 2,
}
"""By program of `piles/rows`, the kinds of the rows that are made of it."""


@pytest.mark.processes
@pytest.mark.parametrize("form", forms("rows"))
def test_rows_do_what_the_pile_does(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The form of its statements does not matter; the pile is off while its rows run."""
    report = adopt(here, capsys, {"patches": program("rows", form), "tools": TOOLS})
    assert report["left"] == []
    made = [kind for changes in kinds(report).values() for kind, _ in changes]
    assert sorted(made) == sorted(KINDS[form])
    theirs, ours = answers(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


def test_calls_that_run_later_are_no_changes(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function may use what it likes: only what runs as the pile is imported is listed."""
    report = adopt(here, capsys, {"patches": program("", "calls that run later")})
    assert report["left"] == []
    assert report["expressed"] == 1


REASONS = {
    "a loop with values of its own": "differs from turn to turn",
    "a name that is worked out": "the name that it sets is not told",
    "a slice and an item that is deleted": "it changes or deletes what is there",
    "an item that is read again": "the module reads it again",
    "an item with a key that is worked out": "it changes or deletes what is there",
    "changed by a call": "it changes or deletes what is there",
    "changed by a call of a function that runs": "it changes or deletes what is there",
    "changed in place": "it changes or deletes what is there",
    "deleted": "it changes or deletes what is there",
    "in a function that nobody calls": "it is set when late runs",
    "what the release does not have": "up 1.0 has no up.lib:Gone",
}
"""By program of `piles/left`, the reason that is given for what is left."""


@pytest.mark.parametrize("form", forms("left"))
def test_what_no_row_can_express_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The list has its file, its line, its code and the reason."""
    report = adopt(here, capsys, {"patches": program("left", form)})
    assert report["left"]
    for place in report["left"]:
        assert REASONS[form] in place["reason"]
        assert place["file"] == "pile/patches.py"
        assert place["line"] > 3
        assert place["code"]
    assert report["sites"] == report["expressed"] + len(report["left"])
