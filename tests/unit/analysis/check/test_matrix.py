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
def test_few_chooses_a_minimal_set_that_meets_all(wanted: list[frozenset[int]]) -> None:
    """Each case is met by a release that is chosen, and no chosen release can be left out."""
    by_name = {str(number): releases for number, releases in enumerate(wanted)}
    chosen = set(few(by_name))
    assert all(releases & chosen for releases in wanted)
    for release in chosen:
        others = chosen - {release}
        assert not all(releases & others for releases in wanted)


def test_ends_of_ranges_and_sources(world: World) -> None:
    """The first and the last release in range are cases, and one release of each source."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:f', by='w')", requires="('up>=2,<6',)"),
        patch_a="",
    )
    sources = {2: "1", 3: "2", 4: "2", 5: "3"}
    releases = [
        subject(f"{number}.0", mod=f"def f(): return {sources.get(number, 0)}")
        for number in range(1, 8)
    ]
    by_name, faults = cases(read_pack("pack"), [*releases, broken("8.0")])
    chosen = [releases[index].version for index in few(by_name)]
    assert chosen == ["2.0", "4.0", "5.0"]
    assert set(faults) == set()
    names = {str(name) for name, indexes in by_name.items() if indexes == {4}}
    names_of_source = {name for name in names if name.startswith("up.mod:f")}
    assert len(names_of_source) == 1
    assert names == {"last release of p"} | names_of_source
