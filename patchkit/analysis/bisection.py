"""Finds a minimal set of patches that makes something fail, by trying sets of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

Patches = frozenset[str]
"""The names of a set of patches."""
Run = Mapping[str, Any]
"""What a trial recorded: `exit`, its exit code, and `failed`, the patches that did not apply."""
_SKIP = 125
"""The exit code of a run that cannot be judged, as in `git bisect run`."""
_TRUSTED_PASSES = 3
"""How many sets in a row may pass before all patches together are tried."""


def judged(run: Run, failing_with_all: Collection[str] = ()) -> str:
    """Judge a run by its exit code, unless a patch failed for lack of others that were left out.

    Args:
        run: its `exit` code, and the patches that `failed` to apply in it.
        failing_with_all: the patches that fail to apply even with all patches.

    Returns:
        "good" for exit code 0; "skipped" for 125, or if a patch failed that applies with all
        patches; otherwise "bad".
    """
    # These failed only because patches that they build on were left out of the run.
    failing_alone = set(run["failed"]).difference(failing_with_all)
    if run["exit"] == _SKIP or failing_alone:
        return "skipped"
    if run["exit"]:
        return "bad"
    return "good"


class Search:
    """Finds a minimal set of patches that fails; a patch is tried only with its predecessors.

    A binary search over the prefixes of `order` finds the first patch with which one fails. That
    patch is a culprit, and the search goes on among the patches before it until the culprits fail
    by themselves: about log2 n trials for each. In the end, no patch can be removed so that the
    others still fail.

    At first, the search assumes that all patches together fail: if it finds a set that fails, it
    needs no trial of that. They are tried once several sets in a row have passed, as there may be
    no failure at all.

    Args:
        order: names of patches, each after its predecessors.
        predecessors: by name, the patches that have to come before; names that are not in `order`
            do not count.
        fails: returns whether a set fails; called once for each set.
    """

    def __init__(
        self,
        order: Sequence[str],
        predecessors: Mapping[str, Collection[str]],
        fails: Callable[[Patches], bool],
    ) -> None:
        # By name, each patch with all its predecessors, and theirs; the keys are in the order of
        # the patches. Predecessors come first in `order`, so their own closures are complete.
        self._closures: dict[str, Patches] = {}
        for name in order:
            closure = {name}
            for predecessor in predecessors.get(name, ()):
                closure |= self._closures.get(predecessor, frozenset())
            self._closures[name] = frozenset(closure)
        self.fails = cache(fails)

    def minimal(self) -> Patches:
        """Find a minimal set that fails.

        Returns:
            The set; empty if the run without any patch fails too, or the one with all passes.
        """
        culprits: Patches = frozenset()
        candidates = list(self._closures)
        while not self.fails(culprits):
            remaining = culprits.union(candidates)
            # That all patches together fail was only assumed. If no trial has shown it, as the
            # first culprit is the very last patch, `remaining` is all of them, and they are tried
            # now. In any other round, `remaining` has failed before, and `fails` remembers that.
            if culprits and not self.fails(remaining):
                return frozenset()
            position = self._turning_point(culprits, candidates)
            if position is None:
                return frozenset()
            culprits |= self._closures[candidates[position]]
            candidates = [
                name for name in candidates[:position] if name not in culprits
            ]
        return self._shrunk(culprits)

    def removable(self, patches: Patches) -> list[str]:
        """Return the patches of a set that no other patch of the set needs to come before it.

        These can be removed without the others. In a minimal set they are the ones to blame: the
        others may be in it only because these need them.

        Args:
            patches: The set, with names of `order` only.

        Returns:
            The patches, in the order of all patches.
        """
        predecessors: set[str] = set()
        for name in patches:
            predecessors |= self._closures[name] - {name}
        final = patches - predecessors
        return [name for name in self._closures if name in final]

    def _turning_point(
        self, culprits: Patches, candidates: Sequence[str]
    ) -> int | None:
        """Find the first candidate that makes the culprits fail, together with those before it.

        Returns:
            Its position; the last one if every trial here has passed, which is not proven: the
            caller tries that one. None if all patches together were tried, and do not fail.
        """
        # Together with the culprits, the first `passing_count` candidates pass, and the first
        # `failing_count` fail. Until a trial has failed, the latter are all candidates, which are
        # only assumed to fail.
        passing_count = 0
        failing_count = len(candidates)
        passed_trials = 0
        has_failed = False
        while failing_count - passing_count > 1:
            # After so many passes, all candidates are tried, once: does anything fail at all?
            is_doubtful = passed_trials == _TRUSTED_PASSES and not has_failed
            if is_doubtful and not self.fails(culprits.union(candidates)):
                return None
            middle = passing_count + _lower_part(failing_count - passing_count)
            if self.fails(culprits.union(candidates[:middle])):
                failing_count = middle
                has_failed = True
            else:
                passing_count = middle
                passed_trials += 1
        # The passing candidates fail with the next one, whose index is their number.
        return passing_count

    def _shrunk(self, culprits: Patches) -> Patches:
        """Remove patches one by one, again and again, as long as the others still fail.

        Args:
            culprits: A set that fails.

        Returns:
            A set of some of them that still fails, and from which no patch can be removed.
        """
        # A patch that another one of the set needs is not removable before that one is gone.
        for name in self.removable(culprits):
            remaining = culprits - {name}
            if self.fails(remaining):
                return self._shrunk(remaining)
        return culprits


def _lower_part(count: int) -> int:
    """Return how many of `count` candidates, two or more, a binary search tries.

    It is the largest power of two below `count`, such as 4 for 5 to 8. That needs no more trials
    than halving does. The upper part is never the larger one: a search goes on there after a trial
    has passed, and may then cost one trial more, with all patches together.
    """
    return 1 << ((count - 1).bit_length() - 1)
