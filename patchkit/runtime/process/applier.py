"""Applies change groups that are due, from any thread, and repoints copies of what they changed.

A copy is another name of the original object, such as one that `from m import f` binds. No lock is
held while a body or upstream code runs.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import get_ident
from types import ModuleType
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.declaration import AFTER
from patchkit.errors import ApplyError
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.scope import (
    NO_MODULES,
    Holder,
    Keepers,
    Latecomers,
    Outcome,
    SearchScope,
    all_modules,
    still_on_original,
    untraced_targets,
)
from patchkit.runtime.process.eligibility import YES, EligibilityTable, eligibility
from patchkit.runtime.process.making import FAILURES, NotWanted
from patchkit.runtime.process.patch_state import (
    APPLIED,
    FAILED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    PatchStates,
)
from patchkit.runtime.process.schedule import PATIENCE, Executions, Schedule
from patchkit.runtime.process.undoing import Undoing


class Applier:
    """Applies change groups that are due.

    Args:
        schedule: all change groups of this process.
        states: the statuses of patches, which this class changes.
        table: says which patches are for this process.
        executions: numbers the executions of modules.
        undoing: undoes patches.
        copies: repoints copies of what was changed.
        on_applied: is called when groups are applied, with whether they were not so before.
    """

    def __init__(
        self,
        schedule: Schedule,
        states: PatchStates,
        table: EligibilityTable,
        executions: Executions,
        undoing: Undoing,
        copies: "CopiesPass",
        on_applied: Callable[[bool], None],
    ) -> None:
        self._turns = undoing.turns
        self._undoing = undoing
        self._copies = copies
        self._on_applied = on_applied
        self._schedule = schedule
        self._states = states
        self._table = table
        self._executions = executions
        self._dependents = undoing.dependents
        self._after: dict[ChangeGroup, list[ChangeGroup]] = {}
        """By a group whose thread imports its body: later groups of that body, applied after it."""

    # -- what is due ------------------------------------------------------------------------------

    def apply(
        self,
        groups: Iterable[ChangeGroup],
        modules: Mapping[str, ModuleType],
        scope: Callable[[], SearchScope],
        *,
        from_body: bool = False,
    ) -> None:
        """Apply the groups that are for this process now, then repoint copies in one pass.

        If a required patch fails, the groups before it stay applied.

        Args:
            groups: change groups in the order in which they apply; those that are applied stay so.
            modules: the modules of the groups by name; one that is missing is about to execute.
            scope: returns the modules in which copies are looked for.
            from_body: this thread has just imported the groups' body. Another thread that is
                applying them may be waiting for that import, so this one does not wait for it.

        Raises:
            ApplyError: a required patch failed, now or before, or another thread's turn at a group
                does not end.
        """
        due = self._table.due(groups)
        if not due:
            return
        failed = [group.patch for group in due if group.patch.status == FAILED]
        if failed:
            self._states.stop_if_failed(failed)
        made: list[ChangeGroup] = []
        # Turns end after the copies are repointed, as other threads wait for that, too.
        with contextlib.ExitStack() as turns:
            try:
                for group in due:
                    module = modules.get(group.module)
                    made += self._apply_in_turn(
                        group, module, turns, from_body=from_body
                    )
            finally:
                self._finish(made, scope)
        self._on_applied(bool(made))
        if self._after:
            postponed = [each for group in due for each in self._after.pop(group, ())]
            self.apply_late(postponed, from_body=True)

    def apply_of_body(self, body: str) -> None:
        """Apply the groups of a body that has been imported, by whatever code.

        If this thread has imported it to apply one of these groups, those of later rows are applied
        after that one.

        Args:
            body: full name of the body.

        Raises:
            ApplyError: as `apply` does.
        """
        due = self._schedule.due_of_body(body)
        me = get_ident()
        for group in self._schedule.by_body.get(body, ()):
            if group.thread == me and group.loads:
                self._after[group] = [each for each in due if each.rank > group.rank]
                due = [each for each in due if each.rank <= group.rank]
        self.apply_late(due, from_body=True)

    def apply_late(
        self, groups: Iterable[ChangeGroup], *, from_body: bool = False
    ) -> None:
        """Apply groups whose modules were imported before, then repoint copies in one pass.

        Args:
            groups: in the order in which they apply; those of partial modules are left out.
            from_body: as for `apply`.

        Raises:
            ApplyError: as `apply` does.
        """
        # An applied group of AFTER may be applied only to an earlier execution of its module.
        missed = [
            group for group in groups if not group.applied_to or group.moment == AFTER
        ]
        names = dict.fromkeys(group.module for group in missed)
        modules = {
            name: sys.modules[name] for name in names if self._executions.is_whole(name)
        }
        due = [group for group in missed if group.module in modules]
        self.apply(due, modules, all_modules, from_body=from_body)

    def apply_missed(self) -> None:
        """Apply what imports have missed; groups that wait for the end of one are left to it.

        Raises:
            ApplyError: as `apply` does.
        """
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
    ) -> list[ChangeGroup]:
        """Apply a group, or skip or fail its patch, unless another thread is at it.

        The turn at a group that was applied goes over to `turns`, which ends it later.

        Returns:
            The groups that were applied: this one, and dependent ones that were applied again.
        """
        if self._table.of_group(group).answer != YES:
            return []
        patch = group.patch
        with contextlib.ExitStack() as turn:
            if not self._takes_turn(group, turn, from_body=from_body):
                return []
            if group.applied_to == self._executions.now(group, module):
                return []
            try:
                made = []
                if self._table.decide(patch):
                    made = self._dependents.make(group, module)
            except NotWanted as reason:
                self._skip(patch, str(reason))
                return []
            except FAILURES as error:
                try:  # the status is set first, so that no other thread applies the patch
                    self._states.fail(patch, error, module=group.module)
                finally:
                    self._undoing.take_back(patch)
                return []
            if group in made:
                turns.push(turn.pop_all())  # else the turn ends here
            return made

    def _takes_turn(
        self, group: ChangeGroup, turn: contextlib.ExitStack, *, from_body: bool
    ) -> bool:
        """Begin this thread's turn at a group, to end with `turn`; False if it does not begin."""
        try:
            return turn.enter_context(
                self._turns.turn(group, lambda: from_body and group.loads)  # see apply
            )
        except TimeoutError:
            name = group.patch.name
            raise ApplyError(
                f"patch {name}: another thread has been applying it for {PATIENCE:.0f} s, expected "
                f"it to end; look at what body {group.patch.body} waits for, or leave the patch "
                f"out with PATCHKIT_DISABLE={name}"
            ) from None

    def _skip(self, patch: PatchState, reason: str) -> None:
        """Skip a patch as a whole: changes that it has made to other modules are undone."""
        is_begun = any(group.applied_to for group in patch.groups)
        errors = self._undoing.take_back(patch) if is_begun else []
        reasons = [reason, *map(str, errors)]
        self._states.set(patch, SKIPPED, "; not taken back: ".join(reasons))

    def _finish(
        self, made: list[ChangeGroup], scope: Callable[[], SearchScope]
    ) -> None:
        """Repoint the copies of what groups have changed, and set their patches to applied."""
        groups: list[ChangeGroup] = []
        for group in made:
            # Another thread may have failed, skipped or undone the patch meanwhile.
            if group.patch.status in {FAILED, SKIPPED}:
                self._undoing.take_back(group.patch)
            elif group.applied_to is not None:
                groups.append(group)
        if not groups:
            return
        try:
            self._copies.repoint(groups, scope)
            hidden = self._dependents.find_hidden(groups)
        except Exception as error:  # noqa: BLE001 - whatever it is, no copy is left behind
            patches = list(dict.fromkeys(group.patch for group in groups))
            self._undoing.take_back(*reversed(patches))
            # Each patch fails before an error is raised: an exit stack runs all callbacks.
            with contextlib.ExitStack() as stack:
                for patch in reversed(patches):
                    stack.callback(self._states.fail, patch, error)
            return
        for group in groups:
            if group.applied_to is not None:  # else it was undone meanwhile
                self._states.set(group.patch, APPLIED, **group.facts)
        if hidden:
            self._dependents.report_hidden(hidden)

    def refuse(self, patch: PatchState, error: ApplyError) -> None:
        """Fail a patch whose target cannot be reached, such as a module that runs as `__main__`.

        Args:
            patch: the patch; nothing happens if it is not for this process.
            error: the reason, with which it fails.

        Raises:
            ApplyError: the patch is required, and failures stop the process.
        """
        self._table.decide_early(patch)
        if eligibility(patch).answer == YES:
            self._undoing.take_back(patch)
            self._states.fail(patch, error)


