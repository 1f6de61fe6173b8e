"""A row that is carried: what cannot be merged is a conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.rebase.carried_row import (
    BODY,
    COPY,
    F,
    carry,
    code,
    edit,
    world,
)

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]
pytestmark = pytest.mark.processes  # git


@pytest.mark.parametrize(
    "new",
    [
        "class f:\n    pass\n",
        "f = 3\n",
        "from up.late import g as f\n",
        "import json as f\n",
        "f = print\n",
    ],
)
@pytest.mark.parametrize(
    "change", ["Replace('up.mod:f', by='f')", edit("f", "run(3)", "run(33)")]
)
def test_a_target_of_another_kind_is_a_conflict(
    world: World, new: str, change: str
) -> None:
    """A person has to decide, and no file is planned."""
    rebase = carry(
        world,
        F,
        new,
        change,
        body=BODY if "by" in change else None,
        late="def g():\n    return 1\n",
    )
    assert rebase.result == "conflict"
    assert rebase.files == []


def test_a_merge_that_does_not_parse_is_a_conflict(world: World) -> None:
    """It comes about when each side has deleted another half of a block."""
    old = (
        "def f(a):\n    one()\n    if a:\n        two()\n        three()\n"
        "    four()\n    five()\n"
    )
    new = old.replace("        two()\n", "")
    rebase = carry(world, old, new, COPY, body=old.replace("        three()\n", ""))
    (conflict,) = rebase.conflicts
    assert conflict.reason.startswith("merged: expected an indented block")
    assert "if a:\n    four()" in conflict.text
    assert "-        two()" in conflict.upstream


def test_a_target_that_is_gone_is_a_conflict(world: World) -> None:
    """The reason names the release that lacks it, be it the old one or the new one."""
    rebase = carry(world, F, "g = 1\n", edit("f", "run(3)", "run(33)"))
    assert "up 2.0" in rebase.conflicts[0].reason
    rebase = carry(
        world, "g = 1\n", F.replace("run", "other"), edit("f", "run(3)", "run(33)")
    )
    assert "up 1.1" in rebase.conflicts[0].reason


@pytest.mark.parametrize(
    "body",
    [
        "from json import loads as f\n",
        "if True:\n" + "".join(f"    {line}\n" for line in BODY.splitlines()),
        "try:\n    import nothing\nexcept ImportError:\n"
        + "".join(f"    {line}\n" for line in BODY.splitlines()),
    ],
)
def test_a_copy_that_cannot_be_merged_is_a_conflict(world: World, body: str) -> None:
    """It is imported or stands below a condition; if upstream has not changed, it is unchanged."""
    rebase = carry(
        world, F, code("function", step_2="step_2 = walk(2)"), COPY, body=body
    )
    assert rebase.result == "conflict"
    assert "step_2 = walk(2)" in rebase.conflicts[0].upstream
    assert carry(world, F, F, COPY, body=body).result == "unchanged"


def test_a_copy_that_is_made_no_more_is_a_conflict_with_the_change_of_its_original(
    world: World,
) -> None:
    """Two changes of one row would have one target, and the copy's is the wrong one."""
    copies = "from up.late import g\n"
    g = code("function").replace("def f", "def g")
    changes = ["Wrap('up.mod:g', by='h')", "Wrap('up.late:g', by='h')"]
    rebase = carry(
        world, copies, "", *changes, body="def h():\n    pass\n", late=g, old_late=g
    )
    (conflict,) = rebase.conflicts
    assert str(conflict.target) == "up.mod:g"
    assert "up.late:g, of which the row has another change" in conflict.reason
    assert rebase.files == []
