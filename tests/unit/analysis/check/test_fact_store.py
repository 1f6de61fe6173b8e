from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from pathlib import Path

FACTS = st.builds(
    Facts,
    state=st.sampled_from(["present", "absent"]),
    reason=st.sampled_from(["", "set by Python"]),
    lines=st.sampled_from([None, (1, 2)]),
    bases=st.sampled_from([(), (("up:A", "1"),)]),
)
RELEASE = st.dictionaries(st.sampled_from(["up:f", "up:A.g", "up"]), FACTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the caches are."""
    return tmp_path_factory.mktemp("cache")


@given(releases=st.lists(RELEASE, max_size=4))
def test_equal_facts_of_neighbours_are_one_object(
    folder: Path, releases: list[dict[str, Facts]]
) -> None:
    """What is read is what was written, whatever was read before it."""
    store = FactStore(Cache(folder))
    for number, facts in enumerate(releases):
        data = {text: each.as_data() for text, each in facts.items()}
        store.put("facts", str(number), data)
    read = [store.facts(str(number)) for number in range(len(releases))]
    assert read == [
        {Target.parse(text): each for text, each in facts.items()} for facts in releases
    ]
    for one, other in pairwise(read):
        for target in one.keys() & other.keys():
            assert (one[target] is other[target]) == (one[target] == other[target])


def test_a_release_without_facts(tmp_path: Path) -> None:
    """It has none, rather than those of another one."""
    assert FactStore(Cache(tmp_path)).facts("up 1") == {}


def test_few_targets_leave_room_for_source(tmp_path: Path) -> None:
    """The facts of many targets take memory, and a single one among them does not change that."""
    store = FactStore(Cache(tmp_path))
    store.expect(60)
    of_few = store.parsed.limit
    store.expect(1_000)
    of_many = store.parsed.limit
    assert of_many < of_few
    store.expect(1)
    assert store.parsed.limit == of_many