class CopiesPass(Record, eq=False):
    """Repoints copies of what patches have changed, and of what was undone.

    Args:
        sites: the changed attributes of this process.
        schedule: all change groups of this process.
        states: reports copies that were made meanwhile.
    """

    sites: Sites
    schedule: Schedule
    states: PatchStates

    def repoint(
        self, groups: Sequence[ChangeGroup], scope: Callable[[], SearchScope]
    ) -> None:
        """Repoint the copies of what groups have changed, and set the `facts` of each group.

        Args:
            groups: the groups, which were applied.
            scope: returns the modules in which copies are looked for.
        """
        from patchkit.runtime.copies.repointing import repoint  # noqa: PLC0415 - few processes get here

        keepers = self._keepers()
        made = [site for group in groups for _, site in group.made.sites]
        changed = (*made, *self.sites.take_moved())  # the moved have a new original
        search = scope() if changed else NO_MODULES
        latecomers = Latecomers(search.modules) if search.late else None
        outcome = repoint(changed, search, keepers)
        if latecomers is not None:
            latecomers.revisit(self._revisit)
        copied = {copy.site for copy in (*outcome.rebound, *outcome.left)}
        changed_along = copied.difference(made)
        for group in groups:
            group.facts = remarks(group, outcome, changed_along, late=search.late)

    def restore(self, deep: bool) -> tuple[list[Exception], list[Holder]]:
        """Repoint copies to the originals after patches were undone.

        Args:
            deep: whether to look also for copies that cannot be repointed.

        Returns:
            The error, if there was one; and the objects that still hold a copy.
        """
        from patchkit.runtime.copies.repointing import restore  # noqa: PLC0415 - as above

        search = all_modules()
        latecomers = Latecomers(search.modules)
        try:
            outcome = restore(self.sites, search, self._keepers(), deep=deep)
            latecomers.revisit(self._revisit)
        except Exception as error:  # noqa: BLE001 - the targets themselves are restored
            return [error], []
        return [], outcome.left

    def _revisit(self, module: str) -> None:
        """Repoint the copies in a module that another thread was importing during the search."""
        from patchkit.runtime.copies.repointing import repoint  # noqa: PLC0415 - as above

        try:
            outcome = repoint(self.sites, SearchScope([module]), self._keepers())
        except Exception as error:  # noqa: BLE001 - that thread's import is none of ours to fail
            self.states.say("error", f"copies in {module} are not repointed: {error}")
            return
        for copy in outcome.rebound:
            self.states.say(
                "info", f"{copy.words} was copied meanwhile, and is repointed"
            )

    def _keepers(self) -> Keepers:
        # Bodies and packs call originals under the names that they have imported.
        packs = {patch.row.pack for patch in self.schedule.patches.values()}
        return Keepers(("patchkit", *packs), self.schedule.by_body.keys(), self.sites)


