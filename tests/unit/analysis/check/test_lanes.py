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

OURS = REPOSITORY / "lanes.toml"
DATA = REPOSITORY / "tests" / "unit" / "data"
WHOLE = ("2.0", "3.0", "4.0", "5.0", "6.0")
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
    world: World, lanes: str, *requires: str, released: Sequence[str] = WHOLE
) -> list[Boundary]:
    """What lanes cover of a row whose two changes narrow its range."""
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
    tables = [f"[lanes.'{one}']\nreleases = {{ Up = '{one}' }}\n" for one in releases]
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
def test_a_lane_at_the_end_or_one_on_each_side_covers_it(
    releases: list[str], expected: list[object], world: World
) -> None:
    """The nearest inside, and the nearest that this bound keeps outside; never one side alone."""
    found = covered(world, lanes_of(*releases), "up>=3,<6")
    assert [(one.requirement, one.edge) for one in found] == [
        ("up>=3", "3.0"),
        ("up<6", "5.0"),
    ]
    assert [(one.covered, [*one.lanes]) for one in found] == expected


@pytest.mark.parametrize(
    ("bound", "edge", "expected"), [("up<9", "6.0", "exact"), ("up>=9", None, "no")]
)
def test_a_range_may_end_beyond_what_is_released(
    bound: str, edge: str | None, expected: str, world: World
) -> None:
    """The newest release is the last inside; where none is inside, no lane can cover the end."""
    (found,) = covered(world, lanes_of("6.0"), bound)
    assert (found.edge, found.covered) == (edge, expected)


def test_changes_have_bounds_of_their_own_within_those_of_the_patch(
    world: World,
) -> None:
    """A lane that the patch's range leaves out covers nothing of a change."""
    first, *rest = covered(world, lanes_of("3.0", "6.0"), "up>=3", "up<5", "up>=5")
    assert (first.change, first.covered) == (None, "exact")
    found = [(one.change, one.requirement, one.covered, [*one.lanes]) for one in rest]
    assert found == [
        (1, "up<5", "both sides", ["3.0", "6.0"]),
        (2, "up>=5", "both sides", ["6.0", "3.0"]),
    ]
    (_, outside, _) = covered(world, lanes_of("2.0", "3.0"), "up<3", "up<5", "up>=5")
    assert outside.covered == "no"


def test_another_distribution_must_be_within_its_bounds(world: World) -> None:
    """Outside by two bounds says nothing of one of them; nor does a lane that names one only."""
    wrap, requires = "Wrap('up.mod:f', by='w')", "('up<5', 'side<2')"
    world.pack(row("p", "patch_a", wrap, requires=requires), patch_a="")
    text = "[lanes.{0}]\nreleases = {{ up = '{1}', side = '{2}' }}\n"
    file = world.folder / "lanes.toml"

    def found(*lanes: tuple[str, str, str]) -> list[str]:
        only = "[lanes.only]\nreleases = { up = '4.0' }\n"
        file.write_text(only + "".join(text.format(*lane) for lane in lanes))
        released = {"up": WHOLE, "side": ("1.0", "1.5", "2.0")}
        every = boundaries(read_pack("pack"), read_lanes(file), released.__getitem__)
        return [one.covered for one in every]

    assert found(("in", "3.0", "1.0"), ("out", "6.0", "2.0")) == ["no", "no"]
    assert found(("in", "3.0", "1.0"), ("out", "6.0", "1.0")) == ["both sides", "no"]


def test_a_reason_stands_in_for_a_lane(world: World) -> None:
    """For one patch, or for all; where lanes cover the end, they are named."""
    both = (
        "[boundaries]\n'up>=3' = 'for all'\n'p up>=3' = 'for p'\n'up<6' = 'too new'\n"
    )
    first, last = covered(world, lanes_of("5.0", more=both), "up>=3,<6")
    assert (first.covered, first.reason) == ("reason", "for p")
    assert (last.covered, last.reason, [*last.lanes]) == ("exact", "", ["5.0"])


def test_a_lane_that_cannot_run_covers_nothing(world: World) -> None:
    """It is in the file for its reason."""
    (found,) = covered(world, lanes_of("6.0") + "reason = 'no build'\n", "up<9")
    assert found.covered == "no"


@pytest.mark.parametrize(("text", "expected"), MALFORMED.items())
def test_a_malformed_file_is_one_error(
    text: str, expected: str, tmp_path: Path
) -> None:
    """With the file, the field, what was found and what was expected."""
    file = tmp_path / "lanes.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read_lanes(file)
    assert str(file) in str(caught.value)
    assert expected in str(caught.value)


def test_a_lane_that_only_imports_says_so(world: World) -> None:
    """One at the same end that runs more comes first, wherever it is written."""
    only = lanes_of("6.0") + "runs = 'import'\n"
    (found,) = covered(world, only, "up<9")
    assert (found.covered, [*found.lanes]) == ("imported only", ["6.0"])
    more = "[lanes.more]\nreleases = { up = '6.0' }\nruns = 'engine'\n"
    (found,) = covered(world, only + more, "up<9")
    assert (found.covered, [*found.lanes]) == ("exact", ["more"])


def used_keys(found: Sequence[Boundary], reasons: Mapping[str, str]) -> set[str]:
    """The keys of `[boundaries]` that excuse something: a patch's own comes before that of all."""
    excused = [one for one in found if one.covered == "reason"]
    keys = [(f"{one.patch} {one.requirement}", one.requirement) for one in excused]
    return {own if own in reasons else of_all for own, of_all in keys}


def test_a_reason_that_excuses_nothing_is_known_by_its_key(world: World) -> None:
    """Also where another bound, which is excused, has the same text."""
    text = "[boundaries]\n'up<6' = 'x'\n'p up<6' = 'x'\n'up>=3' = 'x'\n'up<5' = 'x'\n"
    found = covered(world, lanes_of("3.0", more=text), "up>=3,<6")
    reasons = dict.fromkeys(("up<6", "p up<6", "up>=3", "up<5"), "x")
    assert used_keys(found, reasons) == {"p up<6"}


def test_every_end_of_our_own_ranges_has_a_lane_or_a_reason() -> None:
    """In lanes.toml; and each reason there is one that is needed."""
    lanes = read_lanes(OURS)
    rows = [
        one for pack in (*OWN_PACKS, "patchkit.data_llm") for one in read_pack(pack)
    ]
    found = boundaries(
        rows, lanes, lambda name: (DATA / f"versions_{name}.txt").read_text().split()
    )
    assert len(found) > 50
    assert [
        f"{one.patch}: {one.requirement}" for one in found if one.covered == "no"
    ] == []
    assert lanes.reasons.keys() - used_keys(found, lanes.reasons) == set()
