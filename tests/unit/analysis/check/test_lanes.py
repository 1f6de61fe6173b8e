from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY, row

from patchkit.analysis.check.lanes import read_lanes
from patchkit.analysis.check.matrix import boundaries
from patchkit.errors import SettingsError
from patchkit.registry import OWN_PACKS, read_pack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from support.packages import World

    from patchkit.analysis.check.matrix import Boundary
    from patchkit.core.rows.declaration import Row

OURS = REPOSITORY / "lanes.toml"
DATA = REPOSITORY / "tests" / "unit" / "data"
RELEASED = ("2.0", "3.0", "4.0", "5.0", "6.0")
MALFORMED = {
    "": "lanes: found nothing, expected a table of lanes",
    "[lanes": "found no TOML, ",
    "[lane.a]": "found the unknown key 'lane', expected [lanes.NAME] and [boundaries]",
    "lanes = 1": "lanes: found 1, expected a table of lanes",
    "[lanes]\na = 1": "lanes.a: found 1, expected a table",
    "[lanes.a]": "lanes.a.releases: found nothing, expected a table such as { vllm = '0.32.0' }",
    "[lanes.a.releases]\nup = 3": "lanes.a.releases.up: found 3, expected a release such as",
    "[lanes.a.releases]\nup = 'x'": "lanes.a.releases.up: found 'x', expected the version of",
    "[lanes.a]\nreleases = {}\nreason = 1": "lanes.a.reason: found 1, expected why it cannot run",
    "[lanes]\n[boundaries]\n'up<2' = 1": "boundaries.up<2: found 1, expected why no lane covers it",
}


def covered(
    world: World, lanes: str, *requires: str, released: Sequence[str] = RELEASED
) -> list[Boundary]:
    """Which ends of a row's range lanes cover; further requirements are those of its changes."""
    changes = [
        f"Wrap('up.mod:f', by='w', requires=({text!r},))" for text in requires[1:]
    ]
    written = row(
        "p",
        "patch_a",
        *changes or ["Wrap('up.mod:f', by='w')"],
        requires=repr(requires[:1]),
    )
    world.pack(written, patch_a="")
    file = world.folder / "lanes.toml"
    file.write_text(lanes)
    return boundaries(read_pack("pack"), read_lanes(file), lambda _: released)


def lanes_of(*releases: str, more: str = "") -> str:
    """A file with one lane for each release of `up`, named after it, and more text behind."""
    tables = [
        f"[lanes.'{release}']\nreleases = {{ Up = '{release}' }}\n"
        for release in releases
    ]
    return "".join(tables) + more


@pytest.mark.parametrize(
    ("releases", "expected"),
    [
        (["3.0", "5.0"], [("exact", ["3.0"]), ("exact", ["5.0"])]),
        (["3", "5.0.0+cu1"], [("exact", ["3"]), ("exact", ["5.0.0+cu1"])]),
        (
            ["2.0", "4.0", "6.0"],
            [("both sides", ["4.0", "2.0"]), ("both sides", ["4.0", "6.0"])],
        ),
        (
            ["1.0", "8.0", "4.5", "2.0", "3.5", "7.0"],
            [("both sides", ["3.5", "2.0"]), ("both sides", ["4.5", "7.0"])],
        ),
        (["2.0", "6.0"], [("no", []), ("no", [])]),
        (["4.0"], [("no", []), ("no", [])]),
        (["2.0", "4.0"], [("both sides", ["4.0", "2.0"]), ("no", [])]),
    ],
)
def test_a_lane_at_the_end_or_one_on_each_side_covers_an_end(
    releases: list[str], expected: list[object], world: World
) -> None:
    """A lane at the end of a range covers it, and so do the nearest lanes on both sides of it."""
    ends_of_range = covered(world, lanes_of(*releases), "up>=3,<6")
    ends = [(boundary.requirement, boundary.edge) for boundary in ends_of_range]
    assert ends == [("up>=3", "3.0"), ("up<6", "5.0")]
    coverage = [(boundary.covered, [*boundary.lanes]) for boundary in ends_of_range]
    assert coverage == expected


@pytest.mark.parametrize(
    ("bound", "edge", "expected"), [("up<9", "6.0", "exact"), ("up>=9", None, "no")]
)
def test_a_range_may_end_beyond_what_is_released(
    bound: str, edge: str | None, expected: str, world: World
) -> None:
    """The newest release ends a range that goes beyond it; an end with none inside has no lane."""
    (end,) = covered(world, lanes_of("6.0"), bound)
    assert (end.edge, end.covered) == (edge, expected)


def test_changes_have_bounds_of_their_own_within_those_of_the_patch(
    world: World,
) -> None:
    """A lane that the patch's range leaves out covers nothing of a change."""
    end_of_patch, *ends_of_changes = covered(
        world, lanes_of("3.0", "6.0"), "up>=3", "up<5", "up>=5"
    )
    assert (end_of_patch.change, end_of_patch.covered) == (None, "exact")
    coverage = [
        (end.change, end.requirement, end.covered, [*end.lanes])
        for end in ends_of_changes
    ]
    assert coverage == [
        (1, "up<5", "both sides", ["3.0", "6.0"]),
        (2, "up>=5", "both sides", ["6.0", "3.0"]),
    ]
    (_, outside, _) = covered(world, lanes_of("2.0", "3.0"), "up<3", "up<5", "up>=5")
    assert outside.covered == "no"


