"""Undoes patches, and finds those to undo: other code has overwritten them, or `verify` fails.

The changes of a patch are undone, and copies of its objects are repointed to the originals.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import AFTER, Patch
from patchkit.errors import ApplyError, OverwrittenError, VerifyError
from patchkit.runtime.changes.context import unwind
from patchkit.runtime.changes.overwrites import (
    Overwrite,
    stranger_at,
    stranger_on,
    strangers_on_copies,
)
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.scope import Holder, subclasses_left
from patchkit.runtime.process.dependents import Dependents
from patchkit.runtime.process.eligibility import (
    YES,
    EligibilityTable,
    ask_body,
    eligibility,
)
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ARMED,
    ChangeGroup,
    PatchState,
    PatchStates,
)
from patchkit.runtime.process.schedule import Executions, Schedule, Turns


class Undoing(Record, eq=False):
    """Undoes patches, whichever thread has applied them.

    Args:
        sites: the changed attributes of this process.
        schedule: all change groups of this process.
        states: reports what could not be undone.
        turns: lets one thread at a time work on a group.
        dependents: redoes groups whose targets lie in objects that are restored.
        restore_copies: repoints copies to the originals; returns the errors, and the objects that
            hold a copy that cannot be repointed. True makes it look for all of these.
        on_made: is called after groups were made again.
    """

    sites: Sites
    schedule: Schedule
    states: PatchStates
    turns: Turns
    dependents: Dependents
    restore_copies: Callable[[bool], tuple[list[Exception], list[Holder]]]
    on_made: Callable[[], None]

    def prepare_execution(self, module: str) -> None:
        """Before a module executes again, undo some of what was applied to it.

        The calls of AfterImports are undone now, as their undos may use the module as it is. If the
        module is a body, or another one in which a call sets targets, all changes of these groups
        are undone, so that it sees originals; the end of its execution has them applied again.

        Args:
            module: name of the module.
        """
        errors: list[BaseException] = []
        for group in reversed(self.schedule.due(module, AFTER)):
            if group.made.calls:
                errors += unwind(group.made.calls)
        for group in reversed(self.schedule.needing(module)):
            # A group at which a thread has its turn is left to that thread.
            if group.made.sites and group.thread is None:
                errors += group.take_back()
        if errors:
            self.states.say_undo_errors(errors)

    def take_back(self, *patches: PatchState) -> list[BaseException]:
        """Undo all changes of patches, and report errors.

        Args:
            *patches: in the order in which they are undone.

        Returns:
            The errors.
        """
        if not patches:
            return []  # without a search for copies
        errors = self.undo(*patches)
        self.states.say_undo_errors(errors)
        return errors

    def leave_to_others(self, patches: Sequence[PatchState]) -> None:
        """Undo all changes of patches that are for other roles than this process has.

        Reported are the objects that still refer to their code, and what could not be undone.

        Args:
            patches: in the order in which they are undone; they are armed again.
        """
        names_by_site: dict[Site, list[str]] = {}
        kept: dict[str, list[str]] = {patch.name: [] for patch in patches}
        for patch in patches:
            for group in patch.groups:
                for _, site in group.made.sites:
                    names_by_site.setdefault(site, []).append(patch.name)
                    kept[patch.name] += subclasses_left(site.current, site.original)
        errors, holders = self._undo(patches, kept)
        self.states.say_undo_errors(errors)
        for holder in holders:
            # A copy of a site that none of these patches has changed may be due to any of them.
            for name in names_by_site.get(holder.site, kept):
                kept[name].append(holder.words)
        for patch in patches:
            self.states.set(patch, ARMED, "for another role")
        for name, words in kept.items():
            if words:
                self._report_kept(name, words)

    def _report_kept(self, name: str, holders: Sequence[str]) -> None:
        """Report a patch whose code still runs in a forked process, through objects in words."""
        self.states.journal.write("kept", name=name, holders=holders)
        shown = ", ".join(holders)
        self.states.say(
            "warning",
            f"{name} is not for this forked process, which still runs its code through {shown}",
        )

    def undo(self, *patches: PatchState) -> list[BaseException]:
        """Undo all changes of patches; the caller reports the errors.

        Args:
            *patches: in the order in which they are undone.

        Returns:
            The errors.
        """
        errors, holders = self._undo(patches)
        for holder in holders:
            self.states.say("info", f"undo: out of reach: {holder.words}")
        return errors

    def _undo(
        self, patches: Iterable[PatchState], kept: dict[str, list[str]] | None = None
    ) -> tuple[list[BaseException], list[Holder]]:
        """Undo patches, and redo the groups of other patches that depend on them.

        Args:
            patches: in the order in which they are undone.
            kept: takes up, by the names of the patches, what cannot be undone, in words, in place
                of errors; copies are then looked for everywhere. None for errors, and no such look.

        Returns:
            The errors, and the objects that still hold a copy.
        """
        errors: list[BaseException] = []
        dependents = self.dependents
        groups = [group for patch in patches for group in reversed(patch.groups)]
        # Their targets lie in what is undone here: they are redone in what is there afterwards.
        aside = dependents.set_aside(dependents.inside(groups))
        for group in groups:
            with self.turns.within(group):
                if kept is None:
                    errors += group.take_back()
                else:
                    kept[group.patch.name] += _undo_and_report(group)
        if aside:
            # The groups in `aside` may find their targets through a copy. False: copies that cannot
            # be repointed are not looked for yet.
            self.restore_copies(False)
        redone, redo_errors = dependents.make_again(aside)
        if redone:
            dependents.repoint(redone)
        copy_errors, holders = self.restore_copies(kept is not None)
        if groups:
            self.on_made()  # other objects lie at the targets now
        dependents.report_hidden(dependents.find_hidden(self.schedule.groups()))
        return [*errors, *redo_errors, *copy_errors], holders


def _undo_and_report(group: ChangeGroup) -> list[str]:
    """Undo a group, and return in words what stays of it."""
    undos = group.made.undos[:]
    words = [f"what its undo has left ({error})" for error in group.take_back()]
    for undo in undos:
        # An undo is a method of the change; changes that leave something have the attribute.
        change = getattr(undo, "__self__", None)
        words += getattr(change, "left", ())
    return words


class Inspection(Record, eq=False):
    """Fails patches that do not act: overwritten by other code, without a target, or unverified.

    Args:
        table: says which changes are for this process.
        executions: says whether a group is applied to the last execution of its module.
        undoing: undoes patches that are overwritten, or do not work.
        reported: name of the patch and text of each report, so that none is repeated.
    """

    table: EligibilityTable
    executions: Executions
    undoing: Undoing
    reported: set[tuple[str, str]] = field(default_factory=set)

    def inspect(self) -> None:
        """Fail patches that other code has overwritten.

        Raises:
            ApplyError: one of them is required, and failures stop the process.
        """
        # An exit stack calls all of them, last to first, before an error is raised.
        with contextlib.ExitStack() as stack:
            for patch in reversed(list(self.undoing.schedule.patches.values())):
                if patch.status == APPLIED:
                    stack.callback(self._inspect, patch)

    def verify(self) -> None:
        """Call the `verify` of each patch once, when all its changes are applied.

        Raises:
            ApplyError: a required patch does not work, and failures stop the process.
        """
        with contextlib.ExitStack() as stack:  # calls all before an error is raised
            for patch in reversed(list(self.undoing.schedule.patches.values())):
                if (
                    patch.row.patch.verify
                    and not patch.verified
                    and self._is_whole(patch)
                ):
                    stack.callback(self._verify, patch)

    def refuse(self, patch: PatchState, error: ApplyError) -> None:
        """Fail a patch whose target cannot be reached, such as a module that runs as `__main__`.

        Args:
            patch: the patch; nothing happens if it is not for this process.
            error: the reason, with which it fails.

        Raises:
            ApplyError: the patch is required, and failures stop the process.
        """
        self.table.decide_early(patch)
        if eligibility(patch).answer == YES:
            self.undoing.take_back(patch)
            self.undoing.states.fail(patch, error)

    def _is_whole(self, patch: PatchState) -> bool:
        """Whether a patch is for a role here, and all of its changes that apply here are made."""
        if patch.status != APPLIED or patch.row.roles.isdisjoint(
            self.undoing.states.roles
        ):
            return False
        return not self.table.has_changes_left(patch, self.executions.is_current)

    def _verify(self, patch: PatchState) -> None:
        """Call the `verify` of a patch and write its answer; if it is not True, fail the patch."""
        states = self.undoing.states
        # Set first: `verify` may enter a role, and that would call `verify` again.
        patch.verified = True
        try:
            refuse_unverified(patch.row.patch, sys.modules[patch.body])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever else it raises is the patch's failure
            states.journal.write("verify", name=patch.name, answer=str(error))
            self.undoing.undo(patch)
            states.fail(patch, error)
        else:
            states.journal.write("verify", name=patch.name, answer=True)

    def _inspect(self, patch: PatchState) -> None:
        """Undo and fail a patch if a target of it was overwritten."""
        for group in filter(self.executions.is_current, patch.groups):
            error = self._report_overwrites(group)
            if error is not None:
                self.undoing.undo(patch)  # all its changes or none
                self.undoing.states.fail(patch, error, module=group.module)
                return

    def _report_overwrites(self, group: ChangeGroup) -> OverwrittenError | None:
        """Report what other code has set where a group has changed something.

        Returns:
            The error of a group that has no effect any more, as a target of it was overwritten;
            None for a wrapper that calls the patch, or an overwritten copy: these are reported.
        """
        for target, overwrite in self._overwrites_of_targets(group):
            # Another thread may be undoing the group, which looks like an overwrite.
            if self.executions.is_current(group):
                self._report(group, target, overwrite, "info")
                if not overwrite.wraps:
                    return OverwrittenError(
                        f"{target} was overwritten by {overwrite.by}"
                    )
        for _, site in tuple(group.made.sites):
            for copy, overwrite in strangers_on_copies(site):
                level = "warning"
                if overwrite.wraps:
                    level = "info"
                self._report(group, copy, overwrite, level)
        return None

    def _overwrites_of_targets(self, group: ChangeGroup) -> list[tuple[str, Overwrite]]:
        """List the targets of a group that other code has changed, or moved out of reach."""
        sites = self.undoing.sites
        overwrites: list[tuple[str, Overwrite]] = []
        for target, site in tuple(group.made.sites):
            overwrite = stranger_at(site, sites)
            if overwrite is not None:
                overwrites.append((target, overwrite))
        for route in tuple(group.made.routes):
            overwrite = stranger_on(route, sites)
            if overwrite is not None:
                overwrites.append((route.target, overwrite))
        return overwrites

    def _report(
        self, group: ChangeGroup, target: str, overwrite: Overwrite, level: str
    ) -> None:
        """Write an overwrite to the journal, and to stderr at a level, unless that was done."""
        name = group.patch.name
        event = "wrapped" if overwrite.wraps else "overwritten"
        text = f"{target} was {event} by {overwrite.by}"
        facts: dict[str, Any] = {"target": target, "by": overwrite.by}
        if overwrite.unsure:
            level = "warning"
            text += "; cannot tell whether that calls the patch"
            facts["unsure"] = True
        if (name, text) not in self.reported:
            self.reported.add((name, text))
            states = self.undoing.states
            states.journal.write(event, name=name, **facts)
            states.say(level, f"{name}: {text}")


def refuse_unverified(patch: Patch, body: ModuleType) -> None:
    """Call the `verify` function of a patch.

    Args:
        patch: the patch, which names one.
        body: the body, which defines it.

    Raises:
        VerifyError: it does not return True, but what is wrong.
    """
    name = str(patch.verify)
    answer = ask_body("verify", name, body, "what is wrong", VerifyError)
    if answer is not None:
        raise VerifyError(f"verify: {name}() of {body.__name__}: {answer}")
