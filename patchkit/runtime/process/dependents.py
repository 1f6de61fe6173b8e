"""Makes change groups anew whose targets lie in what another one puts in place or takes away.

A method of a class that another row replaces means the class that is there then. So a row that
replaces the class comes and goes below the rows that change its parts, whichever was applied first:
these are set aside for it, and made again, in the order of their rows.
"""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.declaration import AFTER, SERVING, AfterImport
from patchkit.core.rows.target import TargetStep
from patchkit.errors import PatchkitError
from patchkit.runtime.changes.overwrites import hidden_on
from patchkit.runtime.changes.owners import (
    MISSING,
    function_of,
    peek,
)
from patchkit.runtime.changes.site import Site
from patchkit.runtime.copies.scope import SearchScope, all_modules
from patchkit.runtime.process.making import Maker, NotWanted
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ARMED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    Placed,
    layers_of,
)
from patchkit.runtime.process.schedule import Schedule

HiddenReplacements = tuple[ChangeGroup, dict[str, dict[str, str]]]
"""A group, and by target its patch and the one whose replacement hides it."""


class Dependents(Record, eq=False):
    """Finds the groups that hang together with another one, and makes them anew.

    Args:
        schedule: all change groups of this process.
        maker: makes the groups again.
        repoint_copies: repoints the copies of what groups have changed, in the modules of a scope.
    """

    schedule: Schedule
    maker: Maker
    repoint_copies: Callable[[Sequence[ChangeGroup], Callable[[], SearchScope]], None]

    def make(self, group: ChangeGroup, module: ModuleType | None) -> list[ChangeGroup]:
        """Make a group, at which it is this thread's turn, below those of later rows around it.

        Args:
            group: the change group.
            module: its module; None before that executes.

        Returns:
            The groups that were made: this one, if anything of it was, and those around it.

        Raises:
            NotWanted: as `Maker.make` does.
            ApplyError: as `Maker.make` does; or a required patch around it failed.
        """
        changes = self.maker.table.changes_here(group)
        if not changes:
            return []
        groups = self.schedule.groups()
        later = [other for other in groups if other.rank > group.rank]
        applied = [other for other in later if other.applied_to]
        around: list[ChangeGroup] = []
        if applied and module is not None:
            around = self._around(changes, module, applied)
        if around:
            # First, so that the others are set aside no longer than it takes.
            with contextlib.suppress(Exception):  # it fails once more below
                importlib.import_module(group.patch.body)
        aside = self.set_aside(around)
        made: list[ChangeGroup] = []
        again: list[ChangeGroup] = []
        try:
            if self.maker.make(group, changes, module):
                made.append(group)
            if made and (aside or (later and _is_awaited(group, later))):
                self.repoint(made)
        finally:
            if aside:
                again, _ = self.make_again(aside)
        if aside:
            failed = [each.patch for each in aside if each not in again]
            self.maker.states.stop_if_failed(failed)
        return [*made, *again]

    def repoint(self, groups: Sequence[ChangeGroup]) -> None:
        """Repoint the copies of what groups have changed, in all modules.

        Args:
            groups: groups that were made.
        """
        if groups:
            self.repoint_copies(groups, all_modules)

    # -- which ------------------------------------------------------------------------------------

    def _around(
        self,
        changes: Iterable[Placed],
        module: ModuleType,
        applied: Sequence[ChangeGroup],
    ) -> list[ChangeGroup]:
        """List the applied groups of later rows that have to come after those changes.

        They have put objects in place in which targets of the changes lie, or their targets lie in
        what the changes are to replace.

        Args:
            changes: those that are about to be made.
            module: their module.
            applied: all applied groups of later rows.

        Returns:
            The groups, with what lies in their objects in turn, in the order of their rows.
        """
        found: list[ChangeGroup] = []
        replaced: list[Any] = []
        for _, change in changes:
            *path, last = change.place.steps or ("",)
            value: Any = module
            for step in path:
                found += self._with_base_on(value, step)
                value = peek(value, step)
            if change.kind == "AddField":
                found += self._with_base_on(value, last)
            value = peek(value, last)
            if change.kind == "Replace" and function_of(value) is None:
                replaced.append(value)
        if replaced:
            found += [other for other in applied if _leads_through(other, replaced)]
        movable = [
            other
            for other in applied
            if other in found and not _is_below_stranger(other)
        ]
        return _ordered([*movable, *self.inside(movable)])

    def inside(self, groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
        """List the applied groups of later rows whose targets lie in what some groups have put.

        What lies in a module that one of them provides may be of an earlier row, too.

        Args:
            groups: groups that are made.

        Returns:
            The groups, none of which is one of these, in the order of their rows.
        """
        wholes = list(groups)
        found: list[ChangeGroup] = []
        for whole in wholes:
            objects = _objects(whole)
            if whole.moment == SERVING and whole.applied_to:
                found += self.schedule.due(whole.module, AFTER)
            added = [
                site
                for site in _bases(whole)
                if site.original is MISSING
                and (len(site.layers) > 1 or self.maker.sites.deriving_from(site))
            ]
            if not objects and not added:
                continue
            for other in self.schedule.groups():
                is_candidate = other.rank > whole.rank and other not in wholes
                if is_candidate and (
                    _leads_through(other, objects) or self._lies_on(other, added)
                ):
                    found.append(other)
        return _ordered(other for other in found if not _is_below_stranger(other))

    def _with_base_on(self, owner: Any, step: TargetStep) -> list[ChangeGroup]:
        """List the groups that have put something in place of an attribute or item."""
        site = self.maker.sites.get(owner, step)
        if site is None or not site.layers:
            return []
        return [group for group in self.schedule.groups() if site in _bases(group)]

    def _lies_on(self, group: ChangeGroup, added: Iterable[Site]) -> bool:
        """Whether a group wraps what another one has added, there or where it is inherited."""
        own = [site for _, site in group.made.sites]
        for site in added:
            lying = [site, *self.maker.sites.deriving_from(site)]
            if any(other in own for other in lying):
                return True
        return False

    # -- anew -------------------------------------------------------------------------------------

    def set_aside(self, groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
        """Take groups back for a while, the last first; what an AfterImport has called stays.

        Args:
            groups: applied groups in the order of their rows.

        Returns:
            The same groups, for `make_again`.
        """
        aside = list(groups)
        for group in reversed(aside):
            with self.maker.turns.within(group):
                calls = group.made.calls[:]
                group.made.undos = [
                    undo for undo in group.made.undos if undo not in calls
                ]
                errors = group.take_back()
                group.made.undos += calls
                group.made.calls += calls
                self.maker.states.say_undo_errors(errors)
        return aside

    def make_again(
        self, groups: Iterable[ChangeGroup]
    ) -> tuple[list[ChangeGroup], list[Exception]]:
        """Make groups again that were set aside.

        Args:
            groups: what `set_aside` has returned.

        Returns:
            Those that were made, and the errors of the others, whose patches have failed.
        """
        made: list[ChangeGroup] = []
        errors: list[Exception] = []
        for group in _ordered(groups):
            module = sys.modules.get(group.module)
            if group.patch.status != APPLIED:
                continue
            if module is None:
                if not any(other.applied_to for other in group.patch.groups):
                    self.maker.states.set(group.patch, ARMED)
                continue
            with self.maker.turns.within(group):
                try:
                    if self._make_layers(group, module):
                        made.append(group)
                except NotWanted as reason:
                    self._take_back(group.patch)
                    self.maker.states.set(group.patch, SKIPPED, str(reason))
                except Exception as error:  # noqa: BLE001 - whatever a body raises is its failure
                    errors.append(error)
                    self._take_back(group.patch)
                    with contextlib.suppress(PatchkitError):  # the caller stops for it
                        self.maker.states.fail(group.patch, error, module=group.module)
        return made, errors

    def _make_layers(self, group: ChangeGroup, module: ModuleType) -> bool:
        """Make all of a group but what an AfterImport calls, whose undos are there still."""
        changes = [
            (index, change)
            for index, change in self.maker.table.changes_here(group)
            if not isinstance(change, AfterImport)
        ]
        former = group.made
        try:
            return self.maker.make(group, changes, module)
        finally:
            if group.made is not former:
                group.made.undos[:0] = former.undos
                group.made.calls[:0] = former.calls

    def _take_back(self, patch: PatchState) -> None:
        for group in reversed(patch.groups):
            self.maker.states.say_undo_errors(group.take_back())

    # -- hidden -----------------------------------------------------------------------------------

    def find_hidden(self, groups: Iterable[ChangeGroup]) -> list[HiddenReplacements]:
        """Find which replacements on the targets of some groups others hide by now, or no longer.

        Args:
            groups: the groups.

        Returns:
            For each group in which that has changed, by target the patch and who hides it.
        """
        names: set[str] = set()
        for group in groups:
            sites = [site for _, site in group.made.sites]
            if group.facts.get("hidden") or any(len(site.layers) > 1 for site in sites):
                names.update(*layers_of(group).values())
        found: list[HiddenReplacements] = []
        for name in sorted(names):
            for group in self.schedule.patches[name].groups:
                hidden = hidden_on(group.made.sites, name)
                if hidden != group.facts.get("hidden", {}):
                    found.append((group, hidden))
        return found

    def tell_hidden(self, found: Iterable[HiddenReplacements]) -> None:
        """Tell which replacements are hidden, or no longer.

        Args:
            found: what `find_hidden` has returned.
        """
        for group, hidden in found:
            patch = group.patch
            if patch.status != APPLIED:
                continue
            group.facts |= {"hidden": hidden, "layers": layers_of(group)}
            self.maker.states.tell(patch, **group.facts)
            for target, upper in hidden.items():
                text = f"{patch.name} is hidden by {upper[patch.name]} at {target}"
                self.maker.states.say("info", text)


def _bases(group: ChangeGroup) -> list[Site]:
    """List the changed attributes on which a group has put something in place of the original."""
    return [
        site
        for _, site in group.made.sites
        if any(layer.base and layer.rank[0] == group.rank for layer in site.layers)
    ]


def _ordered(groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
    """Order groups as their rows are, each once."""
    return sorted(dict.fromkeys(groups), key=lambda group: group.rank)


def _objects(group: ChangeGroup) -> list[Any]:
    """List what a group has put in place of something, as far as anything lies in it."""
    values = [site.current for site in _bases(group)]
    return [value for value in values if function_of(value) is None]


def _is_awaited(group: ChangeGroup, later: Iterable[ChangeGroup]) -> bool:
    """Whether a group of a later row may reach its target through a copy of what one brings."""
    if not _objects(group):
        return False
    for other in later:
        if other.module in sys.modules and any(
            len(change.place.steps) > 1 for _, change in other.changes
        ):
            return True
    return False


def _leads_through(group: ChangeGroup, objects: Iterable[Any]) -> bool:
    """Whether a target of a group is reached through one of some objects, by whatever name."""
    for route in group.made.routes:
        for _, _, value in route.steps:
            if any(value is each for each in objects):
                return True
    return False


def _is_below_stranger(group: ChangeGroup) -> bool:
    """Whether a stranger has put something on a group's changes, which so stay where they are."""
    return not all(site.is_intact() for _, site in group.made.sites)
