"""Searches for a minimal set of patches that makes something fail, by trying sets of them."""

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
    """Judge a run by its exit code, unless its patches need others that it left out.

    Args:
        run: its `exit` code, and the patches that `failed` to apply in it.
        failing_with_all: the patches that fail to apply with all of them, too.

    Returns:
        "good", "bad", or "skipped" for exit code 125, or where a patch failed that does not fail
        with all of them.
    """
    failing_alone = set(run["failed"]).difference(failing_with_all)
    if run["exit"] == _SKIP or failing_alone:
        return "skipped"
    if run["exit"]:
        return "bad"
    return "good"


class Search:
    """Finds a minimal set that fails, and tries no patch without those it comes after.

    Prefixes of the order are halved down to the patch that turns one bad. That patch is a culprit,
    and the search goes on among those before it until the culprits fail by themselves: about log2 n
    trials for each. In the end no patch can be taken away so that the others still fail.

    That all patches together fail is taken on trust at first: the answer, which is seen to fail,
    needs no trial of them. They are tried where nothing has failed for a while, as the search may
    be for a failure that is not there.

    Args:
        order: names of patches, each behind those it comes after.
        predecessors: by name, those it comes after; names that are not in `order` do not count.
        fails: whether a set fails, which it is asked for once.
    """

    def __init__(
        self,
        order: Sequence[str],
        predecessors: Mapping[str, Collection[str]],
        fails: Callable[[Patches], bool],
    ) -> None:
        # Each patch with all that it comes after, in the order of the patches.
        self._closures: dict[str, Patches] = {}
        for name in order:
            closure = {name}
            for predecessor in predecessors.get(name, ()):
                closure |= self._closures.get(predecessor, frozenset())
            self._closures[name] = frozenset(closure)
        self.fails = cache(fails)

    def minimal(self) -> Patches:
        """Find a minimal set that fails, where no patches at all are known to pass.

        Returns:
            The set; the empty set where not even all patches together fail.
        """
        culprits: Patches = frozenset()
        candidates = list(self._closures)
        while not self.fails(culprits):
            # Has failed already, unless the culprit is the last patch: then it is all of them.
            if culprits and not self.fails(culprits.union(candidates)):
                return frozenset()
            position = self._turning_point(culprits, candidates)
            if position is None:
                return frozenset()
            culprits |= self._closures[candidates[position]]
            candidates = [
                name for name in candidates[:position] if name not in culprits
            ]
        return self._shrunk(culprits)

    def last(self, patches: Patches) -> list[str]:
        """Return the patches of a set that no other patch of the set comes after.

        Args:
            patches: The set; it has names of `order` only.
        """
        predecessors: set[str] = set()
        for name in patches:
            predecessors |= self._closures[name] - {name}
        final = patches - predecessors
        return [name for name in self._closures if name in final]

    def _turning_point(
        self, culprits: Patches, candidates: Sequence[str]
    ) -> int | None:
        """Find the first candidate with which, and all before it, the culprits fail.

        Returns:
            Its position; None where not even all patches together fail.
        """
        passing = 0
        failing = len(candidates)
        passes = 0
        while failing - passing > 1:
            is_doubtful = passes == _TRUSTED_PASSES and failing == len(candidates)
            if is_doubtful and not self.fails(culprits.union(candidates)):
                return None
            middle = passing + _lower_part(failing - passing)
            if self.fails(culprits.union(candidates[:middle])):
                failing = middle
            else:
                passing = middle
                passes += 1
        return passing

    def _shrunk(self, culprits: Patches) -> Patches:
        """Take patches away, one by one, as long as the others still fail."""
        for name in self.last(culprits):
            remaining = culprits - {name}
            if self.fails(remaining):
                return self._shrunk(remaining)
        return culprits


def _lower_part(count: int) -> int:
    """Divide a number of candidates in two, the lower part a power of two.

    No more halvings are needed than for equal parts, and fewer in the upper part, where one trial
    may go to all patches together.
    """
    return 1 << ((count - 1).bit_length() - 1)
