from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.rows.target import Item, Target

NAMES = st.sampled_from(["a", "b_c", "é", "_"])
STEPS = st.lists(
    st.one_of(
        NAMES,
        st.builds(
            Item, st.one_of(st.integers(), st.sampled_from(["k", "a.b", "it's"]))
        ),
    ),
    max_size=5,
)


@given(NAMES, STEPS)
def test_a_qualname_is_taken_apart(first: str, later: list[str | Item]) -> None:
    """A target's steps are the names and items of its text, which it also writes."""
    text = first
    for step in later:
        text += str(step) if isinstance(step, Item) else f".{step}"
    target = Target.parse(f"pkg.mod:{text}")
    assert target.steps == (first, *later)
    assert str(target) == f"pkg.mod:{text}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m:",
        ":f",
        "m:f:g",
        "m.:f",
        "m:.f",
        "m:f.",
        "m:['k']",
        "m:f['k'",
        "m:f[k]",
        "m:f[]",
        "m:f['k']g",
        "m:f..g['k']",
        "m:f[1]]",
        "m:f['k'].",
        "m:f[open('x')]",
        "m:f[{{}: 1}]",
        "m:f[{{}}]",
        f"m:f[{'-' * 5000}1]",
        "m:f[...].x",
        "m:f[1e999].x",
        "m:f[{1}]",
        "m:f[{}]",
        "m:f[{1: 2}].x",
        "m:f['\\x5d'].x",
        "m:" + "f." * 1_000 + "f",
    ],
)
def test_a_text_that_is_no_target_is_refused(text: str) -> None:
    """A text that is neither a module nor a module with a qualname is a ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 - rules.py says what was wrong
        Target.parse(text)


@pytest.mark.parametrize(
    ("target", "holder"),
    [
        ("m:C.f", "m:C"),
        ("m:C", "m"),
        ("m:T['a']", "m:T"),
        ("m:T[ 'a' ]", "m:T"),
        ("m:T[0x10].f", "m:T[16]"),
    ],
)
def test_the_holder_of_a_target(target: str, holder: str) -> None:
    """However an item is written."""
    assert str(Target.parse(target).holder) == holder
