"""Piles that others wrote, adopted: their rows do to a real vLLM what they do themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import adopt_piles
import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Of each: how many changes are in rows, at least, and which pile needs an environment of its own.
EXPRESSED = {"vllm-ascend": 180, "vllm-omni": 12, "vllm-rbln": 42}


@pytest.mark.parametrize(
    "pile",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.every_cell] * (one.vllm != "0.23.0"))
        for one in adopt_piles.PILES
    ],
)
def test_the_rows_do_what_the_pile_does(pile: adopt_piles.Pile, tmp_path: Path) -> None:
    """The same attributes hold the same code; nothing fails, and the pile itself is off."""
    rows = adopt_piles.adopt(pile, tmp_path)
    assert rows.expressed >= EXPRESSED[pile.name]
    done = adopt_piles.compare(pile, rows, tmp_path)
    assert "start_ours" not in done.faults
    assert len(done.same) >= pile.attributes, done
    if pile.name == "vllm-ascend":
        assert done.more == []


def test_each_registration_is_a_row(tmp_path: Path) -> None:
    """vllm-rbln registers its patches: 50 with those of a loop."""
    (pile,) = (one for one in adopt_piles.PILES if one.name == "vllm-rbln")
    rows = adopt_piles.adopt(pile, tmp_path)
    assert len([one for one in rows.patches if one.name != "old-pile"]) >= 50
    assert all(one.why and "Adopted" not in one.why for one in rows.patches if one.when)
