"""Search for a minimal set of patches that makes something fail, by trying sets of them."""

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

Patches = frozenset[str]
Run = Mapping[str, Any]

SKIP = 125
"""The exit code of a run that judges nothing, as in `git bisect run`."""


class Judgement(enum.Enum):
    """What a trial says of a set; SKIPPED where it cannot be judged."""

    GOOD = "passes"
    BAD = "fails"
    SKIPPED = "cannot be judged"


def lacking(run: Run, runs: Sequence[Run]) -> list[str]:
    """Name the patches that failed in a run, and did not in the first, which had all of them."""
    return sorted({*run["failed"]} - {*runs[0]["failed"]})


def judged_exit(run: Run, runs: Sequence[Run]) -> int:
    """The exit code that a run is judged by: without what its patches need, it judges nothing."""
    return SKIP if lacking(run, runs) else int(run["exit"])


class Search:
    """Finds a minimal set that fails, and tries no patch without those it comes after.

    Prefixes of the order are halved down to the patch that turns one bad. That patch stays, and the
    search goes on among those before it until what stays fails by itself: about log2 n trials for
    each patch of the set. In the end no patch can be taken away without a verdict other than bad.

    Args:
        order: names of patches, each behind those it comes after.
        before: by name, those it comes after; names that are not in `order` do not count.
        try_set: judges a set, which it is asked for once, knowing how many patches are suspected.
    """

    def __init__(
        self,
        order: Sequence[str],
        before: Mapping[str, Collection[str]],
        try_set: Callable[[Patches, int], Judgement],
    ) -> None:
        self._whole: dict[str, Patches] = {}  # each with all that it comes after
        for name in order:
            earlier = [self._whole[one] for one in before.get(name, ()) if one in self._whole]
            self._whole[name] = frozenset({name}).union(*earlier)
        self._try_set, self._verdicts = try_set, dict[frozenset[str], Judgement]()

    def ask(self, patches: Iterable[str], suspected: int) -> Judgement:
        """Judge a set, or remember what was said of it."""
        asked = frozenset(patches)
        if asked not in self._verdicts:
            self._verdicts[asked] = self._try_set(asked, suspected)
        return self._verdicts[asked]

    def minimal(self) -> Patches:
        """Find a minimal set that fails; all together are known to fail, and none to pass."""
        kept: Patches = frozenset()
        pool = list(self._whole)
        while pool and self.ask(kept, len(pool)) is not Judgement.BAD:
            kept, end = self._grow(kept, pool)
            pool = [name for name in pool[:end] if name not in kept]
        return self._shrink(kept)

    def last(self, patches: Patches) -> list[str]:
        """List those of a set that no other of it comes after."""
        inner = {one for name in patches for one in self._whole[name] - {name}}
        return [name for name in self._whole if name in patches and name not in inner]

    def _grow(self, kept: Patches, pool: Sequence[str]) -> tuple[Patches, int]:
        """Keep the patch that turns a prefix bad as well; return how long the prefix before is."""
        low, high = 0, len(pool)
        while high - low > 1:
            if high - low == 2:  # often one of them fails alone, which saves a trial
                for name in reversed(pool[low:high]):
                    if self.ask(alone := kept | self._whole[name], 2) is Judgement.BAD:
                        return alone, 0
            if (at := self._judged(kept, pool, low, high)) is None:
                break  # they cannot be told apart
            bad = self.ask(kept.union(pool[:at]), high - low) is Judgement.BAD
            low, high = (low, at) if bad else (at, high)
        return kept.union(*(self._whole[name] for name in pool[low:high])), low

    def _judged(self, kept: Patches, pool: Sequence[str], low: int, high: int) -> int | None:
        places = sorted(range(low + 1, high), key=lambda at: abs(2 * at - low - high))
        verdicts = ((at, self.ask(kept.union(pool[:at]), high - low)) for at in places)
        return next((at for at, verdict in verdicts if verdict is not Judgement.SKIPPED), None)

    def _shrink(self, found: Patches) -> Patches:
        for name in self.last(found):
            if self.ask(rest := found - {name}, len(found)) is Judgement.BAD:
                return self._shrink(rest)
        return found
