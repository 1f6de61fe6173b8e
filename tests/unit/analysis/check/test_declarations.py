"""Faults in rows themselves: their ranges, their order, and what they lack."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.changes_of_f import BODY, REPLACE, WRAP
from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("up<2", "up>=2", []),
        ("up<2", "up>=3", ["PK302"]),
        ("up<3", "up>=2", ["PK303"]),
    ],
)
def test_alternative_places_leave_no_gap_and_no_overlap(
    world: World, first: str, second: str, expected: list[str]
) -> None:
    """In each release of the row's range exactly one of the alternative places has to be due."""
    changes = (
        f"AfterImport('up.a.mod', call='g', requires=({first!r},))",
        f"AfterImport('up.b.mod', call='g', requires=({second!r},))",
    )
    world.pack(row("p", "patch_a", *changes), patch_a=BODY)
    releases = [subject(f"{number}.0", a__mod="", b__mod="") for number in (1, 2, 3)]
    assert codes(checked(releases)) == expected


def test_changes_with_a_when_of_their_own_may_overlap(world: World) -> None:
    """Changes that have a `when` may be due in the same release, and each is judged."""
    fields = "by='g', requires=('up>=1',), when='due'"
    changes = f"Replace('up.mod:f', {fields})", f"Replace('up.late:f', {fields})"
    body = f"{BODY}def due(): return True\n"
    world.pack(row("p", "patch_a", *changes, requires="('up>=1,<2',)"), patch_a=body)
    report = checked([subject("1.0", mod="def f(a, b=1): ...")])
    assert codes(report) == ["PK101"]
    assert only_finding(report, "PK101").target == "up.late:f"
    assert "due decides where it would apply" in only_finding(report, "PK101").message


def test_a_range_without_a_release(world: World) -> None:
    """A range that no release is in is an error; a range without an end is a note."""
    world.pack(
        row("never", "patch_a", REPLACE, requires="('up>=9,<10',)"),
        row("open", "patch_b", REPLACE, requires="('up>=1',)", after="('never',)"),
        row("shut", "patch_c", REPLACE, requires="('up>=1,<9999',)", after="('open',)"),
        patch_a=BODY,
        patch_b=BODY,
        patch_c=BODY,
    )
    report = checked(
        [subject("1.0", mod="def f(a): ...")], known={"up": ["1.0", "2.0"]}
    )
    assert codes(report) == ["PK301"]
    assert only_finding(report, "PK301").patch == "never"
    assert only_finding(report, "PK304").patch == "open"


def test_a_range_that_nothing_can_be_in_needs_no_index(world: World) -> None:
    """Bounds that contradict each other are found without any release."""
    narrow = "Replace('up.mod:f', by='g', requires=('up<1',))"
    rows = (
        row("p", "patch_a", REPLACE, requires="('up>=2,<1',)"),
        row("q", "patch_a", narrow),
    )
    world.pack(*rows, patch_a=BODY)
    findings = [
        finding for finding in checked([]).findings if finding.code.code == "PK301"
    ]
    assert [finding.message.partition(" can ")[2] for finding in findings] == [
        "match up>=2,<1",
        "match up>=1, up<1",
    ]
    assert [finding.target for finding in findings] == ["", "up.mod:f"]


def test_two_patches_without_order(world: World) -> None:
    """Two patches of one target without an order are one finding, with the releases they share."""
    world.pack(
        row("one", "patch_a", WRAP),
        row("two", "patch_b", WRAP),
        patch_a=BODY,
        patch_b=BODY,
    )
    finding = only_finding(checked([subject("1.0", mod="def f(): ...")]), "PK401")
    assert (finding.patch, finding.target, finding.details) == (
        "two",
        "up.mod:f",
        ["up 1.0"],
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("AddField('up.mod:C', 'y', 'int', 0)", []),
        ("Replace('up.mod:C', by='Sub')", ["PK401"]),
    ],
)
def test_fields_of_one_class_need_no_order(
    world: World, other: str, expected: list[str]
) -> None:
    """Several patches may add fields to a class: fields are passed by name. A Replace differs."""
    rows = (
        row("one", "patch_a", "AddField('up.mod:C', 'x', 'int', 0)"),
        row("two", "patch_b", other),
    )
    body = "from up.mod import C\nclass Sub(C): ...\n"
    world.pack(*rows, patch_a=body, patch_b=body)
    mod = "import dataclasses\n@dataclasses.dataclass\nclass C: ...\n"
    assert codes(checked([subject("1.0", mod=mod)])) == expected


@pytest.mark.parametrize("kind", ["Wrap", "Replace"])
def test_a_row_that_adds_the_target_comes_first(world: World, kind: str) -> None:
    """The fix puts the other row after it, whichever stands first now."""
    add = row("adds", "patch_a", "Add('up.mod:f', by='g')")
    change = row("changes", "patch_b", f"{kind}('up.mod:f', by='g')")
    for rows in ((add, change), (change, add)):
        world.pack(*rows, patch_a=BODY, patch_b=BODY)
        sys.modules.pop("pack", None)
        finding = only_finding(checked([subject("1.0", mod="")]), "PK401")
        assert "after=('adds',) in changes" in finding.fix


def test_each_missing_text_of_a_row_is_a_finding(world: World) -> None:
    """A row that lacks `upstream` and `sunset` has a finding for each."""
    world.pack(row("p", "patch_a", WRAP, why="'It fails.'"), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    found = [finding.code.code for finding in report.findings]
    missing = [code for code in found if code.startswith("PK51")]
    assert missing == ["PK512", "PK513"]
    assert only_finding(report, "PK512").line == 2


@pytest.mark.parametrize("field", ["when", "verify"])
def test_what_a_row_asks_is_a_function(world: World, field: str) -> None:
    """A constant cannot be called; the finding is at its line in the body."""
    world.pack(row("p", "patch_a", WRAP, **{field: "'N'"}), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    finding = only_finding(report, "PK102")
    assert (finding.line, report.grid["p"]["up 1.0"]) == (3, "broken")
