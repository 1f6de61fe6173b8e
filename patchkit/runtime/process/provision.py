"""Finds the specs of modules that patches provide, as upstream lacks them here."""

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from patchkit.core.rows.declaration import SERVING
from patchkit.runtime.imports.supplied_modules import ProvidedLoader
from patchkit.runtime.process.eligibility import NOT_YET, YES, EligibilityTable
from patchkit.runtime.process.patch_state import PatchStates
from patchkit.runtime.process.schedule import Schedule


class Provision:
    """Finds the specs of modules that patches provide.

    Args:
        schedule: All change groups of this process.
        states: The statuses of patches.
        table: Says which patches are for this process.
        serve: Fills a provided module by its patch; returns False if that does not apply after all.
    """

    def __init__(
        self,
        schedule: Schedule,
        states: PatchStates,
        table: EligibilityTable,
        serve: Callable[[str, ModuleType], bool],
    ) -> None:
        self._schedule = schedule
        self._states = states
        self._table = table
        self._serve = serve

    def provide(self, name: str) -> ModuleSpec | None:
        """Return a spec for a module that no finder has found, if a patch provides it.

        Args:
            name: The dotted name of the module.

        Returns:
            The spec, whose loader applies the patch; None if no patch provides it here.

        Raises:
            ApplyError: The patch that serves it is required, and has failed.
        """
        # importlib holds a lock, so nothing may be imported: only decided patches count, without
        # their `when`, which is in the body.
        for group in self._schedule.due(name, SERVING):
            is_decided = group.patch.is_decided  # read first, as it is set last
            answer, _ = self._table.of_group(group)
            if answer != NOT_YET:
                self._states.stop_if_failed([group.patch])
                is_offered = answer == YES and is_decided
                if is_offered and self._table.changes_here(group):
                    package = self._schedule.serves_beneath(name)
                    loader: Any = ProvidedLoader(name, self._serve)
                    return ModuleSpec(name, loader, is_package=package)
        return None
