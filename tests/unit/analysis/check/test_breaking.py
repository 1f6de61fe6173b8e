"""Where a patch broke, found by halving what lies between a release that holds and the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row, world

from analysis.check.released import no_own_packs, subject
from patchkit.analysis.check.breaking import break_between, break_of, by_day, day_of
from patchkit.analysis.check.packs import read_packs
from patchkit.settings import Settings

if TYPE_CHECKING:
    from support.packages import World

    from patchkit.analysis.check.releases import CheckedRelease
    from patchkit.core.rows.declaration import Row

__all__ = ["world"]

HAS, LACKS = "def f(): ...\n", ""
BODY = "def w(wrapped, instance, args, kwargs): ..."


@pytest.fixture
def patch(world: World, monkeypatch: pytest.MonkeyPatch) -> Row:
    no_own_packs(monkeypatch)
    world.pack(
        row("p-q", "patch_a", "Wrap('up.mod:f', by='w')", requires="('up>=2,<5',)"),
        patch_a=BODY,
    )
    (only,) = read_packs(Settings(), ["pack"])[0]
    return only


def releases(**texts: str) -> list[CheckedRelease]:
    return [
        subject(version[1:].replace("_", "."), mod=text)
        for version, text in texts.items()
    ]


def test_the_release_after_the_last_that_holds(patch: Row) -> None:
    """Out of the row's range, too; with what it runs into."""
    several = {f"v{at}": LACKS if at in (1, 8, 9) else HAS for at in range(1, 10)}
    found = break_of(patch, releases(**several))
    assert found.ends == ["7", "8"]
    assert [one.code.code for one in found.faults] == ["PK101"]


def test_within_the_range(patch: Row) -> None:
    """Where the newest in range breaks, it is looked for from the oldest on."""
    found = break_of(patch, releases(v2=HAS, v3=HAS, v4=LACKS, v5=LACKS, v6=LACKS))
    assert found.ends == ["3", "4"]


def test_where_both_ends_of_the_range_break(patch: Row) -> None:
    """A target that came and went within the range is found between them."""
    found = break_of(patch, releases(v2=LACKS, v3=HAS, v4=LACKS, v4_5=LACKS))
    assert found.ends == ["3", "4"]


def test_what_never_held_and_what_never_broke(patch: Row) -> None:
    """One has no last release, the other no first one."""
    assert break_of(patch, releases(v2=LACKS, v3=LACKS, v6=LACKS)).ends == [None, "2"]
    found = break_of(patch, releases(v2=HAS, v6=HAS))
    assert (found.ends, found.faults) == (["6", None], ())


def test_nightlies_count_by_their_day(patch: Row) -> None:
    """Not by their version; the halving starts after the release that holds."""
    texts = {
        "1.1.dev20260101": LACKS,  # it came only with 2.0
        "2.1.dev20260203": HAS,
        "3.1.dev202602040101": LACKS,
        "2.2.dev202602050101": LACKS,
        "2.1.dev202602030102": HAS,
    }
    nightlies = [subject(version, mod=text) for version, text in texts.items()]
    broke = break_of(patch, releases(v2=HAS, v3=LACKS))
    found = break_between(patch, by_day(nightlies), broke)
    ends = ["2026-02-03 2.1.dev202602030102", "2026-02-04 3.1.dev202602040101"]
    assert found.ends == ends
    assert break_between(patch, by_day(releases(v2=HAS)), broke).ends == [None, None]
    assert day_of(subject("1.0", mod=HAS)) == ""


def test_few_are_read(patch: Row) -> None:
    """Of a hundred nightlies, no more than ten."""
    nightlies = [
        subject(f"2.1.dev2026{month:02}{day:02}", mod=HAS if month < 3 else LACKS)
        for month in range(1, 5)
        for day in range(1, 26)
    ]
    found = break_between(
        patch, by_day(nightlies), break_of(patch, releases(v2=HAS, v3=LACKS))
    )
    assert [day[:10] if day else None for day in found.ends] == [
        "2026-02-25",
        "2026-03-01",
    ]
    assert sum("_facts" in vars(one) for one in nightlies) <= 10


def test_a_nightly_before_the_release_that_holds_is_looked_for(patch: Row) -> None:
    """The release was cut from a tree that has changed since; it was there for some days only."""
    there = range(8, 12)
    early = [
        subject(f"1.1.dev202601{at:02}", mod=(LACKS, HAS)[at in there])
        for at in range(1, 14)
    ]
    nightlies = [
        *early,
        *(subject(f"2.1.dev202601{at}", mod=LACKS) for at in range(14, 20)),
    ]
    found = break_between(
        patch, by_day(nightlies), break_of(patch, releases(v2=HAS, v3=LACKS))
    )
    assert [day and day[:10] for day in found.ends] == ["2026-01-11", "2026-01-12"]
