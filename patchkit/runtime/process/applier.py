"""Applies change groups that are due, from any thread, and repoints copies of what they changed.

A copy is another name of the original object, such as one that `from m import f` binds. No lock is
held while a body or upstream code runs.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import get_ident
from types import ModuleType

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
    SearchScope,
    all_modules,
    modules_since,
)
from patchkit.runtime.process.dependents import Dependents
from patchkit.runtime.process.eligibility import YES, EligibilityTable
from patchkit.runtime.process.lookout import Lookout
from patchkit.runtime.process.making import FAILURES, Maker, NotWanted
from patchkit.runtime.process.patch_state import (
    APPLIED,
    FAILED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    PatchStates,
)
from patchkit.runtime.process.schedule import PATIENCE, Executions, Schedule, Turns
from patchkit.runtime.process.undoing import Inspection, Undoing


class Applier:
    """Applies change groups that are due.

    Args:
        schedule: all change groups of this process.
        states: the statuses of patches, which this class changes.
        table: says which patches are for this process.
        executions: numbers the executions of modules.
        inspection: fails patches that do not act, and undoes them.
        copies: repoints copies of what was changed.
        on_applied: is called when groups are applied, with whether they were not so before.
    """

    def __init__(
        self,
        schedule: Schedule,
        states: PatchStates,
        table: EligibilityTable,
        executions: Executions,
        inspection: Inspection,
        copies: "CopiesPass",
        on_applied: Callable[[bool], None],
    ) -> None:
        self.inspection = inspection
        self.undoing = undoing = inspection.undoing
        self._turns = undoing.turns
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
        due: Sequence[ChangeGroup],
        modules: Mapping[str, ModuleType],
        *,
        since: str = "",
    ) -> None:
        """Apply groups that are due with the import of their module, then repoint copies.

        If a required patch fails, the groups before it stay applied.

        Args:
            due: what `EligibilityTable.due` has chosen; groups that are applied stay so.
            modules: the modules of the groups by name; one that is missing is about to execute.
            since: the module that has been imported, as copies may have been made since its import
                began; "" if nothing can have copies yet.

        Raises:
            ApplyError: a required patch failed, now or before, or another thread's turn at a group
                does not end.
        """
        scope = partial(modules_since, since) if since else lambda: NO_MODULES
        self._apply(due, modules, scope)

    def _apply(
        self,
        due: Sequence[ChangeGroup],
        modules: Mapping[str, ModuleType],
        scope: Callable[[], SearchScope],
        *,
        from_body: bool = False,
    ) -> None:
        """Apply groups, then repoint copies in one pass over the modules that `scope` returns."""
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
            from_body: this thread has just imported the groups' body. Another thread that is
                applying them may be waiting for that import, so this one does not wait for it.

        Raises:
            ApplyError: as `apply` does.
        """
        # An applied group of AFTER may be applied only to an earlier execution of its module.
        missed = [
            group
            for group in self._table.due(groups)
            if not group.applied_to or group.moment == AFTER
        ]
        names = dict.fromkeys(group.module for group in missed)
        modules = {
            name: sys.modules[name] for name in names if self._executions.is_whole(name)
        }
        due = [group for group in missed if group.module in modules]
        if due:
            self._apply(due, modules, all_modules, from_body=from_body)

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
                    self.undoing.take_back(patch)
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
        errors = self.undoing.take_back(patch) if is_begun else []
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
                self.undoing.take_back(group.patch)
            elif group.applied_to is not None:
                groups.append(group)
        if not groups:
            return
        try:
            self._copies.repoint(groups, scope)
            hidden = self._dependents.find_hidden(groups)
        except Exception as error:  # noqa: BLE001 - whatever it is, no copy is left behind
            patches = list(dict.fromkeys(group.patch for group in groups))
            self.undoing.take_back(*reversed(patches))
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


def wired(
    sites: Sites,
    schedule: Schedule,
    states: PatchStates,
    table: EligibilityTable,
    executions: Executions,
    turns: Turns,
    lookout: Lookout,
) -> Applier:
    """Make the applier of a session, with all that it works with.

    Args:
        sites: the changed attributes of this process.
        schedule: all change groups of this process.
        states: the statuses of patches.
        table: says which patches are for this process.
        executions: numbers the executions of modules.
        turns: lets one thread at a time work on a group.
        lookout: is told what was applied, and observes it.

    Returns:
        The applier, which has its parts as attributes.
    """
    copies = CopiesPass(sites, schedule, states)
    maker = Maker(sites, states, table, executions, turns)
    dependents = Dependents(schedule, maker, copies.repoint)
    observe = lookout.effects.observe
    undoing = Undoing(
        sites, schedule, states, turns, dependents, copies.restore, observe
    )
    inspection = Inspection(table, executions, undoing)
    return Applier(
        schedule, states, table, executions, inspection, copies, lookout.note_applied
    )


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
        from patchkit.runtime.copies.repointing import (  # noqa: PLC0415 - few processes get here
            remarks,
            repoint,
        )

        keepers = self._keepers()
        made = [site for group in groups for _, site in group.made.sites]
        changed = (*made, *self.sites.take_moved())  # the moved have a new original
        search = scope() if changed else NO_MODULES
        latecomers = Latecomers(search.modules) if search.late else None
        outcome = repoint(changed, search, keepers)
        if latecomers is not None:
            latecomers.revisit(self._revisit)
        changed_along: set[Site] = set()
        for copy in (*outcome.rebound, *outcome.left):
            changed_along.add(copy.site)
        changed_along.difference_update(made)
        for group in groups:
            copies = remarks(group.made.sites, outcome, changed_along, late=search.late)
            copies["out_of_reach"] += group.made.kept
            layers = group.made.layers()
            known = {"module": group.module, "body": group.body, "layers": layers}
            group.facts = known | copies

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
