"""The pass over the copies of what patches have changed, and of what was taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit import copies
from patchkit.process.remarks import remarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from patchkit.changes.sites import Sites
    from patchkit.process.patch_state import GroupState, PatchStates
    from patchkit.process.schedule import Schedule


class CopiesPass:
    """Repoints copies."""

    def __init__(self, sites: Sites, schedule: Schedule, states: PatchStates) -> None:
        self._sites = sites
        self._schedule = schedule
        self._states = states

    @property
    def _keepers(self) -> copies.Keepers:
        return copies.Keepers(self._schedule.keepers, self._schedule.bodies, self._sites)

    def repoint(self, groups: Sequence[GroupState], scope: Callable[[], copies.Where]) -> None:
        """Repoint the copies of what groups have changed, and note what is to be told of each."""
        sites = [site for group in groups for _, site in group.made.sites if site.rebind]
        where = scope() if sites else copies.nowhere()
        latecomers = copies.Latecomers(where.modules) if where.late else None
        outcome = copies.repoint(sites, where, self._keepers)
        if latecomers is not None:
            latecomers.revisit(self._revisit)
        facts = [remarks(group, outcome, late=where.late) for group in groups]
        for group, noted in zip(groups, facts, strict=True):
            group.facts = noted

    def restore(self) -> list[Exception]:
        """Repoint what was copied since, after patches were taken back; return what went wrong."""
        where = copies.everywhere()
        latecomers = copies.Latecomers(where.modules)
        try:
            outcome = copies.restore(self._sites.rebound(), where, self._keepers)
            latecomers.revisit(self._revisit)
        except Exception as error:  # noqa: BLE001 - the targets are as they were all the same
            return [error]
        self._say("info", "undo: out of reach: {}", outcome.left)
        return []

    def _revisit(self, module: str) -> None:
        """Repoint what a module has copied that another thread was importing meanwhile."""
        try:
            outcome = copies.repoint(self._sites.rebound(), copies.just(module), self._keepers)
        except Exception as error:  # noqa: BLE001 - that thread's import is none of ours to fail
            self._states.say("error", f"copies in {module} are not repointed: {error}")
            return
        self._say("info", "{} was copied meanwhile, and is repointed", outcome.rebound)

    def _say(self, level: str, text: str, found: Iterable[copies.Copy]) -> None:
        for copy in found:
            self._states.say(level, text.format(copy))
