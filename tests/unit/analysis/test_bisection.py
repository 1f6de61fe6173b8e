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
    return Trials(tried, answer, search.removable(answer))


def seeded(
    culprits: Collection[str], order: list[str] = SIXTY, before: Before | None = None
) -> Trials:
    """Search where exactly the sets fail that hold all culprits."""
    wanted = frozenset(culprits)
    return bisect(order, before or {}, lambda patches: wanted <= patches)


def closed_sets(order: list[str], before: Before) -> list[Set]:
    """Every set in which no patch is without those it comes after, tried one by one."""
    every = [
        frozenset(patches)
        for size in range(len(order) + 1)
        for patches in combinations(order, size)
    ]

    def is_closed(patches: Set) -> bool:
        return all(set(before[name]) <= patches for name in patches)

    return [patches for patches in every if is_closed(patches)]


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[str], dict[str, list[str]]]:
    """A few patches, of which some come after earlier ones."""
    order = [chr(ord("a") + number) for number in range(draw(st.integers(1, 6)))]
    before: dict[str, list[str]] = {}
    for position, name in enumerate(order):
        before[name] = []
        if position:
            earlier = st.sampled_from(order[:position])
            before[name] = draw(st.lists(earlier, max_size=2, unique=True))
    return order, before


def removals(answer: Set, closed: list[Set]) -> list[Set]:
    """The sets that are left without one patch, where the others can do without it."""
    return [answer - {name} for name in answer if answer - {name} in closed]


@given(orders(), st.data())
def test_the_answer_fails_and_nothing_can_be_taken_away(
    rows: tuple[list[str], dict[str, list[str]]], data: st.DataObject
) -> None:
    """Whatever the verdicts are, the answer fails and is 1-minimal, and no set is tried twice."""
    order, before = rows
    closed = closed_sets(order, before)
    verdicts = {patches: data.draw(st.booleans()) for patches in closed}
    verdicts.update({frozenset(order): True, frozenset(): False})
    # KeyError for a set that is not closed.
    trials = bisect(order, before, verdicts.__getitem__)
    assert verdicts[trials.answer]
    assert not any(verdicts[fewer] for fewer in removals(trials.answer, closed))
    assert len(trials.tried) == len(set(trials.tried))


@given(orders(), st.data())
def test_where_more_patches_never_cure_the_answer_is_minimal(
    rows: tuple[list[str], dict[str, list[str]]], data: st.DataObject
) -> None:
    """If more patches never cure a failure, no subset of the answer fails, and trials are few."""
    order, before = rows
    closed = closed_sets(order, before)
    seeds = data.draw(st.lists(st.sampled_from(closed[1:]), min_size=1, max_size=3))
    failing = [
        closed_set for closed_set in closed if any(seed <= closed_set for seed in seeds)
    ]
    trials = bisect(order, before, lambda patches: patches in failing)
    assert trials.answer in failing
    assert not [closed_set for closed_set in failing if closed_set < trials.answer]
    trials_per_culprit = ceil(log2(len(order))) + 3
    assert len(trials.tried) <= 2 + trials_per_culprit * len(trials.answer)


@given(orders(), st.data())
def test_the_last_of_a_set_bring_all_others_with_them(
    rows: tuple[list[str], dict[str, list[str]]], data: st.DataObject
) -> None:
    """The last patches of a set are those that no other of the set comes after."""
    order, before = rows
    chosen = data.draw(st.sampled_from(closed_sets(order, before)))
    needed = {other for name in chosen for other in before[name]}
    search = Search(order, before, lambda _: False)
    assert search.removable(chosen) == [
        name for name in order if name in chosen and name not in needed
    ]


@pytest.mark.parametrize("culprit", SIXTY)
def test_one_culprit_of_sixty(culprit: str) -> None:
    """One culprit of sixty is found in eight trials, the empty set included, and fails alone."""
    trials = seeded([culprit])
    assert trials.answer == {culprit}
    assert len(trials.tried) <= 8
    assert frozenset({culprit}) in trials.tried


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 9, 31, 32, 33, 60, 64, 65, 100])
def test_one_culprit_takes_as_many_trials_as_tell_it_from_the_others(size: int) -> None:
    """One culprit takes two trials and log2 n of them, and one more if it is among the last."""
    order = [f"patch-{number:03}" for number in range(size)]
    least = 2 + ceil(log2(size))
    counts = [len(seeded([culprit], order).tried) for culprit in order]
    count_of_last = size // 8
    assert max(counts[: size - count_of_last]) <= least
    assert max(counts) <= least + 1


def test_every_pair_of_sixty() -> None:
    """Any two culprits of sixty are found in at most sixteen trials, the empty set included."""
    most = 0
    for pair in combinations(SIXTY, 2):
        trials = seeded(pair)
        assert trials.answer == set(pair)
        most = max(most, len(trials.tried))
    assert most <= 16


def test_a_failure_that_is_not_there() -> None:
    """If all together pass, the answer is empty; all are tried after three sets that pass."""
    trials = bisect(SIXTY, {}, lambda _: False)
    assert trials.answer == frozenset()
    assert [len(patches) for patches in trials.tried] == [0, 32, 48, 56, 60]


def test_a_failure_that_is_not_there_among_two() -> None:
    """With few patches, all together are tried once the last does not fail alone."""
    trials = bisect(["a", "b"], {}, lambda _: False)
    assert trials.answer == frozenset()
    assert trials.tried[-1] == {"a", "b"}


def test_a_chain_is_named_by_its_end() -> None:
    """A culprit is tried with those it comes after, and it alone is named."""
    chain = {name: SIXTY[:position] for position, name in enumerate(SIXTY[:5])}
    trials = seeded([SIXTY[3]], before=chain)
    assert trials.answer == set(SIXTY[:4])
    assert trials.last == [SIXTY[3]]


def test_the_verdict_of_a_run() -> None:
    """The exit code decides; 125, or a patch that cannot be applied without others, is skipped."""
    verdicts = [judged({"exit": code, "failed": []}) for code in (1, 0, 125)]
    assert verdicts == ["bad", "good", "skipped"]
    alone = {"exit": 1, "failed": ["a"]}
    assert judged(alone) == "skipped"
    assert judged(alone, ["a"]) == "bad"


def test_names_outside_the_order_do_not_count() -> None:
    """A patch that comes after one outside the order is found as if it came after none."""
    assert seeded(["b"], ["a", "b"], {"b": ["elsewhere"]}).answer == {"b"}
