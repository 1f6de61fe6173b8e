"""Takes patches back, also those that somebody has overwritten, or that do not work.

Their changes are undone, and what was copied since is repointed.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import AFTER, Patch
from patchkit.errors import OverwrittenError, VerifyError
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
from patchkit.runtime.process.eligibility import EligibilityTable, ask_body
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ChangeGroup,
    PatchState,
    PatchStates,
)
from patchkit.runtime.process.schedule import Executions, Schedule, Turns


class Undoing(Record, eq=False):
    """Takes patches back, whoever applied them.

    Args:
        sites: the changed attributes of this process.
        schedule: all change groups of this process.
        states: tells what could not be taken back.
        turns: who waits for whose turn at a group.
        dependents: makes anew what lies in what is taken back.
        restore_copies: repoints what was copied since; returns what went wrong, and what holds a
            copy that cannot be repointed. It looks for all of these where it is told to look deep.
        on_made: is called when groups were made anew.
    """

    sites: Sites
    schedule: Schedule
    states: PatchStates
    turns: Turns
    dependents: Dependents
    restore_copies: Callable[[bool], tuple[list[Exception], list[Holder]]]
    on_made: Callable[[], None]

    def prepare_execution(self, module: str) -> None:
        """Take back what was applied to a module before it executes once more.

        What an AfterImport has done is taken back: its undo knows the module as it is now. A body
        that executes anew is to see originals; its end has everything applied again.

        Args:
            module: name of the module.
        """
        errors: list[Exception] = []
        for group in reversed(self.schedule.due(module, AFTER)):
            if group.made.calls:
                errors += unwind(group.made.calls)
        for group in reversed(self.schedule.by_body.get(module, [])):
            if group.made.sites and group.thread is None:
                errors += group.take_back()
        if errors:
            self.states.say_undo_errors(errors)

    def take_back(self, *patches: PatchState) -> list[Exception]:
        """Undo all changes of patches, and tell what went wrong.

        Args:
            *patches: in the order in which they are undone.

        Returns:
            What went wrong on the way.
        """
        if not patches:
            return []  # there is nothing that anybody could have copied since
        errors = self.undo(*patches)
        self.states.say_undo_errors(errors)
        return errors

    def leave_to_others(self, patches: Sequence[PatchState]) -> dict[str, list[str]]:
        """Undo all changes of patches that are for other roles than this process has.

        Args:
            patches: in the order in which they are undone.

        Returns:
            By the names of the patches, what goes on holding what they have made, and what could
            not be taken back, in words.
        """
        if not patches:
            return {}
        names: dict[Site, list[str]] = {}
        kept: dict[str, list[str]] = {patch.name: [] for patch in patches}
        for patch in patches:
            for group in patch.groups:
                for _, site in group.made.sites:
                    names.setdefault(site, []).append(patch.name)
                    kept[patch.name] += subclasses_left(site.current, site.original)
        errors, left = self._undo(patches, kept)
        self.states.say_undo_errors(errors)
        for holder in left:
            # A site of others may have lain on one of these.
            for name in names.get(holder.site, kept):
                kept[name].append(holder.words)
        return {name: holders for name, holders in kept.items() if holders}

    def undo(self, *patches: PatchState) -> list[Exception]:
        """Undo all changes of patches, and tell nobody.

        Args:
            *patches: in the order in which they are undone.

        Returns:
            What went wrong on the way.
        """
        errors, left = self._undo(patches)
        for copy in left:
            self.states.say("info", f"undo: out of reach: {copy.words}")
        return errors

    def _undo(
        self, patches: Iterable[PatchState], kept: dict[str, list[str]] | None = None
    ) -> tuple[list[Exception], list[Holder]]:
        """Undo patches; with `kept`, note there what cannot be, and look deep for copies.

        Args:
            patches: in the order in which they are undone.
            kept: by the names of the patches, what goes on, in words; None where nobody asks.

        Returns:
            What went wrong, but what is in `kept`; and what holds a copy all the same.
        """
        errors: list[Exception] = []
        dependents = self.dependents
        groups = [group for patch in patches for group in reversed(patch.groups)]
        aside = dependents.set_aside(dependents.inside(groups))
        for group in groups:
            with self.turns.within(group):
                if kept is None:
                    errors += group.take_back()
                else:
                    kept[group.patch.name] += _left_after(group)
        if aside:
            self.restore_copies(False)  # their targets may be reached through a copy
        again, failures = dependents.make_again(aside)
        if again:
            self.on_made()
            dependents.repoint(again)
        faults, left = self.restore_copies(kept is not None)
        dependents.tell_hidden(dependents.find_hidden(self.schedule.groups()))
        return [*errors, *failures, *faults], left

    def after_fork(self) -> None:
        """Forget other threads, which are gone, and what they had half done."""
        self.turns.after_fork()
        self.sites.after_fork()
        me = threading.get_ident()
        for patch in self.schedule.patches.values():
            patch.verified = False  # a child is asked itself
            if patch.thread != me:
                patch.thread = None
        for group in self.schedule.groups():
            if group.thread not in {None, me}:
                group.take_back()
                group.thread = None
                group.loads = False


def _left_after(group: ChangeGroup) -> list[str]:
    """Take a group back, and tell in words what is left of it."""
    undos = group.made.undos[:]
    words = [f"what its undo has left ({error})" for error in group.take_back()]
    for undo in undos:  # a method of the change; few kinds leave anything
        words += getattr(getattr(undo, "__self__", None), "left", ())
    return words


class Inspection(Record, eq=False):
    """Looks whether strangers act on what was changed, and asks `verify`.

    Args:
        table: says which changes are for this process.
        executions: says whether a group is applied to its module as that is now.
        undoing: takes back what is overwritten, or does not work.
        reported: what was told of each patch, so that it is told once.
    """

    table: EligibilityTable
    executions: Executions
    undoing: Undoing
    reported: set[tuple[str, str]] = field(default_factory=set)

    def inspect(self) -> None:
        """Fail patches that somebody else has overwritten.

        Raises:
            ApplyError: one of them is required, and failures stop the process.
        """
        # All are looked at before one stops the process.
        with contextlib.ExitStack() as stack:
            for patch in reversed(list(self.undoing.schedule.patches.values())):
                if patch.status == APPLIED:
                    stack.callback(self._inspect, patch)

    def verify(self) -> None:
        """Ask once what is applied as a whole, for an entered role, whether it works.

        Raises:
            ApplyError: a required patch does not, and failures stop the process.
        """
        with contextlib.ExitStack() as stack:  # as above
            for patch in reversed(list(self.undoing.schedule.patches.values())):
                if (
                    patch.row.patch.verify
                    and not patch.verified
                    and self._is_whole(patch)
                ):
                    stack.callback(self._verify, patch)

    def _is_whole(self, patch: PatchState) -> bool:
        """Whether all changes of a patch for here are applied, in a process of one of its roles."""
        if patch.status != APPLIED or patch.row.roles.isdisjoint(
            self.undoing.states.roles
        ):
            return False
        return not self.table.has_changes_left(patch, self.executions.is_current)

    def _verify(self, patch: PatchState) -> None:
        states = self.undoing.states
        patch.verified = True  # first, as the answer may take a while, or enter a role
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
        for group in filter(self.executions.is_current, patch.groups):
            error = self._report_overwrites(group)
            if error is not None:
                self.undoing.undo(patch)  # all its changes or none
                self.undoing.states.fail(patch, error, module=group.module)
                return

    def _report_overwrites(self, group: ChangeGroup) -> OverwrittenError | None:
        """Report what somebody else has put where a group has changed something.

        Returns:
            The error of a group that acts no more, because a target of it was overwritten. It
            still acts below a stranger's wrapper, and beside a copy that was overwritten: those
            are only reported.
        """
        for target, overwrite in self._overwrites_of_targets(group):
            # Another thread may be taking the group back, which looks like somebody else's work.
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
        """List the targets of a group that somebody else has changed, or that are out of reach."""
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
        """Write an overwrite to the journal, and to stderr at a level; each once."""
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
    """Ask a `verify`.

    Args:
        patch: the patch, which has one.
        body: the body, which has the function.

    Raises:
        VerifyError: it does not answer True.
    """
    name = str(patch.verify)
    answer = ask_body("verify", name, body, "what is wrong", VerifyError)
    if answer is not None:
        raise VerifyError(f"verify: {name}() of {body.__name__}: {answer}")