def remarks(
    group: ChangeGroup, outcome: Outcome, others: Iterable[Site], *, late: bool
) -> dict[str, Any]:
    """Collect what the journal says of an applied group: its copies, and the patches per target.

    Args:
        group: the group.
        outcome: the copies that were repointed, and those that could not be.
        others: attributes that changed along with the group's, and that have copies, too.
        late: whether copies may have been made before the group was applied.

    Returns:
        Facts by name: `module`; `body`, its file and checksum when it was loaded; `rebound` and
        `out_of_reach`, the copies in words; `layers`, by target the patches, the innermost first;
        and `untraced`, by target why copies were not looked for, if there is any.
    """
    sites = [site for _, site in group.made.sites]
    concerned = {*sites, *others}
    rebound = [copy.words for copy in outcome.rebound if copy.site in concerned]
    out_of_reach = [copy.words for copy in outcome.left if copy.site in concerned]
    out_of_reach += group.made.kept
    layers = group.made.layers()
    for site in sites:
        out_of_reach += still_on_original(site)
    facts: dict[str, Any] = {
        "module": group.module,
        "body": group.body,
        "rebound": rebound,
        "out_of_reach": out_of_reach,
        "layers": layers,
    }
    reasons = untraced_targets(group.made.sites)
    if late and reasons:
        facts["untraced"] = reasons
    return facts
