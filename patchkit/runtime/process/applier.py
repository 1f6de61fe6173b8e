"""Applies change groups that are due, from any thread, and repoints copies of what they changed.

No lock is held while a body or upstream code runs.
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
    built_before,
    untraced_targets,
)
from patchkit.runtime.process.eligibility import YES, EligibilityTable, eligibility
from patchkit.runtime.process.making import NotWanted
from patchkit.runtime.process.patch_state import (
    APPLIED,
    FAILED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    PatchStates,
    layers_of,
)
from patchkit.runtime.process.schedule import PATIENCE, Executions, Schedule
from patchkit.runtime.process.undoing import Undoing


class Applier:
    """Applies what is due.

    Args:
        schedule: all change groups of this process.
        states: the statuses of patches, which are changed.
        table: says which patches are for this process.
        executions: says which modules have executed, and when.
        undoing: takes patches back.
        copies: repoints copies of what was changed.
        on_applied: is called when groups were applied, or found to be.
    """

    def __init__(
        self,
        schedule: Schedule,
        states: PatchStates,
        table: EligibilityTable,
        executions: Executions,
        undoing: Undoing,
        copies: "CopiesPass",
        on_applied: Callable[[], None],
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
        """Groups of a body that was imported for one of them, to be applied after that one."""

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
        due = self._table.due(groups)
        if not due:
            return
        failed = [group.patch for group in due if group.patch.status == FAILED]
        if failed:
            self._states.stop_if_failed(failed)
        made: list[ChangeGroup] = []
        # Whose ends others wait for, copies included.
        with contextlib.ExitStack() as turns:
            try:
                for group in due:
                    module = modules.get(group.module)
                    made += self._apply_in_turn(
                        group, module, turns, from_body=from_body
                    )
            finally:
                self._finish(made, scope)
        self._on_applied()
        if self._after:
            postponed = [each for group in due for each in self._after.pop(group, ())]
            self.apply_late(postponed, from_body=True)

    def apply_of_body(self, body: str) -> None:
        """Apply what waits for a body that has been imported.

        Where this thread has imported it to apply one of its groups, those of later rows are
        applied after that one.

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
        """Apply to modules that were imported before; one pass repoints all copies.

        Args:
            groups: in the order in which they apply; those of other modules are left out.
            from_body: as of `apply`.

        Raises:
            ApplyError: as `apply` does.
        """
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
        """Apply what no import has told of; not what the end of an import that is going on will.

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
        """Apply a group if it is this thread's turn, or skip or fail its patch.

        The turn at a group that was made goes on, and ends with `turns`.

        Returns:
            The groups that were made: this one, and those that hang together with it.
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
            except Exception as error:  # noqa: BLE001 - whatever a body raises is its failure
                try:  # failed first, so that no other thread goes on with it
                    self._states.fail(patch, error, module=group.module)
                finally:
                    self._undoing.take_back(patch)
                return []
            if group in made:
                turns.push(turn.pop_all())
            return made

    def _takes_turn(
        self, group: ChangeGroup, turn: contextlib.ExitStack, *, from_body: bool
    ) -> bool:
        """Have this thread's turn at a group until `turn` ends; whether it is to be had."""
        try:
            return turn.enter_context(
                self._turns.turn(group, lambda: from_body and group.loads)
            )
        except TimeoutError:
            name = group.patch.name
            raise ApplyError(
                f"patch {name}: another thread has been applying it for {PATIENCE:.0f} s, expected "
                f"it to end; look at what body {group.patch.body} waits for, or leave the patch "
                f"out with PATCHKIT_DISABLE={name}"
            ) from None

    def _skip(self, patch: PatchState, reason: str) -> None:
        """Skip a patch, of which other modules may have changes already: all or none."""
        is_begun = any(group.applied_to for group in patch.groups)
        errors = self._undoing.take_back(patch) if is_begun else []
        reasons = [reason, *map(str, errors)]
        self._states.set(patch, SKIPPED, "; not taken back: ".join(reasons))

    # -- all that were made -----------------------------------------------------------------------

    def _finish(
        self, made: list[ChangeGroup], scope: Callable[[], SearchScope]
    ) -> None:
        """Repoint the copies of what was made, and tell that it is applied."""
        groups: list[ChangeGroup] = []
        for group in made:
            # Another thread may have failed or undone its patch meanwhile.
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
            with contextlib.ExitStack() as stack:  # all are failed before one stops
                for patch in reversed(patches):
                    stack.callback(self._states.fail, patch, error)
            return
        for group in groups:
            if group.applied_to is not None:  # else it was undone meanwhile
                self._states.set(group.patch, APPLIED, **group.facts)
        if hidden:
            self._dependents.tell_hidden(hidden)

    def refuse(self, patch: PatchState, error: ApplyError) -> None:
        """Fail a patch whose changes cannot reach what they are for.

        Args:
            patch: the patch; nothing happens if it is not for here.
            error: what it fails with.

        Raises:
            ApplyError: the patch is required, and failures stop the process.
        """
        self._table.decide_early(patch)
        if eligibility(patch).answer == YES:
            self._undoing.take_back(patch)
            self._states.fail(patch, error)


