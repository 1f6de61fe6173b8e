"""The releases of a row that is carried."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.authoring.adopt.ranges import carried_requirements
from patchkit.core.versions.requirements import satisfies


def carried(requires: list[str], packages: list[str], **kinds: bool) -> list[str]:
    """Carry requirements to the release 2.0."""
    options = {"is_new": False, "is_over": False, **kinds}
    return carried_requirements(requires, packages, "2.0", **options)


RELEASES = ["0.9", "1.0", "1.1", "1.1.1", "1.2", "1.9", "2.0", "2.0.1", "2.1", "3.0"]


@pytest.mark.parametrize(
    ("text", "wider", "new", "over"),
    [
        # As it is; carried; carried without the releases before; retired.
        ("up>=1,<2", "up>=1,<2.1", "up>=2.0,<2.1", "up>=1,<2"),
        ("up>=1", "up>=1", "up>=2.0", "up>=1,<2.0"),
        ("up", "up", "up>=2.0", "up<2.0"),
        ("up>=1,<3", "up>=1,<3", "up>=2.0,<3", "up>=1,<2.0"),
        (
            "up>1,!=1.1,<=1.2",
            "up>1,!=1.1,<2.1",
            "up>=2.0,!=1.1,<2.1",
            "up>1,!=1.1,<=1.2",
        ),
        ("up==1.1", "up>=1.1,<=2.0", "up==2.0", "up==1.1"),
        ("up===1.1", "up>=1.1,<=2.0", "up==2.0", "up===1.1"),
        ("up==1.*", "up>=1,<=2.0", "up==2.0", "up==1.*"),
        ("up==2.*", "up==2.*", "up>=2.0,==2.*", "up>=2,<2.0"),
        ("up~=1.1", "up>=1.1,<2.1", "up>=2.0,<2.1", "up~=1.1"),
        ("up~=2.0", "up~=2.0", "up>=2.0,~=2.0", "up>=2.0,<2.0"),
        (
            "up<2 ; python_version<'4'",
            'up<2.1; python_version < "4"',
            'up>=2.0,<2.1; python_version < "4"',
            "up<2 ; python_version<'4'",
        ),
        ("Up_Per>=1,<2",) * 4,
    ],
)
def test_one_requirement(text: str, wider: str, new: str, over: str) -> None:
    """What need not change stays as it is written; no bound below is lost."""
    assert carried([text], ["up"]) == [wider]
    assert carried([text], ["up"], is_new=True) == [new]
    assert carried([text], ["up"], is_over=True) == [over]


def test_a_name_counts_however_it_is_written() -> None:
    """Those of other distributions stay as they are."""
    requires = ["UP_Cpu<2", "up>=1", "other<2"]
    assert carried(requires, ["up-cpu", "up"]) == ["UP_Cpu<2.1", "up>=1", "other<2"]


def test_a_release_counts_as_it_does_everywhere() -> None:
    """A bound that is a pre-release counts as the release: 2.0 lies not below 2.0rc1."""
    assert carried(["up<2.0rc1"], ["up"]) == ["up<2.1"]
    assert carried(["up>=2.0rc1"], ["up"]) == ["up>=2.0rc1"]


CLAUSES = st.builds(
    lambda operator, version: f"{operator}{version}",
    st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "~="]),
    st.sampled_from([one for one in RELEASES if one != "2.0"]),
) | st.sampled_from(["==1.*", "==1.1.*", "!=1.*"])


@given(st.lists(CLAUSES, max_size=3))
def test_no_release_before_is_won_or_lost(clauses: list[str]) -> None:
    """Carried, it holds before as it did, up to where it did; retired, before only."""
    before = {one for one in RELEASES if satisfies(one, ",".join(clauses))}
    older = RELEASES[: RELEASES.index("2.0")]
    for kinds in ({}, {"is_new": True}, {"is_over": True}):
        (text,) = carried([f"up{','.join(clauses)}"], ["up"], **kinds)
        after = {one for one in RELEASES if satisfies(one, text.removeprefix("up"))}
        if kinds:
            assert after.isdisjoint(older if "is_new" in kinds else ["2.0"])
        if "is_over" in kinds and "2.0" in before:
            assert after == before.intersection(older)
        if not kinds:
            assert before.intersection(older) <= after
            assert not {one for one in after - before if before and one < min(before)}