def test_another_distribution_must_be_within_its_bounds(world: World) -> None:
    """A lane that is outside two bounds, or names one distribution only, covers no end."""
    wrap, requires = "Wrap('up.mod:f', by='w')", "('up<5', 'side<2')"
    world.pack(row("p", "patch_a", wrap, requires=requires), patch_a="")
    text = "[lanes.{0}]\nreleases = {{ up = '{1}', side = '{2}' }}\n"
    file = world.folder / "lanes.toml"

    def coverage(*lanes: tuple[str, str, str]) -> list[str]:
        only = "[lanes.only]\nreleases = { up = '4.0' }\n"
        file.write_text(only + "".join(text.format(*lane) for lane in lanes))
        released = {"up": RELEASED, "side": ("1.0", "1.5", "2.0")}
        ends = boundaries(read_pack("pack"), read_lanes(file), released.__getitem__)
        return [end.covered for end in ends]

    assert coverage(("in", "3.0", "1.0"), ("out", "6.0", "2.0")) == ["no", "no"]
    assert coverage(("in", "3.0", "1.0"), ("out", "6.0", "1.0")) == ["both sides", "no"]


def test_a_reason_stands_in_for_a_lane(world: World) -> None:
    """A reason, of one patch or of all, covers an end that no lane covers."""
    reasons = (
        "[boundaries]\n'up>=3' = 'for all'\n'p up>=3' = 'for p'\n'up<6' = 'too new'\n"
    )
    first, last = covered(world, lanes_of("5.0", more=reasons), "up>=3,<6")
    assert (first.covered, first.reason) == ("reason", "for p")
    assert (last.covered, last.reason, [*last.lanes]) == ("exact", "", ["5.0"])


def test_a_lane_that_cannot_run_covers_nothing(world: World) -> None:
    """A lane that has a reason why it cannot run covers no end."""
    (end,) = covered(world, lanes_of("6.0") + "reason = 'no build'\n", "up<9")
    assert end.covered == "no"


@pytest.mark.parametrize(("text", "expected"), MALFORMED.items())
def test_a_malformed_file_is_one_error(
    text: str, expected: str, tmp_path: Path
) -> None:
    """The error names the file, the field, what was found and what was expected."""
    file = tmp_path / "lanes.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read_lanes(file)
    assert str(file) in str(caught.value)
    assert expected in str(caught.value)


def test_a_lane_that_only_imports_says_so(world: World) -> None:
    """A lane that only imports is named so, unless another lane at the same end runs more."""
    only = lanes_of("6.0") + "runs = 'import'\n"
    (end,) = covered(world, only, "up<9")
    assert (end.covered, [*end.lanes]) == ("imported only", ["6.0"])
    more = "[lanes.more]\nreleases = { up = '6.0' }\nruns = 'engine'\n"
    (end,) = covered(world, only + more, "up<9")
    assert (end.covered, [*end.lanes]) == ("exact", ["more"])


def used_keys(
    boundaries_found: Sequence[Boundary], reasons: Mapping[str, str]
) -> set[str]:
    """The keys of `[boundaries]` that excuse something: a patch's own comes before that of all."""
    excused = [
        boundary for boundary in boundaries_found if boundary.covered == "reason"
    ]
    keys = [
        (f"{boundary.patch} {boundary.requirement}", boundary.requirement)
        for boundary in excused
    ]
    return {own if own in reasons else of_all for own, of_all in keys}


def test_a_reason_that_excuses_nothing_is_known_by_its_key(world: World) -> None:
    """Only the key that excuses an end is used, though that of all patches has the same text."""
    text = "[boundaries]\n'up<6' = 'x'\n'p up<6' = 'x'\n'up>=3' = 'x'\n'up<5' = 'x'\n"
    ends = covered(world, lanes_of("3.0", more=text), "up>=3,<6")
    reasons = dict.fromkeys(("up<6", "p up<6", "up>=3", "up<5"), "x")
    assert used_keys(ends, reasons) == {"p up<6"}


def test_every_end_of_our_own_ranges_has_a_lane_or_a_reason() -> None:
    """lanes.toml has a lane or a reason for each end, and no reason that is not needed."""
    lanes = read_lanes(OURS)
    rows: list[Row] = []
    for pack in (*OWN_PACKS, "patchkit.data_llm"):
        rows += read_pack(pack)

    def released(name: str) -> list[str]:
        return (DATA / f"versions_{name}.txt").read_text().split()

    ends = boundaries(rows, lanes, released)
    assert len(ends) > 50
    uncovered = [end for end in ends if end.covered == "no"]
    assert [f"{end.patch}: {end.requirement}" for end in uncovered] == []
    unused = lanes.reasons.keys() - used_keys(ends, lanes.reasons)
    assert unused == set()
