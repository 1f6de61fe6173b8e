"""Makes change groups anew whose targets lie in what another one puts in place or takes away.

A method of a class that another row replaces means the class that is there then. So a row that
replaces the class comes and goes below the rows that change its parts, whichever was applied first:
these are set aside for it, and made again, in the order of their rows.
"""

import contextlib
import sys
from collections.abc import Collection, Iterable
from types import ModuleType
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.target import TargetStep
from patchkit.errors import PatchkitError
from patchkit.runtime.changes.overwrites import hidden_on
from patchkit.runtime.changes.owners import (
    MISSING,
    SiteKey,
    function_of,
    peek,
    site_key,
)
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import Maker
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ChangeGroup,
    PatchStates,
    Placed,
    layers_of,
)
from patchkit.runtime.process.schedule import Schedule, Turns

HiddenReplacements = tuple[ChangeGroup, dict[str, dict[str, str]]]
"""A group, and by target its patch and the one whose replacement hides it."""


class Dependents(Record, eq=False):
    """Finds the groups that hang together with another one, and makes them anew.

    Args:
        sites: the changed attributes of this process.
        schedule: all change groups of this process.
        states: the statuses of patches.
        turns: who waits for whose turn at a group.
        maker: makes the groups again.
    """

    sites: Sites
    schedule: Schedule
    states: PatchStates
    turns: Turns
    maker: Maker

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
        aside = self.set_aside(self.around(group, changes, module))
        made: list[ChangeGroup] = []
        try:
            if self.maker.make(group, changes, module):
                made.append(group)
        finally:
            again, _ = self.make_again(aside)
        failed = [each.patch for each in aside if each not in again]
        if failed:
            self.states.stop_if_failed(failed)
        return [*made, *again]

    # -- which ------------------------------------------------------------------------------------

    def around(
        self, group: ChangeGroup, changes: Iterable[Placed], module: ModuleType | None
    ) -> list[ChangeGroup]:
        """List the applied groups of later rows that have to come after a group.

        They have put objects in place in which targets of the group lie, or their targets lie in
        what the group is to replace.

        Args:
            group: a group that is about to be made.
            changes: its changes that are for here.
            module: its module; None before that executes.

        Returns:
            The groups, with what lies in their objects in turn, in the order of their rows.
        """
        if module is None:
            return []
        found: list[ChangeGroup] = []
        replaced: set[SiteKey] = set()
        for _, change in changes:
            *path, last = change.place.steps or ("",)
            owner: Any = module
            for step in path:
                found += self._with_base_on(owner, step)
                owner = peek(owner, step)
            if change.kind == "Replace" and owner is not MISSING:
                replaced.add(site_key(owner, last))
        for other in self.schedule.groups():
            if replaced and _leads_through(other, replaced):
                found.append(other)
        later = [other for other in found if other.rank > group.rank]
        return _ordered([*later, *self.inside(later)])

    def inside(self, groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
        """List the applied groups of later rows whose targets lie in what some groups have put.

        Args:
            groups: groups that are made.

        Returns:
            The groups, none of which is one of these, in the order of their rows.
        """
        wholes = list(groups)
        found: list[ChangeGroup] = []
        for whole in wholes:
            sites = _bases(whole)
            # Nothing lies in a function.
            outer = [site for site in sites if function_of(site.current) is None]
            keys = {site_key(site.owner, site.name) for site in outer}
            added = [
                site
                for site in sites
                if site.original is MISSING
                and (len(site.layers) > 1 or self.sites.deriving_from(site))
            ]
            if not keys and not added:
                continue
            for other in self.schedule.groups():
                is_candidate = other.rank > whole.rank and other not in wholes
                if is_candidate and (
                    _leads_through(other, keys) or self._lies_on(other, added)
                ):
                    found.append(other)
        return _ordered(found)

    def _with_base_on(self, owner: Any, step: TargetStep) -> list[ChangeGroup]:
        """List the groups that have put something in place of an attribute or item."""
        site = self.sites.get(owner, step)
        if site is None or not site.layers:
            return []
        return [group for group in self.schedule.groups() if site in _bases(group)]

    def _lies_on(self, group: ChangeGroup, added: Iterable[Site]) -> bool:
        """Whether a group wraps what another one has added, there or where it is inherited."""
        own = [site for _, site in group.made.sites]
        for site in added:
            if site in own:
                return True
            if any(other in own for other in self.sites.deriving_from(site)):
                return True
        return False

    # -- anew -------------------------------------------------------------------------------------

    def set_aside(self, groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
        """Take groups back for a while, the last first.

        Args:
            groups: applied groups in the order of their rows.

        Returns:
            The same groups, for `make_again`.
        """
        aside = list(groups)
        for group in reversed(aside):
            with self.turns.within(group):
                self.states.say_undo_errors(group.take_back())
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
            if group.patch.status != APPLIED or module is None:
                continue
            with self.turns.within(group):
                try:
                    changes = self.maker.table.changes_here(group)
                    if self.maker.make(group, changes, module):
                        made.append(group)
                except Exception as error:  # noqa: BLE001 - whatever a body raises is its failure
                    errors.append(error)
                    self._fail(group, error)
        return made, errors

    def _fail(self, group: ChangeGroup, error: Exception) -> None:
        """Fail a patch that cannot be made again; what that stops is stopped by the caller."""
        for other in reversed(group.patch.groups):
            self.states.say_undo_errors(other.take_back())
        with contextlib.suppress(PatchkitError):
            self.states.fail(group.patch, error, module=group.module)

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
            self.states.tell(patch, **group.facts)
            for target, upper in hidden.items():
                text = f"{patch.name} is hidden by {upper[patch.name]} at {target}"
                self.states.say("info", text)


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


def _leads_through(group: ChangeGroup, keys: Collection[SiteKey]) -> bool:
    """Whether a target of a group is reached through one of some attributes."""
    for route in group.made.routes:
        for owner, step, _ in route.steps:
            if site_key(owner, step) in keys:
                return True
    return False
