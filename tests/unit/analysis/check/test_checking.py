"""Checks of all rows in all releases: what counts, what cannot be read, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.changes_of_f import BODY, REPLACE, WRAP
from analysis.check.released import (
    Memory,
    broken,
    checked,
    codes,
    files_of,
    only_finding,
    subject,
)
from patchkit.analysis.check.releases import CheckedRelease

if TYPE_CHECKING:
    from support.packages import World


def test_a_missing_target_is_followed(world: World) -> None:
    """The message says where a target went, found by the source of an earlier release."""
    source = "def f(alpha, beta):\n    return [alpha + one for one in beta]\n"
    world.pack(row("p", "patch_a", REPLACE), patch_a="def g(alpha, beta): ...")
    before, after = subject("1.0", mod=source), subject("2.0", mod="", new=source)
    finding = only_finding(checked([before, after]), "PK101")
    assert (finding.release, finding.target) == ("up 2.0", "up.mod:f")
    assert "moved to up.new:f" in finding.message


def test_only_releases_in_range_count(world: World) -> None:
    """Out of range nothing is looked at; a change's own requirements narrow the row's."""
    old = "Replace('up.mod:f', by='g', requires=('up<2',))"
    new = "Replace('up.new:f', by='g', requires=('up>=2',))"
    world.pack(
        row("p", "patch_a", old, new, requires="('up>=1,<3', 'else')"), patch_a=BODY
    )
    releases = [
        subject("0.9"),
        subject("1.0", mod="def f(a): ..."),
        subject("2.0", new="def f(a): ..."),
        subject("3.0"),
    ]
    report = checked(releases)
    assert codes(report) == []
    states = [str(report.grid["p"][release.name]) for release in releases]
    assert states == ["out-of-range", "ok", "ok", "out-of-range"]


def test_a_row_for_two_upstreams_is_in_range_where_it_changes_one(world: World) -> None:
    """The range of a change of one upstream says nothing about releases of the other."""
    here = "Replace('up.mod:f', by='g', requires=('up>=2',))"
    there = "Replace('else_.mod:f', by='g', requires=('else_>=1',))"
    requires = "('up', 'else_')"
    world.pack(row("p", "patch_a", here, there, requires=requires), patch_a=BODY)
    releases = [
        subject("1.0", mod="def f(a): ..."),
        subject("2.0", mod="def f(a): ..."),
    ]
    states = checked(releases).grid["p"].values()
    assert [str(state) for state in states] == ["out-of-range", "ok"]


def test_a_release_that_cannot_be_read_stops_no_other(world: World) -> None:
    """A release that cannot be read is one finding and has no state; the others are judged."""
    world.pack(row("p", "patch_a", REPLACE), patch_a=BODY)
    report = checked([broken("1.0"), subject("2.0", mod="def f(a): ...")])
    assert codes(report) == ["PK901"]
    assert report.releases == ["up 1.0", "up 2.0"]
    assert report.grid["p"] == {"up 2.0": "ok"}


def test_bodies_and_rows_that_miss_each_other(world: World) -> None:
    """A body without a row and a row without a body are findings; the other rows are checked."""
    world.pack(
        row("lost", "patch_lost", WRAP),
        row("p", "patch_a", WRAP, after="('lost',)"),
        patch_a=BODY,
        patch_loose="",
    )
    report = checked([subject("1.0", mod="def f(): ...")])
    assert codes(report) == ["PK501", "PK502"]
    assert only_finding(report, "PK501").message.startswith(
        "no row of pack pack names patch_loose.py"
    )
    assert only_finding(report, "PK502").patch == "lost"
    assert report.grid == {"lost": {"up 1.0": "broken"}, "p": {"up 1.0": "ok"}}


@pytest.mark.parametrize(
    ("named", "meant"),
    [("patch_loos", "patch_loose"), ("patch_something_else", "")],
)
def test_a_body_that_is_nearly_named_is_told(
    world: World, named: str, meant: str
) -> None:
    """The fix names the file that is there."""
    world.pack(row("p", named, WRAP), patch_loose=BODY)
    finding = only_finding(checked([subject("1.0", mod="def f(): ...")]), "PK502")
    if meant:
        assert finding.message.endswith(f"; did you mean {meant}?")
        assert finding.fix == f"name {meant} in the row"
    else:
        assert finding.fix == f"write {named}.py, or delete the row"


def test_a_body_is_named_without_its_pack(world: World) -> None:
    """One finding says to leave the pack's name out; the body counts as named by the row."""
    world.pack(row("p", "pack.patch_a", WRAP), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    assert codes(report) == ["PK502"]
    finding = only_finding(report, "PK502")
    assert finding.message.endswith("by this name; did you mean patch_a?")
    assert finding.fix == "name patch_a in the row, without the pack's name in front"


def test_what_provides_a_package_stands_for_it(world: World) -> None:
    """A release of another distribution that holds `up` is held against the bounds on `up`."""
    old_range = row("old", "patch_a", REPLACE, requires="('up>=1,<2',)")
    new_range = row("new", "patch_a", REPLACE, requires="('up>=2,<3',)")
    two_ranges = row("more", "patch_a", REPLACE, requires="('up>=2', 'up-nightly<2.5')")
    world.pack(old_range, new_range, two_ranges, patch_a=BODY)
    source = Memory("n", "2.5", files_of({"mod": "def f(a): ...\n"}))
    nightly = CheckedRelease("up-nightly 2.5", "up-nightly", "2.5", lambda: source)
    grid = checked([nightly]).grid
    states = {name: str(*by_release.values()) for name, by_release in grid.items()}
    assert states == {
        "old": "out-of-range",
        "new": "ok",
        "more": "out-of-range",
    }


def test_what_a_call_sets_is_reported_under_its_own_name(world: World) -> None:
    """Also in a package that the row does not require, and where no order is stated."""
    call = "AfterImport('up.mod', call='g', sets=('up.mod:f', 'other.mod:f'))"
    world.pack(
        row("p", "patch_a", call), row("q", "patch_b", WRAP), patch_a=BODY, patch_b=BODY
    )
    report = checked([subject("1.0", mod="def f(a, b=1): ...")])
    assert only_finding(report, "PK401").target == "up.mod:f"
    assert "other" in only_finding(report, "PK306").message
    report = checked([subject("1.0", mod="x = 1")])
    missing = [each for each in report.findings if each.code.code == "PK101"]
    assert {(each.patch, each.target) for each in missing} == {
        ("p", "up.mod:f"),
        ("q", "up.mod:f"),
    }


def test_a_body_in_a_folder_of_the_pack_is_to_be_moved(world: World) -> None:
    """The fix names no file that Python would not import by that name."""
    world.pack(row("p", "patches.patch_x", WRAP), other_a=BODY)
    finding = only_finding(checked([subject("1.0", mod="def f(): ...")]), "PK502")
    assert finding.fix == (
        "move it to patch_x.py in the folder of the pack, and name patch_x in the row"
    )
