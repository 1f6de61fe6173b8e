"""Looks again, all the life of a process, at what is applied and at what was never for here."""

from __future__ import annotations

import atexit
import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from patchkit.errors import PatchkitError
from patchkit.process.patch_state import ARMED
from patchkit.process.verifier import Verifier

if TYPE_CHECKING:
    from patchkit.process.applier import Applier
    from patchkit.process.patch_state import PatchStates
    from patchkit.process.schedule import Schedule
    from patchkit.rows.selection import Selection


class Lookout:
    """Begins to look once there is something to be seen, where the process is the session's."""

    def __init__(
        self, schedule: Schedule, states: PatchStates, selection: Selection, applier: Applier
    ) -> None:
        self._schedule = schedule
        self._states = states
        self._selection = selection
        self._applier = applier
        self._unmet: dict[str, str] | None = None
        self.verifier = Verifier(self.look, 0, applier.turns.is_waiting)

    def take_charge(self) -> None:
        """See to the process: look again at what is applied, and to the exit code."""
        self._states.ending.is_ours = True
        turns = self._applier.turns
        self.verifier = Verifier(self.look, self._states.settings.verify, turns.is_waiting)
        atexit.register(self.tell_at_end)

    def stand_down(self) -> None:
        """Look no more."""
        self._states.ending.is_ours = False
        atexit.unregister(self.tell_at_end)
        self.verifier.stop()

    def begin(self) -> None:
        """Begin to look, if there is anything to look at."""
        if self._states.open_here():
            self.verifier.start()

    def note_applied(self) -> None:
        """Patches were applied; what that needs to know of versions is known now."""
        self.begin()
        if self._unmet is None:
            self.tell_unmet()

    def look_again(self) -> None:
        """
        Look whether what is applied here is intact, and apply what no import has told of.

        Raises:
            ApplyError: a required patch fails, or somebody has overwritten what one had changed.

        """
        self._applier.inspect()
        if self._applier.apply_missed():
            self.begin()
        self.tell_unmet()

    def look(self) -> None:
        """Look again; what is found is told, and stops whoever enters a role next."""
        try:
            self.look_again()
        except PatchkitError:
            pass  # it has been told
        except Exception as error:  # noqa: BLE001 - an attribute of upstream's, read by nobody else
            self._states.say("warning", f"cannot look at what is applied: {error!r}")
        self._states.journal.verified()

    # -- patches that are not for here ------------------------------------------------------------

    def tell_unmet(self, *, anew: bool = True) -> None:
        """
        Write which patches that wait are not for here; the environment may change.

        Args:
            anew: ask also where nobody has asked yet.

        """
        if self._unmet is None and not anew:
            return
        waiting = [state for state in self._states.open_here() if state.status == ARMED]
        asked = {state.name: self._selection.unmet_here(state.row) for state in waiting}
        unmet = {name: reason for name, reason in asked.items() if reason}
        if unmet != (self._unmet or {}):
            self._states.journal.write("unmet", reasons=unmet)
        self._unmet = unmet

    def tell_inherited(self) -> None:
        """Write the same into the journal of a forked child."""
        if self._unmet:
            self._states.journal.write("unmet", reasons=self._unmet)

    def tell_at_end(self) -> None:
        """Write which patches were never for here: arming has not asked, as that costs a start."""
        if self._states.journal.directory is not None:
            with suppress(Exception):  # the process ends as it would without
                if self._is_worth_asking():
                    self.tell_unmet()

    def exit_code(self, code: Any) -> Any:
        """Tell how a child ends, and return the exit code of one that would end with this one."""
        self.tell_at_end()
        return self._states.ending.code(code)

    def end_as_told(self) -> None:
        """Leave the exit code as it is: whoever ends the process has said why."""
        self._states.ending.is_ours = False

    def _is_worth_asking(self) -> bool:
        """Whether versions cost nothing more, or what a row would change is not installed."""
        if {"importlib.metadata", "packaging.requirements"} <= sys.modules.keys():
            return True
        tops = {name.partition(".")[0] for name in self._schedule.targets}
        return any(PathFinder.find_spec(top) is None for top in tops)
