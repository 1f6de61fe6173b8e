"""Applies groups of changes and takes them back, from any thread.

The lock guards the bookkeeping only. It is never held while a body or upstream code runs.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType

from patchkit.core.rows.declaration import AFTER
from patchkit.errors import ApplyError
from patchkit.runtime.changes.context import unwind
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.scope import SearchScope, all_modules
from patchkit.runtime.process.making import (
    CopiesPass,
    Inspection,
    Maker,
    NotWanted,
    refuse_unverified,
)
from patchkit.runtime.process.patch_state import (
    APPLIED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    PatchStates,
)
from patchkit.runtime.process.schedule import Relevance, Schedule
from patchkit.runtime.process.waiting import PATIENCE, Executions, Turns


class Applier:
    """Applies what is due, and takes it back.

    Args:
        schedule: all change groups of this process.
        states: the statuses of patches, which are changed.
        relevance: says which patches are for this process.
        executions: says which modules have executed, and when.
        on_applied: is called when groups were applied, or found to be.
    """

    def __init__(
        self,
        schedule: Schedule,
        states: PatchStates,
        relevance: Relevance,
        executions: Executions,
        on_applied: Callable[[], None],
    ) -> None:
        self.sites = Sites()
        self.turns = Turns()
        self._on_applied = on_applied
        self._schedule = schedule
        self._states = states
        self._relevance = relevance
        self._executions = executions
        self._copies = CopiesPass(self.sites, schedule, states)
        self._inspection = Inspection(self.sites, states)
        self._maker = Maker(self.sites, states, relevance, executions, self.turns)

    def note_execution(self, module: str) -> None:
        """A module is about to execute once more, and to overwrite what was applied to it.

        What an AfterImport has done is taken back before: its undo knows the module as it is now.
        A body that executes anew is to see originals; its end has everything applied again.
        """
        self._executions.note(module)
        errors: list[Exception] = []
        for group in reversed(self._schedule.due(module, AFTER)):
            if group.made.calls:
                errors += unwind(group.made.calls)
        for group in reversed(self._schedule.by_body.get(module, [])):
            if group.made.sites and group.thread is None:
                errors += group.take_back()
        if errors:
            self._states.say_undo_errors(errors)

    # -- what is due ------------------------------------------------------------------------------

    def apply(
        self,
        groups: Iterable[ChangeGroup],
        modules: Mapping[str, ModuleType],
        scope: Callable[[], SearchScope],
        *,
        from_body: bool = False,
    ) -> None:
        """Apply this process's groups that are not applied yet, then repoint copies in one pass.

        If a required patch fails, those before it stay.

        Args:
            groups: in the order in which they apply.
            modules: those that the groups change, by name; one that is missing is about to execute.
            scope: tells which modules may hold copies.
            from_body: this thread is at the end of importing the groups' body. Another thread that
                is applying them may be waiting for just that, and is not waited for.

        Raises:
            ApplyError: a required patch failed, now or before, or another thread's turn at a group
                does not end.
        """
        due = [group for group in groups if self._relevance.is_wanted(group)]
        self._states.stop_if_failed(group.patch for group in due)
        made: list[ChangeGroup] = []
        with contextlib.ExitStack() as turns:  # whose ends others wait for, copies included
            try:
                for group in due:
                    module = modules.get(group.module)
                    if self._apply_in_turn(group, module, turns, from_body=from_body):
                        made.append(group)
            finally:
                self._finish(made, scope)
        if due:
            self._on_applied()

    def apply_late(self, groups: Iterable[ChangeGroup], *, from_body: bool = False) -> None:
        """Apply to modules that were imported before; one pass repoints all copies."""
        missed = [group for group in groups if not group.applied_to or group.moment == AFTER]
        names = dict.fromkeys(group.module for group in missed)
        whole = {name: sys.modules[name] for name in names if self._executions.is_whole(name)}
        due = [group for group in missed if group.module in whole]
        self.apply(due, whole, all_modules, from_body=from_body)

    def apply_missed(self) -> None:
        """Apply what no import has told of; not what the end of an import that is going on will."""
        groups = self._schedule.groups()
        self.apply_late(group for group in groups if not self._executions.awaits(group))

    # -- one group --------------------------------------------------------------------------------

    def _apply_in_turn(
        self,
        group: ChangeGroup,
        module: ModuleType | None,
        turns: contextlib.ExitStack,
        *,
        from_body: bool,
    ) -> bool:
        """Apply a group if it is this thread's turn; whether anything was made of it.

        The turn at a group that was made goes on, and ends with `turns`.
        """
        with contextlib.ExitStack() as turn:
            is_due = turn.enter_context(self._turn(group, module, from_body=from_body))
            if not is_due or not self._apply_one(group, module):
                return False
            turns.push(turn.pop_all())
            return True

    @contextlib.contextmanager
    def _turn(
        self, group: ChangeGroup, module: ModuleType | None, *, from_body: bool
    ) -> Iterator[bool]:
        """Have this thread's turn at a group for the time of a block; whether it is to be applied.

        Raises:
            ApplyError: another thread's turn does not end.
        """
        if not self._relevance.is_open(group) or not self._takes_turn(group, from_body=from_body):
            yield False
            return
        try:
            yield group.applied_to != self._executions.now(group, module)
        finally:
            self.turns.leave(group)

    def _takes_turn(self, group: ChangeGroup, *, from_body: bool) -> bool:
        try:
            return self.turns.take(group, lambda: from_body and group.loads)
        except TimeoutError:
            name, body = group.patch.name, group.patch.body
            raise ApplyError(
                f"patch {name}: another thread has been applying it for {PATIENCE:.0f} s, expected "
                f"it to end; look at what body {body} waits for, or leave the patch out with "
                f"PATCHKIT_DISABLE={name}"
            ) from None

    def _apply_one(self, group: ChangeGroup, module: ModuleType | None) -> bool:
        """Make a group, or skip or fail its patch; whether anything was made."""
        try:
            return self._relevance.is_for_here(group.patch) and self._maker.make(group, module)
        except NotWanted as reason:
            self._skip(group.patch, str(reason))
        except Exception as error:  # noqa: BLE001 - whatever a body raises is the patch's failure
            try:  # failed first, so that no other thread goes on with it
                self._states.fail(group.patch, error, module=group.module)
            finally:
                self.take_back(group.patch)
        return False

    def _skip(self, state: PatchState, reason: str) -> None:
        """Skip a patch, of which other modules may have changes already: all or none."""
        is_begun = any(group.applied_to for group in state.groups)
        errors = self.take_back(state) if is_begun else []
        self._states.set(state, SKIPPED, "; not taken back: ".join([reason, *map(str, errors)]))

    # -- all that were made -----------------------------------------------------------------------

    def _finish(self, made: list[ChangeGroup], scope: Callable[[], SearchScope]) -> None:
        if not (groups := [group for group in made if self._still_wanted(group)]):
            return
        try:
            self._copies.repoint(groups, scope)
        except Exception as error:  # noqa: BLE001 - whatever it is, no copy is left behind
            states = list(dict.fromkeys(group.patch for group in groups))
            self.take_back(*reversed(states))
            with contextlib.ExitStack() as stack:  # all are failed before one stops the process
                for state in reversed(states):
                    stack.callback(self._states.fail, state, error)
            return
        for group in groups:
            self._states.set(group.patch, APPLIED, **group.facts)

    def _still_wanted(self, group: ChangeGroup) -> bool:
        """Whether nobody has failed or undone its patch meanwhile, in another thread."""
        if not group.patch.is_open:
            self.take_back(group.patch)
        return group.patch.is_open

    # -- undo -------------------------------------------------------------------------------------

    def refuse(self, state: PatchState, error: ApplyError) -> None:
        """Fail a patch whose changes cannot reach what they are for."""
        self._relevance.settle(state)
        if state.is_open:
            self.take_back(state)
            self._states.fail(state, error)

    def take_back(self, *states: PatchState) -> list[Exception]:
        """Undo all changes of patches; return what went wrong on the way."""
        if not states:
            return []  # there is nothing that anybody could have copied since
        errors = [error for state in states for error in self._unwind(state)]
        errors += self._copies.restore()
        self._states.say_undo_errors(errors)
        return errors

    def _unwind(self, state: PatchState) -> list[Exception]:
        errors: list[Exception] = []
        for group in reversed(state.groups):
            with self.turns.within(group):
                errors += group.take_back()
        return errors

    def after_fork(self) -> None:
        """Forget other threads, which are gone, and what they had half done."""
        self.turns.after_fork()
        self.sites.after_fork()
        me = threading.get_ident()
        for state in self._schedule.patches.values():
            state.verified = False  # a child is asked itself
            state.thread = me if state.thread == me else None
        for group in self._schedule.groups():
            if group.thread not in {None, me}:
                group.take_back()
                group.thread = None
                group.loads = False

    # -- look -------------------------------------------------------------------------------------

    def inspect(self) -> None:
        """Fail patches that somebody else has overwritten; an ApplyError where one is required."""
        with contextlib.ExitStack() as stack:  # all are looked at before one stops the process
            for state in reversed(list(self._schedule.patches.values())):
                if state.status == APPLIED:
                    stack.callback(self._inspect, state)

    def verify(self) -> None:
        """Ask once what is applied as a whole, for an entered role, whether it works."""
        with contextlib.ExitStack() as stack:  # as above
            for state in reversed(list(self._schedule.patches.values())):
                if state.row.patch.verify and not state.verified and self._is_whole(state):
                    stack.callback(self._verify, state)

    def _is_whole(self, state: PatchState) -> bool:
        is_mine = state.status == APPLIED and not state.row.roles.isdisjoint(self._states.roles)
        left = [group for group in state.groups if not self._executions.is_settled(group)]
        return is_mine and not any(self._relevance.changes_here(group) for group in left)

    def _verify(self, state: PatchState) -> None:
        state.verified = True  # first, as the answer may take a while, or enter a role
        try:
            refuse_unverified(state.row.patch, sys.modules[state.body])
        except Exception as error:  # noqa: BLE001 - whatever it raises is the patch's failure
            self._states.journal.write("verify", name=state.name, answer=str(error))
            self._unwind(state)
            self._copies.restore()
            self._states.fail(state, error)
        else:
            self._states.journal.write("verify", name=state.name, answer=True)

    def _inspect(self, state: PatchState) -> None:
        is_settled = self._executions.is_settled
        for group in filter(is_settled, state.groups):
            if (error := self._inspection.error_of(group, is_settled)) is not None:
                self._unwind(state)  # all its changes or none
                self._copies.restore()
                self._states.fail(state, error, module=group.module)
                return
