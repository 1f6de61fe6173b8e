from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from support.packages import row

from analysis.check.released import broken, subject
from patchkit.analysis.check.matrix import cases, few
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from support.packages import World

SETS = st.lists(st.frozensets(st.integers(0, 7), min_size=1), max_size=7)


@given(SETS)
def test_a_set_that_meets_all(wanted: list[frozenset[int]]) -> None:
    """Every case is exercised, and no release can be left out."""
    found = set(few({str(number): one for number, one in enumerate(wanted)}))
    assert all(one & found for one in wanted)
    for at in found:
        assert not all(one & (found - {at}) for one in wanted)


def test_ends_of_ranges_and_sources(world: World) -> None:
    """The first and last release in range, and one of each source; unreadable ones are told."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:f', by='w')", requires="('up>=2,<6',)"),
        patch_a="",
    )
    sources = {2: "1", 3: "2", 4: "2", 5: "3"}
    releases = [
        subject(f"{number}.0", mod=f"def f(): return {sources.get(number, 0)}")
        for number in range(1, 8)
    ]
    found, faults = cases(read_pack("pack"), [*releases, broken("8.0")])
    assert [releases[at].version for at in few(found)] == ["2.0", "4.0", "5.0"]
    assert set(faults) == set()
    assert {name for name, places in found.items() if places == {4}} == {
        "last release of p",
        next(
            name for name in found if name.startswith("up.mod:f") and found[name] == {4}
        ),
    }
