"""Search for a minimal set of patches that makes something fail, by trying sets of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

Patches = frozenset[str]
Run = Mapping[str, Any]
_SKIP = 125  # as in `git bisect run`


def judged(run: Run, runs: Sequence[Run]) -> str:
    """Call a run good or bad; one without what its patches need, or that exits with 125, skipped.

    Such patches failed in it, and not in the first, which had all of them.
    """
    if run["exit"] == _SKIP or {*run["failed"]} - {*runs[0]["failed"]}:
        return "skipped"
    return "bad" if run["exit"] else "good"


class Search:
    """Finds a minimal set that fails, and tries no patch without those it comes after.

    Prefixes of the order are halved down to the patch that turns one bad. That patch stays, and the
    search goes on among those before it until what stays fails by itself: about log2 n trials for
    each patch of the set. In the end no patch can be taken away so that the rest still fails.

    Args:
        order: names of patches, each behind those it comes after.
        before: by name, those it comes after; names that are not in `order` do not count.
        fails: whether a set fails, which it is asked for once.
    """

    def __init__(
        self,
        order: Sequence[str],
        before: Mapping[str, Collection[str]],
        fails: Callable[[Patches], bool],
    ) -> None:
        self._whole: dict[str, Patches] = {}  # each with all that it comes after
        for name in order:
            earlier = [self._whole[one] for one in before.get(name, ()) if one in self._whole]
            self._whole[name] = frozenset({name}).union(*earlier)
        self.fails = cache(fails)

    def minimal(self) -> Patches:
        """Find a minimal set that fails; all together are known to fail, and none to pass."""
        kept: Patches = frozenset()
        pool = list(self._whole)
        while pool and not self.fails(kept):
            low, high = 0, len(pool)
            while high - low > 1:
                at = (low + high) // 2
                low, high = (low, at) if self.fails(kept.union(pool[:at])) else (at, high)
            kept |= self._whole[pool[low]]
            pool = [name for name in pool[:low] if name not in kept]
        return self._shrink(kept)

    def last(self, patches: Patches) -> list[str]:
        """List those of a set that no other of it comes after."""
        inner = {one for name in patches for one in self._whole[name] - {name}}
        return [name for name in self._whole if name in patches and name not in inner]

    def _shrink(self, found: Patches) -> Patches:
        for name in self.last(found):
            if self.fails(rest := found - {name}):
                return self._shrink(rest)
        return found
