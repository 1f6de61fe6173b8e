from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, log2
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.bisection import Search, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    Set = frozenset[str]
    Before = Mapping[str, Collection[str]]

SIXTY = [f"patch-{number:02}" for number in range(60)]


@dataclass
class Trials:
    """A search that was made: the sets that it tried, and its answer."""

    tried: list[Set]
    answer: Set
    last: list[str]


def bisect(order: list[str], before: Before, verdict: Callable[[Set], bool]) -> Trials:
    """Search as the command does: none first."""
    tried: list[Set] = []

    def fails(patches: Set) -> bool:
        tried.append(patches)
        return verdict(patches)

    search = Search(order, before, fails)
    assert not search.fails(frozenset())
    answer = search.minimal()
    return Trials(tried, answer, search.last(answer))


def seeded(
    culprits: Collection[str], order: list[str] = SIXTY, before: Before | None = None
) -> Trials:
    """Search where exactly the sets fail that hold all culprits."""
    wanted = frozenset(culprits)
    return bisect(order, before or {}, lambda it: wanted <= it)


def closed_sets(order: list[str], before: Before) -> list[Set]:
    """Every set in which no patch is without those it comes after: one by one, by definition."""
    every = [
        frozenset(some)
        for size in range(len(order) + 1)
        for some in combinations(order, size)
    ]
    return [one for one in every if all(set(before[name]) <= one for name in one)]


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[str], dict[str, list[str]]]:
    """A few patches, of which some come after earlier ones."""
    order = [chr(ord("a") + number) for number in range(draw(st.integers(1, 6)))]
    before = {
        name: draw(st.lists(st.sampled_from(order[:at]), max_size=2, unique=True))
        if at
        else []
        for at, name in enumerate(order)
    }
    return order, before


def removals(found: Set, closed: list[Set]) -> list[Set]:
    """The sets that are left without one patch, where the others can do without it."""
    return [found - {name} for name in found if found - {name} in closed]


@given(orders(), st.data())
def test_the_answer_fails_and_nothing_can_be_taken_away(
    rows: tuple[list[str], dict[str, list[str]]], data: st.DataObject
) -> None:
    """Whatever the verdicts: it is 1-minimal, and no set is tried twice."""
    order, before = rows
    closed = closed_sets(order, before)
    verdicts = {one: data.draw(st.booleans()) for one in closed}
    verdicts.update({frozenset(order): True, frozenset(): False})
    # KeyError for a set that is not closed.
    done = bisect(order, before, verdicts.__getitem__)
    assert verdicts[done.answer]
    assert not any(verdicts[rest] for rest in removals(done.answer, closed))
    assert len(done.tried) == len(set(done.tried))


@given(orders(), st.data())
def test_where_more_patches_never_cure_the_answer_is_minimal(
    rows: tuple[list[str], dict[str, list[str]]], data: st.DataObject
) -> None:
    """No smaller set inside it fails, by trying them all; few trials lead to it."""
    order, before = rows
    closed = closed_sets(order, before)
    seeds = data.draw(st.lists(st.sampled_from(closed[1:]), min_size=1, max_size=3))
    failing = [one for one in closed if any(seed <= one for seed in seeds)]
    done = bisect(order, before, lambda it: it in failing)
    assert done.answer in failing
    assert not [one for one in failing if one < done.answer]
    each = ceil(log2(len(order))) + 3
    assert len(done.tried) <= 2 + each * len(done.answer)


@given(orders(), st.data())
def test_the_last_of_a_set_bring_all_others_with_them(
    rows: tuple[list[str], dict[str, list[str]]], data: st.DataObject
) -> None:
    """They are those that no other comes after."""
    order, before = rows
    some = data.draw(st.sampled_from(closed_sets(order, before)))
    inner = {other for name in some for other in before[name]}
    search = Search(order, before, lambda _: False)
    assert search.last(some) == [
        name for name in order if name in some and name not in inner
    ]


@pytest.mark.parametrize("culprit", SIXTY)
def test_one_culprit_of_sixty(culprit: str) -> None:
    """It is found in eight trials, none of them included, and is seen to fail alone."""
    done = seeded([culprit])
    assert done.answer == {culprit}
    assert len(done.tried) <= 8
    assert frozenset({culprit}) in done.tried


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 9, 31, 32, 33, 60, 64, 65, 100])
def test_one_culprit_takes_as_many_trials_as_tell_it_from_the_others(size: int) -> None:
    """One for none, one for it alone, and log2 n between; one more among the last, to be sure."""
    order = [f"patch-{number:03}" for number in range(size)]
    least = 2 + ceil(log2(size))
    most = [len(seeded([culprit], order).tried) for culprit in order]
    last = size // 8
    assert max(most[: size - last]) <= least
    assert max(most) <= least + 1


def test_every_pair_of_sixty() -> None:
    """At most sixteen trials, none included."""
    most = 0
    for pair in combinations(SIXTY, 2):
        done = seeded(pair)
        assert done.answer == set(pair)
        most = max(most, len(done.tried))
    assert most <= 16


def test_a_failure_that_is_not_there() -> None:
    """The answer is empty where all together pass, which is tried after three sets that pass."""
    done = bisect(SIXTY, {}, lambda _: False)
    assert done.answer == frozenset()
    assert [len(patches) for patches in done.tried] == [0, 32, 48, 56, 60]


def test_a_failure_that_is_not_there_among_two() -> None:
    """Where few sets can be tried, all together are tried once the last does not fail alone."""
    done = bisect(["a", "b"], {}, lambda _: False)
    assert done.answer == frozenset()
    assert done.tried[-1] == {"a", "b"}


def test_a_chain_is_named_by_its_end() -> None:
    """What comes after others is tried with them, and they are not blamed."""
    chain = {name: SIXTY[:at] for at, name in enumerate(SIXTY[:5])}
    done = seeded([SIXTY[3]], before=chain)
    assert done.answer == set(SIXTY[:4])
    assert done.last == [SIXTY[3]]


def test_what_a_run_shows() -> None:
    """Its exit code, unless that is 125, or a patch could not be applied without the others."""
    verdicts = [judged({"exit": code, "failed": []}) for code in (1, 0, 125)]
    assert verdicts == ["bad", "good", "skipped"]
    alone = {"exit": 1, "failed": ["a"]}
    assert (judged(alone), judged(alone, ["a"])) == ("skipped", "bad")


def test_names_outside_the_order_do_not_count() -> None:
    """A patch may come after one that does not apply here."""
    assert seeded(["b"], ["a", "b"], {"b": ["elsewhere"]}).answer == {"b"}
