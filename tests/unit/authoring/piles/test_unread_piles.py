"""Piles in which reading fails: what they are seen to change is in rows, or in the list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from authoring.index_of_up import serve
from authoring.piles.pile_of_up import (
    PROJECT,
    ROWS,
    World,
    adopt,
    forms,
    program,
    world,
)
from authoring.piles.unread import PROBE, UPSTREAM

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["world"]

LISTED: set[str] = set()
"""Piles of which no row makes some changes: reading gives another value, or another order."""

REPAIRED = {"partial methods": ["up.lib:C.lazy", "up.user:C.lazy"]}
"""By pile, what only the rows make whole: they give a cached property its name."""

ALSO_LISTED = {
    "a call around a wrapper",
    "a subclass that upstream keeps",
    "globals of upstream",
}
"""Piles whose changes are in rows, with statements whose change is not told, or not seen."""

UNTOUCHED: dict[str, Any] = {}
"""What upstream answers without a pile; asked once."""


@pytest.fixture
def hard(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A release of what hard piles patch, on an index and on the path."""
    serve(world, monkeypatch, {"1.0": UPSTREAM})
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=1.0")
    for name, text in UPSTREAM.items():
        world.module(f"up.{name}", text)
    if not UNTOUCHED:
        UNTOUCHED["answers"] = world.answer(PROBE, PATCHKIT="0")
    return world


@pytest.mark.processes
@pytest.mark.parametrize("form", forms("unread"))
def test_what_a_hard_pile_does_is_done_or_listed(
    hard: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """Upstream answers the same with the rows as with the pile, but for what the list names."""
    text = program("unread", form)
    start = "import pile.start\n"
    if re.search("^def register|^register =", text, re.MULTILINE):
        (hard.folder / "pyproject.toml").write_text(
            PROJECT.format(dependencies=""), "utf-8"
        )
        start += "pile.start.register()\n"
    hard.module("pile.start", text)
    theirs = hard.answer(f"{start}{PROBE}", PATCHKIT="0")
    report = adopt(hard, capsys, {}, "--observe")
    ours = hard.answer(f"{ROWS}{start}{PROBE}")
    listed = {place["place"].replace(":", ".") for place in report["left"]}
    assert theirs != UNTOUCHED["answers"]
    assert _differing(theirs, ours, listed) == REPAIRED.get(form, [])
    is_in_rows = "in no row" not in report["observed"]["depths"].values()
    assert is_in_rows is (form not in LISTED)
    if is_in_rows and form not in ALSO_LISTED:
        assert report["left"] == []


def _differing(
    theirs: Mapping[str, Any], ours: Mapping[str, Any], listed: set[str]
) -> list[str]:
    """What answers differently, and is not in the list."""
    differing = list[str]()
    for target in sorted({*theirs, *ours}):
        name = target.replace(":", ".")
        if theirs.get(target) != ours.get(target) and name not in listed:
            differing.append(target)
    return differing
