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
    """A row for `up>=2,<5` that wraps `up.mod:f`."""
    no_own_packs(monkeypatch)
    world.pack(
        row("p-q", "patch_a", "Wrap('up.mod:f', by='w')", requires="('up>=2,<5',)"),
        patch_a=BODY,
    )
    rows, _ = read_packs(Settings(), ["pack"])
    (only,) = rows
    return only


def releases(**texts: str) -> list[CheckedRelease]:
    """Releases of `up` with the text of `up.mod`: `v4_5=…` is release 4.5."""
    return [
        subject(version[1:].replace("_", "."), mod=text)
        for version, text in texts.items()
    ]


def test_a_break_beyond_the_range_is_found(patch: Row) -> None:
    """Beyond the row's range, too, the last release that holds and the next are found."""
    texts = {
        f"v{number}": LACKS if number in (1, 8, 9) else HAS for number in range(1, 10)
    }
    broke = break_of(patch, releases(**texts))
    assert broke.ends == ["7", "8"]
    assert [fault.code.code for fault in broke.faults] == ["PK101"]


def test_a_break_within_the_range_is_found(patch: Row) -> None:
    """If the newest release in range breaks, the break is found between two releases in range."""
    broke = break_of(patch, releases(v2=HAS, v3=HAS, v4=LACKS, v5=LACKS, v6=LACKS))
    assert broke.ends == ["3", "4"]


def test_a_break_between_ends_of_the_range_that_break_is_found(patch: Row) -> None:
    """A target that came and went within the range is found between them."""
    broke = break_of(patch, releases(v2=LACKS, v3=HAS, v4=LACKS, v4_5=LACKS))
    assert broke.ends == ["3", "4"]


def test_a_target_that_no_release_has_may_be_misspelled(patch: Row) -> None:
    """Of what an earlier release has, it is known where it went."""
    similar = "def ff(): ...\n"
    never = break_of(patch, releases(v2=similar, v3=similar))
    assert never.faults[0].message == "up.mod has no 'f'; did you mean up.mod:ff?"
    broke = break_of(patch, releases(v2=HAS, v3=similar))
    assert broke.faults[0].message == "up.mod has no 'f'"


def test_a_patch_that_never_held_or_never_broke(patch: Row) -> None:
    """A patch that never held has no last release, and one that never broke has no first one."""
    assert break_of(patch, releases(v2=LACKS, v3=LACKS, v6=LACKS)).ends == [None, "2"]
    unbroken = break_of(patch, releases(v2=HAS, v6=HAS))
    assert (unbroken.ends, unbroken.faults) == (["6", None], ())


def test_nightlies_count_by_their_day(patch: Row) -> None:
    """Nightlies are searched in the order of their days, not of their versions."""
    texts = {
        "1.1.dev20260101": LACKS,  # it came only with 2.0
        "2.1.dev20260203": HAS,
        "3.1.dev202602040101": LACKS,
        "2.2.dev202602050101": LACKS,
        "2.1.dev202602030102": HAS,
    }
    nightlies = [subject(version, mod=text) for version, text in texts.items()]
    broke_in = break_of(patch, releases(v2=HAS, v3=LACKS))
    broke_on = break_between(patch, by_day(nightlies), broke_in)
    ends = ["2026-02-03 2.1.dev202602030102", "2026-02-04 3.1.dev202602040101"]
    assert broke_on.ends == ends
    assert break_between(patch, by_day(releases(v2=HAS)), broke_in).ends == [None, None]
    assert day_of(subject("1.0", mod=HAS)) == ""


def test_a_search_reads_few_nightlies(patch: Row) -> None:
    """Of a hundred nightlies, a search reads no more than ten."""
    nightlies = [
        subject(f"2.1.dev2026{month:02}{day:02}", mod=HAS if month < 3 else LACKS)
        for month in range(1, 5)
        for day in range(1, 26)
    ]
    broke_in = break_of(patch, releases(v2=HAS, v3=LACKS))
    broke_on = break_between(patch, by_day(nightlies), broke_in)
    days = [end and end[:10] for end in broke_on.ends]
    assert days == ["2026-02-25", "2026-03-01"]
    read = [nightly for nightly in nightlies if "_facts" in vars(nightly)]
    assert len(read) <= 10


def test_a_nightly_before_the_release_that_holds_is_looked_for(patch: Row) -> None:
    """If no nightly after the release that holds does, the search goes back before it."""
    days_with_target = range(8, 12)
    before_release = [
        subject(f"1.1.dev202601{day:02}", mod=HAS if day in days_with_target else LACKS)
        for day in range(1, 14)
    ]
    after_release = [subject(f"2.1.dev202601{day}", mod=LACKS) for day in range(14, 20)]
    nightlies = [*before_release, *after_release]
    broke_in = break_of(patch, releases(v2=HAS, v3=LACKS))
    broke_on = break_between(patch, by_day(nightlies), broke_in)
    days = [end and end[:10] for end in broke_on.ends]
    assert days == ["2026-01-11", "2026-01-12"]


def test_a_target_that_another_row_adds_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No release has the target of the Wrap, and the patch holds."""
    no_own_packs(monkeypatch)
    world.pack(
        row("adds", "patch_a", "Add('up.mod:C.f', by='w')"),
        row("wraps", "patch_a", "Wrap('up.mod:C.f', by='w')", after="('adds',)"),
        patch_a=BODY,
    )
    rows, _ = read_packs(Settings(), ["pack"])
    wrapping = next(patch for patch in rows if patch.name == "wraps")
    broke = break_of(wrapping, releases(v1="class C: ...\n", v2="class C: ...\n"))
    assert broke.ends == ["2", None]
