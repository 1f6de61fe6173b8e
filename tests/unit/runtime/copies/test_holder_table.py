"""The law of holders: what is called through one is the patched one, or the journal names it.

The table is `holder_table`; docs/rebinding.md has a row for whatever is only named.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import packages
from support.packages import World, row
from support.undoing import undo

from .bound import MAIN, load
from .holder_table import (
    BODY,
    CHANGES,
    IMPORTS,
    OTHER_PAGE_ROWS,
    ROWS,
    UPSTREAM,
    HolderRow,
)

world = packages.world
PAGE = Path(__file__).parents[4] / "docs" / "rebinding.md"


def _word(holder: HolderRow, module: Any) -> Any:
    """Return 'old' or 'new', as one gets it through a holder."""
    return eval(holder.use, vars(module))


@pytest.mark.parametrize("name", ROWS)
def test_whatever_holds_a_target(world: World, name: str) -> None:
    """A holder of before follows or is named; one made meanwhile has the patch; undo acts."""
    holder = ROWS[name]
    world.module("up.impl", UPSTREAM)
    for module_name in ("before", "during", "after"):
        world.module(f"up.{module_name}", IMPORTS + holder.source)
    world.pack(row("one", "patch_a", CHANGES[holder.target]), patch_a=BODY)
    (before,) = load("up.before")
    assert _word(holder, before) == "old"
    session = world.session()
    session.arm(MAIN)
    entries = [entry for entry in session.journal.entries if entry.get("name") == "one"]
    named = entries[-1]["out_of_reach"]
    if holder.reported:
        assert holder.reported.format("before") in named
        assert _word(holder, before) == "old"
    else:
        assert [words for words in named if "up.before" in words] == []
        assert _word(holder, before) == "new"
    (during,) = load("up.during")
    assert _word(holder, during) == "new"
    undo(session)
    assert _word(holder, before) == "old"
    if not holder.reported:
        assert _word(holder, during) == "old"
    (after,) = load("up.after")
    assert _word(holder, after) == "old"


@pytest.mark.parametrize("name", ROWS)
def test_whatever_holds_a_target_of_its_own_module(world: World, name: str) -> None:
    """In the target's module, whose import the patch comes with, it is the same."""
    holder = ROWS[name]
    imports = IMPORTS.replace("from up.impl import", "# ")
    world.module("up.impl", UPSTREAM + imports + holder.source)
    world.pack(row("one", "patch_a", CHANGES[holder.target]), patch_a=BODY)
    session = world.session()
    session.arm(MAIN)
    (impl,) = load("up.impl")
    entries = [entry for entry in session.journal.entries if entry.get("name") == "one"]
    named = entries[-1]["out_of_reach"]
    if holder.reported:
        assert holder.reported.format("impl") in named
    else:
        assert named == []
    assert _word(holder, impl) == ("old" if holder.reported else "new")
    undo(session)
    assert _word(holder, impl) == "old"


def test_the_page_has_the_table() -> None:
    """The page names each sort of holder that is reported, and no other, as the table does."""
    text = PAGE.read_text().partition("## What is out of reach")[2]
    lines = re.findall(r"^\| (.+?) \| .+ \|$", text, re.MULTILINE)
    assert {*lines[1:]} == OTHER_PAGE_ROWS | {
        holder.page for holder in ROWS.values() if holder.page
    }
