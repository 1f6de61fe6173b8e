"""Which files a missing definition may be in now: the likeliest first, the fewest that will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.upstream.resolving.module_tree import module_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.upstream.moves.catalog import Catalog

REACH = 1 << 20
"""Bytes of files, unpacked, that are fetched in search of one target beyond those that are new."""


class Around:
    """
    Where to look in a release, by what lies in which of its files and of another's.

    Nothing moves to a file that is the same in both releases; what moves to one that both have
    makes it larger, as a rule.

    Args:
        new: the release that lacks something.
        old: the one that has it; None where there is none.
        reach: bytes of changed files to fetch for one target; None for all of them.

    """

    def __init__(self, new: Catalog, old: Catalog | None, reach: int | None) -> None:
        self._new = new
        self._old = old
        self._reach = reach
        self._fresh = new.paths - (old.paths if old else frozenset())

    def stages(self, module: str, size: int) -> Iterator[list[str]]:
        """
        List files to look into, a further stage where those before were not enough.

        Args:
            module: that had the target.
            size: of its source, in bytes.

        """
        near = sorted(self._near(module))
        yield near
        if self._old is None:
            if self._reach is None:
                yield sorted(self._new.paths)
            return
        yield sorted({*near, *self._fresh})
        yield sorted({*near, *self._fresh, *self._within_reach(module, size)})

    def fresh(self) -> frozenset[str]:
        """List the files that the other release lacks."""
        return self._fresh

    def has_changed(self, path: str) -> bool:
        """Whether a file is not the same in both releases."""
        if self._old is None:
            return True
        mark = self._new.files.mark(path)
        return mark is None or mark != self._old.files.mark(path)

    def _near(self, module: str) -> Iterator[str]:
        """List files of the module's name, and what a module that became a package holds."""
        last, inside = module.rpartition(".")[2], module.replace(".", "/")
        below = (path for path in self._new.paths if path.startswith(f"{inside}/"))
        for path in {*self._new.named(last), *below}:
            if self.has_changed(path):
                yield path

    def _within_reach(self, module: str, size: int) -> Iterator[str]:
        left = self._reach
        for path in sorted(self._grown(size), key=lambda one: (-_nearness(one, module), one)):
            mark = self._new.files.mark(path)
            if left is not None and mark is not None:
                left -= mark.size
                if left < 0:
                    return
            yield path

    def _grown(self, size: int) -> Iterable[str]:
        assert self._old is not None
        for path in self._new.paths - self._fresh:
            mark, before = self._new.files.mark(path), self._old.files.mark(path)
            if (
                mark is None
                or before is None
                or (mark != before and mark.size >= before.size + size // 2)
            ):
                yield path


def _nearness(path: str, module: str) -> float:
    return nearness(module_name(path), module)


def nearness(one: str, other: str) -> float:
    """Tell from 0 to 1 how many parts two dotted names have in common."""
    ours, theirs = one.split("."), other.split(".")
    return len(set(ours) & set(theirs)) / max(len(ours), len(theirs))
