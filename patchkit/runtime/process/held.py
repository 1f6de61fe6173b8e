"""Applies patches for the time of a `with patchkit.applied(...)` block, whatever the roles are.

A block *holds* its patches; afterwards they are as before. It may add rows of a pack that is not
installed, which have no role, and are removed again.
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
from patchkit.registry import duplicate, is_own_pack
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
"""Seconds to wait for another thread that begins or ends a block; it may be importing vLLM."""


class Blocks(Record, eq=False):
    """Applies and undoes patches for blocks, and adds and removes rows that blocks bring along.

    Args:
        schedule: All change groups of this process; rows of blocks are added to it.
        states: The statuses of patches.
        table: Says which patches are for this process.
        applier: Applies change groups.
        undoing: Undoes patches, and has the turns of threads.
        finder: Watches the modules that rows change.
    """

    schedule: Schedule
    states: PatchStates
    table: EligibilityTable
    applier: Applier
    undoing: Undoing
    finder: Finder

    def hold(self, names: Collection[str]) -> tuple[str, ...]:
        """Apply patches whatever the roles of this process, and import the modules they change.

        A BeforeImport or Provide is applied when its module is imported later.

        Args:
            names: Names of patches; if empty, all that apply here are held, except those that
                their `when` skips.

        Returns:
            The names of the held patches, for one call of `let_go`.

        Raises:
            ApplyError: A named patch does not apply here, one fails, or another thread's block
                takes too long; then all patches are as before.
            UnknownPatchError: There is no patch of a name.
        """
        states = list(self.schedule.patches.values())
        selection = self.table.selection
        if names:
            chosen = self._named(names)
            # In the order of the rows, and each once.
            states = [state for state in states if state in chosen]
        else:
            states = [
                state for state in states if not selection.reason_to_skip(state.row)
            ]
        # All in one turn, so that no other thread relies on patches that this one may undo.
        with self.undoing.turns.within(*states, patience=_PATIENCE) as are_free:
            if not are_free:
                shown = ", ".join(state.name for state in states)
                raise ApplyError(
                    f"{shown}: for {_PATIENCE:.0f} s another thread has been applying one of them "
                    "for a block of its own, expected it to end; look at what their bodies wait for"
                )
            for state in states:
                self._refuse_unfit(state)  # before anything is changed
            for state in states:
                state.holders += 1
                if state.holders == 1:  # no other block has reopened it
                    self.states.reopen(state)
            unwanted = {FAILED}
            # Without names, a patch that its `when` skips is left out. A named one has to apply.
            if names:
                unwanted.add(SKIPPED)
            try:
                self._make(states, unwanted)
            except BaseException:
                self._let_go(states)
                raise
        return tuple(state.name for state in states)

    def let_go(self, names: Iterable[str]) -> None:
        """End a block: undo its patches, except those that another block or a role needs.

        Args:
            names: The result of `hold`.

        Raises:
            UndoError: A change cannot be undone; all others are.
        """
        errors = self._let_go(self._named(names))
        if errors:
            raise UndoError("; ".join(str(error) for error in errors))

    def _named(self, names: Iterable[str]) -> list[PatchState]:
        """Return the patches of names; UnknownPatchError names similar ones, users' own first."""
        patches = self.schedule.patches
        states: list[PatchState] = []
        for name in names:
            if name not in patches:
                own_last = sorted(
                    patches, key=lambda known: is_own_pack(patches[known].row.pack)
                )
                expected = some_of(own_last, name)
                raise UnknownPatchError(
                    f"found {name!r}, expected a patch's name: {expected}"
                )
            states.append(patches[name])
        return states

    def _let_go(self, states: Sequence[PatchState]) -> list[BaseException]:
        """Undo patches that no block holds any more and no role needs; return the errors."""
        turns = self.undoing.turns
        with turns.within(*states, patience=_PATIENCE):
            for state in states:
                state.holders -= 1
            free = [state for state in reversed(states) if not state.holders]
            groups: list[ChangeGroup] = []
            for state in free:
                groups += state.groups
            # A thread that enters one of their roles now waits until they are undone.
            with turns.within(*groups):
                unneeded = [state for state in free if not self._is_needed(state)]
                errors = self.undoing.take_back(*unneeded)
                for state in unneeded:
                    self.states.restore(state)
                return errors

    def _is_needed(self, state: PatchState) -> bool:
        """Whether a patch stays as it is after its last block: a role has it applied, or armed."""
        answer, _ = eligibility(state, self.states.roles)
        status_before_blocks, _, _ = state.former
        return answer != NOT_YET and status_before_blocks in {APPLIED, ARMED}

    # -- apply ----------------------------------------------------------------------------------

    def _refuse_unfit(self, state: PatchState) -> None:
        """Raise ApplyError if a patch has failed, or does not apply here."""
        _refuse([state], {FAILED})
        if state.status == APPLIED:
            return
        reason = self.table.selection.reason_to_skip(state.row)
        if reason:
            raise ApplyError(f"patch {state.name} does not apply here: {reason}")

    def _make(self, states: Sequence[PatchState], unwanted: Collection[str]) -> None:
        """Import the targets of patches, and apply them.

        Raises:
            ApplyError: a patch ends with an `unwanted` status, or still waits for an import.
        """
        try:
            for state in states:
                self.table.decide_early(state)
            for group in self._due(states):
                _import(group)
            self.applier.apply_late(group for state in states for group in state.groups)
            # A patch that still waits may wait until another thread has imported its body. To
            # import the body here, too, is to wait for that thread.
            for group in self._waiting(states):
                with contextlib.suppress(ImportError, AttributeError):
                    importlib.import_module(group.patch.body)
            self.applier.apply_late(self._waiting(states))
        except PatchkitError:
            # If a patch has failed, this raises an error with the patch's name and reason instead.
            _refuse(states, unwanted)
            raise
        _refuse(states, unwanted)
        for group in self._waiting(states):
            raise ApplyError(
                f"patch {group.patch.name} cannot be applied while {group.module} or "
                f"{group.patch.body} is still importing; request it after that import finishes"
            )

    def _due(self, states: Iterable[PatchState]) -> list[ChangeGroup]:
        """List the change groups that can be made late: in a module that is imported already.

        Groups for the moment before an import come too late then. Those that are not for the
        versions here are left out.
        """
        groups = [group for state in states for group in state.groups]
        after = [group for group in groups if group.moment == AFTER]
        return [group for group in after if self.table.changes_here(group)]

    def _waiting(self, states: Iterable[PatchState]) -> list[ChangeGroup]:
        """List these groups for the patches that are still armed."""
        return self._due(state for state in states if state.status == ARMED)

    # -- rows that blocks bring along ---------------------------------------------------------

    def meet(self, rows: Iterable[Row]) -> None:
        """Add rows, for no role, until `forget` removes them.

        Args:
            rows: The rows; those that are here already stay as they are.

        Raises:
            DeclarationError: A row has the name of another one.
        """
        # All names are checked before the first row is added.
        new_rows = [row for row in rows if not self._is_known(row)]
        for row in new_rows:
            self.schedule.add(Row(row.pack, row.patch, frozenset()))
        self.finder.watch(self.schedule.modules)
        # Another thread may have found one of the modules just before it was watched.
        let_pass(self.schedule.modules)

    def forget(self, packs: Collection[str] | None = None) -> None:
        """Remove the rows that blocks have added, and that no block holds.

        Args:
            packs: Only rows of these packs are removed; None for all.
        """
        for name, state in list(self.schedule.patches.items()):
            # Only rows of blocks have no role.
            is_unneeded = not (state.row.roles or state.holders)
            if is_unneeded and (packs is None or state.row.pack in packs):
                self.schedule.remove(name)

    def _is_known(self, row: Row) -> bool:
        """Whether a row is in the schedule; DeclarationError if another one has its name."""
        state = self.schedule.patches.get(row.name)
        if state is None:
            return False
        if (state.row.pack, state.row.patch) != (row.pack, row.patch):
            raise duplicate(row, state.row)
        return True


def _import(group: ChangeGroup) -> None:
    """Import the module that a group changes; ApplyError if that fails."""
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
    """Raise ApplyError for the first patch with an unwanted status, with its reason."""
    for state in states:
        if state.status in unwanted:
            problem = "does not apply here"
            if state.status == FAILED:
                problem = f"({state.body}) failed"
            raise ApplyError(
                f"patch {state.name} {problem}: {state.reason}"
            ) from state.error