class CopiesPass(Record, eq=False):
    """Repoints copies of what patches have changed, and of what was taken back.

    Args:
        sites: the changed attributes of this process.
        schedule: all change groups of this process.
        states: tells what is noticed on the way.
    """

    sites: Sites
    schedule: Schedule
    states: PatchStates

    def repoint(
        self, groups: Sequence[ChangeGroup], scope: Callable[[], SearchScope]
    ) -> None:
        """Repoint the copies of what groups have changed, and note what is to be told of each.

        Args:
            groups: those that were made.
            scope: tells which modules may hold copies.
        """
        from patchkit.runtime.copies.repointing import repoint  # noqa: PLC0415 - few processes get here

        keepers = self._keepers()
        made = [site for group in groups for _, site in group.made.sites]
        changed = (*made, *self.sites.take_moved())
        search = scope() if changed else NO_MODULES
        latecomers = Latecomers(search.modules) if search.late else None
        outcome = repoint(changed, search, keepers)
        if latecomers is not None:
            latecomers.revisit(self._revisit)
        noticed = {copy.site for copy in (*outcome.rebound, *outcome.left)}
        others = noticed.difference(made)
        for group in groups:
            group.facts = remarks(group, outcome, others, late=search.late)

    def restore(self, deep: bool) -> tuple[list[Exception], list[Holder]]:
        """Repoint what was copied since, after patches were taken back.

        Args:
            deep: whether to look for what cannot be repointed, too.

        Returns:
            What went wrong, if anything; and what holds a copy all the same.
        """
        from patchkit.runtime.copies.repointing import restore  # noqa: PLC0415 - as above

        search = all_modules()
        latecomers = Latecomers(search.modules)
        try:
            outcome = restore(self.sites, search, self._keepers(), deep=deep)
            latecomers.revisit(self._revisit)
        except Exception as error:  # noqa: BLE001 - the targets are as they were all the same
            return [error], []
        return [], outcome.left

    def _revisit(self, module: str) -> None:
        """Repoint what a module has copied that another thread was importing meanwhile."""
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
        # Bodies call originals under the names that they, and their packs, have imported.
        packs = {patch.row.pack for patch in self.schedule.patches.values()}
        return Keepers(("patchkit", *packs), self.schedule.by_body.keys(), self.sites)


def remarks(
    group: ChangeGroup, outcome: Outcome, others: Iterable[Site], *, late: bool
) -> dict[str, Any]:
    """Collect what the journal says of a group's copies, and of how patches lie on its targets.

    Args:
        group: the group, which was made.
        outcome: what became of the copies.
        others: attributes that follow what was changed, and of which copies were noticed, too.
        late: whether somebody may have copied before.

    Returns:
        Facts by name: `module`; `body`, its file and checksum as it was loaded; `rebound` and
        `out_of_reach`, the copies in words; `layers`, for each target the patches on it, the
        innermost first; and `untraced`, if anything, why copies were not looked for.
    """
    sites = [site for _, site in group.made.sites]
    concerned = {*sites, *others}
    rebound = [copy.words for copy in outcome.rebound if copy.site in concerned]
    out_of_reach = [copy.words for copy in outcome.left if copy.site in concerned]
    out_of_reach += group.made.kept
    layers = layers_of(group)
    for site in sites:
        out_of_reach += built_before(site)
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
