"""Holds patches for blocks: applied whatever the roles of the process, and then as they were.

A block may bring rows along, of a pack that is not installed; for no role, and for a while.
"""

import contextlib
import importlib
from collections.abc import Collection, Iterable, Sequence

from patchkit.core.record import Record
from patchkit.core.rows.declaration import AFTER, Row
from patchkit.errors import (
    ApplyError,
    PatchkitError,
    UndoError,
    UnknownPatchError,
    some_of,
)
from patchkit.registry import OWN_PACKS, duplicate
from patchkit.runtime.imports.finder import Finder, let_pass
from patchkit.runtime.process.applier import Applier
from patchkit.runtime.process.eligibility import NOT_YET, EligibilityTable, eligibility
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ARMED,
    FAILED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    PatchStates,
)
from patchkit.runtime.process.schedule import Schedule
from patchkit.runtime.process.undoing import Undoing

_PATIENCE = 600.0
"""Seconds to wait for another thread's block to begin or end; it may be importing all of vLLM."""


class Blocks(Record, eq=False):
    """Holds patches for blocks, and knows the rows that they bring along.

    Args:
        schedule: All change groups of this process; rows that blocks bring along are added to it.
        states: The statuses of patches.
        table: Says which patches are for this process.
        applier: Applies what waits.
        undoing: Takes patches back, and has the turns of threads.
        finder: Watches the modules that rows change.
    """

    schedule: Schedule
    states: PatchStates
    table: EligibilityTable
    applier: Applier
    undoing: Undoing
    finder: Finder

    def hold(self, names: Collection[str]) -> tuple[str, ...]:
        """Apply patches whatever the roles of this process, and import what they change.

        What comes before an import waits for it.

        Args:
            names: Names of patches; without any, all that are for here are meant, but for those
                that their `when` refuses.

        Returns:
            The names of what is held, to be let go later, once for each time that it is held.

        Raises:
            ApplyError: A patch that was named is not for here, one fails, or another thread's block
                does not end in time; then all patches are as they were.
            UnknownPatchError: There is no patch of a name.
        """
        states = list(self.schedule.patches.values())
        selection = self.table.selection
        if names:
            chosen = self._named(names)
            states = [state for state in states if state in chosen]
        else:
            states = [
                state for state in states if not selection.reason_to_skip(state.row)
            ]
        # As one step: nobody counts on what another thread takes back.
        with self.undoing.turns.within(*states, patience=_PATIENCE) as has_it:
            if not has_it:
                held = ", ".join(state.name for state in states)
                raise ApplyError(
                    f"{held}: for {_PATIENCE:.0f} s another thread has been applying one of them "
                    "for a block of its own, expected it to end; look at what their bodies wait for"
                )
            for state in states:
                self._refuse_unfit(state)
            for state in states:
                state.holders += 1
                if state.holders == 1:
                    self.states.reopen(state)
            unwanted = {FAILED}
            if names:
                unwanted.add(SKIPPED)
            try:
                self._make(states, unwanted)
            except BaseException:
                self._let_go(states)
                raise
        return tuple(state.name for state in states)

    def let_go(self, names: Iterable[str]) -> None:
        """Take back what no other block and no role has.

        Args:
            names: What `hold` has returned.

        Raises:
            UndoError: Something cannot be taken back; all else is.
        """
        errors = self._let_go(self._named(names))
        if errors:
            raise UndoError("; ".join(str(error) for error in errors))

    def _named(self, names: Iterable[str]) -> list[PatchState]:
        patches = self.schedule.patches
        states: list[PatchState] = []
        for name in names:
            if name not in patches:
                own_last = sorted(
                    patches, key=lambda known: patches[known].row.pack in OWN_PACKS
                )
                expected = some_of(own_last, name)
                raise UnknownPatchError(
                    f"found {name!r}, expected a patch's name: {expected}"
                )
            states.append(patches[name])
        return states

    def _let_go(self, states: Sequence[PatchState]) -> list[Exception]:
        """Take back what nobody holds any more and no role has; return what went wrong."""
        turns = self.undoing.turns
        with turns.within(*states, patience=_PATIENCE):
            for state in states:
                state.holders -= 1
            free = [
                state for state in dict.fromkeys(reversed(states)) if not state.holders
            ]
            # Who enters a role of theirs now finds them applied, or waits for the end of this.
            with turns.within(*(group for state in free for group in state.groups)):
                # Not what the session would have, if nobody had held it.
                over = [state for state in free if not self._stays(state)]
                errors = self.undoing.take_back(*over)
                for state in over:
                    self.states.restore(state)
                return errors

    def _stays(self, state: PatchState) -> bool:
        """Whether a role of the process has a patch that no block holds any more."""
        answer, _ = eligibility(state, self.states.roles)
        return answer != NOT_YET and state.former[0] in {APPLIED, ARMED}

    # -- apply ----------------------------------------------------------------------------------

    def _refuse_unfit(self, state: PatchState) -> None:
        _refuse([state], {FAILED})
        if state.status == APPLIED:
            return
        reason = self.table.selection.reason_to_skip(state.row)
        if reason:
            raise ApplyError(f"patch {state.name} does not apply here: {reason}")

    def _make(self, states: Sequence[PatchState], unwanted: Collection[str]) -> None:
        try:
            for state in states:
                self.table.decide_early(state)
            for group in self._due(states):
                _import(group)
            self.applier.apply_late(group for state in states for group in state.groups)
            for group in self._waiting(states):
                # It waits, as is said below.
                with contextlib.suppress(ImportError, AttributeError):
                    importlib.import_module(group.patch.body)  # another thread is at it
            self.applier.apply_late(self._waiting(states))
        except PatchkitError:
            _refuse(states, unwanted)  # says more
            raise
        _refuse(states, unwanted)
        for group in self._waiting(states):
            raise ApplyError(
                f"patch {group.patch.name} cannot be applied while {group.module} or "
                f"{group.patch.body} is still importing; request it after that import finishes"
            )

    def _due(self, states: Iterable[PatchState]) -> list[ChangeGroup]:
        groups = [group for state in states for group in state.groups]
        after = [group for group in groups if group.moment == AFTER]
        return [group for group in after if self.table.changes_here(group)]

    def _waiting(self, states: Iterable[PatchState]) -> list[ChangeGroup]:
        return self._due(state for state in states if state.status == ARMED)

    # -- rows that blocks bring along ---------------------------------------------------------

    def meet(self, rows: Iterable[Row]) -> None:
        """Know further rows until they are forgotten.

        Args:
            rows: The rows; those that are known already stay as they are.

        Raises:
            DeclarationError: A row has the name of another one.
        """
        for row in [row for row in rows if not self._is_known(row)]:
            self.schedule.add(Row(row.pack, row.patch, frozenset()))
        self.finder.watch(self.schedule.modules)
        let_pass(self.schedule.modules)

    def forget(self, packs: Collection[str] | None = None) -> None:
        """Leave out the rows that blocks have brought along, and that nobody holds.

        Args:
            packs: The packs whose rows are meant; None for all.
        """
        for name, state in list(self.schedule.patches.items()):
            is_guest = not (state.row.roles or state.holders)
            if is_guest and (packs is None or state.row.pack in packs):
                self.schedule.remove(name)

    def _is_known(self, row: Row) -> bool:
        state = self.schedule.patches.get(row.name)
        if state is None:
            return False
        if (state.row.pack, state.row.patch) != (row.pack, row.patch):
            raise duplicate(row, state.row)
        return True


def _import(group: ChangeGroup) -> None:
    try:
        importlib.import_module(group.module)
    except PatchkitError:
        raise
    except Exception as error:
        raise ApplyError(
            f"patch {group.patch.name}: its target's module {group.module} cannot be imported:"
            f" {type(error).__name__}: {error}"
        ) from error


def _refuse(states: Iterable[PatchState], unwanted: Collection[str]) -> None:
    for state in states:
        if state.status in unwanted:
            problem = "does not apply here"
            if state.status == FAILED:
                problem = f"({state.body}) failed"
            raise ApplyError(
                f"patch {state.name} {problem}: {state.reason}"
            ) from state.error
