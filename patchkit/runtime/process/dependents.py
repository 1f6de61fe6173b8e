"""Redoes change groups whose targets lie in an object that another group replaces or restores.

If one row replaces the class `m:C` and a later row wraps `m:C.f`, the method of the new class is to
be wrapped, whichever of the two is applied first. So before the class is replaced or restored, the
wrap is undone (set aside), and afterwards it is made again, in the order of the rows.
"""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.declaration import (
    AFTER,
    SERVING,
    AfterImport,
    Decorate,
    Replace,
    SetByCall,
)
from patchkit.core.rows.target import TargetStep
from patchkit.errors import PatchkitError
from patchkit.runtime.changes.context import parts_of
from patchkit.runtime.changes.overwrites import hidden_on
from patchkit.runtime.changes.owners import MISSING, function_of, peek
from patchkit.runtime.changes.site import Site
from patchkit.runtime.copies.scope import SearchScope, all_modules
from patchkit.runtime.process.making import FAILURES, Maker, NotWanted
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ARMED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    Placed,
)
from patchkit.runtime.process.schedule import Schedule

HiddenReplacements = tuple[ChangeGroup, dict[str, dict[str, str]]]
"""A group, and by target, as `{the group's patch: the patch that hides it}`, what is hidden."""


class Dependents(Record, eq=False):
    """Finds the groups that depend on what another one changes, and redoes them.

    Args:
        schedule: all change groups of this process.
        maker: makes the changes of groups.
        repoint_copies: repoints the copies of what groups have changed, in the modules of a scope.
    """

    schedule: Schedule
    maker: Maker
    repoint_copies: Callable[[Sequence[ChangeGroup], Callable[[], SearchScope]], None]

    def make(self, group: ChangeGroup, module: ModuleType | None) -> list[ChangeGroup]:
        """Make a group, and redo the applied groups of later rows that depend on it.

        Args:
            group: the change group; this thread has its turn at it.
            module: its module; None before that executes.

        Returns:
            The groups that were made: this one, if a change of it was, and the dependent ones.

        Raises:
            NotWanted: as `Maker.make` does.
            ApplyError: as `Maker.make` does; or a required patch that depends on it failed.
        """
        changes = self.maker.table.changes_here(group)
        if not changes:
            return []
        groups = self.schedule.groups()
        later = [other for other in groups if other.rank > group.rank]
        applied = [other for other in later if other.applied_to]
        dependent: list[ChangeGroup] = []
        if applied and module is not None:
            dependent = self._groups_to_redo(changes, module, applied)
        if dependent:
            # The body is loaded first, so that the others are undone for a short time only.
            with contextlib.suppress(*FAILURES):  # `make` raises the error again
                importlib.import_module(group.patch.body)
        aside = self.set_aside(dependent)
        made: list[ChangeGroup] = []
        redone: list[ChangeGroup] = []
        try:
            if self.maker.make(group, changes, module):
                made.append(group)
            if made and (aside or (later and _may_be_reached_by_copy(group, later))):
                self.repoint(made)  # later groups may find their targets through a copy
        finally:
            if aside:
                redone, _ = self.make_again(aside)
        if aside:
            failed = [each.patch for each in aside if each not in redone]
            self.maker.states.stop_if_failed(failed)
        return [*made, *redone]

    def repoint(self, groups: Sequence[ChangeGroup]) -> None:
        """Repoint the copies of what groups have changed, in all modules.

        Args:
            groups: groups that were made; none are allowed.
        """
        if groups:
            self.repoint_copies(groups, all_modules)

    # -- which groups depend on others ------------------------------------------------------------

    def _groups_to_redo(
        self,
        changes: Iterable[Placed],
        module: ModuleType,
        applied: Sequence[ChangeGroup],
    ) -> list[ChangeGroup]:
        """List the applied groups of later rows that have to come after some changes.

        Either they have replaced an object in which a target of the changes lies, or their own
        targets lie in an object that the changes are to replace.

        Args:
            changes: the changes that are about to be made.
            module: their module.
            applied: all applied groups of later rows.

        Returns:
            The groups, and those that depend on them in turn, in the order of their rows.
        """
        found: list[ChangeGroup] = []
        replaced: list[Any] = []
        for change in parts_of(changes):
            # Of `m:C.f`, ["C"] and "f". Where the target is the module itself, there are no steps;
            # "" is the name of no attribute, so that nothing is found below.
            *path, last = change.place.steps or ("",)
            value: Any = module
            if change.place.module != module.__name__:  # what an AfterImport sets
                value = sys.modules.get(change.place.module)
            for step in path:
                # A later row has replaced an object in which the target lies.
                found += self._groups_replacing(value, step)
                value = peek(value, step)
            # An AddField changes the class itself. So a later row that has replaced the class is
            # redone, to replace a class that has the field.
            if change.kind == "AddField":
                found += self._groups_replacing(value, last)
            value = peek(value, last)
            # What is replaced, and may hold targets of later rows. No target lies in a function.
            puts_another = isinstance(change, (Replace, Decorate, SetByCall))
            if puts_another and function_of(value) is None:
                replaced.append(value)
        if replaced:
            found += [other for other in applied if _passes_through(other, replaced)]
        redoable = [
            other
            for other in applied
            if other in found and not _is_changed_by_others(other)
        ]
        return _in_row_order([*redoable, *self.inside(redoable)])

    def inside(self, groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
        """List the groups of later rows whose targets lie in objects that some groups have set.

        Groups that change a provided module may be of an earlier row, too.

        Args:
            groups: applied groups.

        Returns:
            Those that depend on them, without the groups themselves, in the order of their rows.
        """
        outer_groups = list(groups)
        found: list[ChangeGroup] = []
        for outer in outer_groups:
            objects = _new_objects(outer)
            if outer.moment == SERVING and outer.applied_to:
                found += self.schedule.due(outer.module, AFTER)
            # Attributes that were added, and that later patches wrap there or in a subclass.
            added = [
                site
                for site in _replaced_sites(outer)
                if site.original is MISSING
                and (len(site.layers) > 1 or self.maker.sites.deriving_from(site))
            ]
            if not objects and not added:
                continue
            for other in self.schedule.groups():
                is_later = other.rank > outer.rank and other not in outer_groups
                if is_later and (
                    _passes_through(other, objects) or self._wraps_added(other, added)
                ):
                    found.append(other)
        return _in_row_order(
            other for other in found if not _is_changed_by_others(other)
        )

    def _groups_replacing(self, owner: Any, step: TargetStep) -> list[ChangeGroup]:
        """List the groups that have replaced an attribute or item."""
        site = self.maker.sites.get(owner, step)
        if site is None or not site.layers:
            return []
        return [
            group for group in self.schedule.groups() if site in _replaced_sites(group)
        ]

    def _wraps_added(self, group: ChangeGroup, added: Iterable[Site]) -> bool:
        """Whether a group changes an attribute that was added, or one that inherits it."""
        own_sites = [site for _, site in group.made.sites]
        for site in added:
            inheriting = self.maker.sites.deriving_from(site)
            if any(other in own_sites for other in (site, *inheriting)):
                return True
        return False

    # -- undo and redo ----------------------------------------------------------------------------

    def set_aside(self, groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
        """Undo groups for a while, the last first; calls of an AfterImport are not undone.

        Args:
            groups: applied groups in the order of their rows.

        Returns:
            The same groups, for `make_again`.
        """
        aside = list(groups)
        for group in reversed(aside):
            with self.maker.turns.within(group):
                self.maker.states.say_undo_errors(_take_back_layers(group))
        return aside

    def make_again(
        self, groups: Iterable[ChangeGroup]
    ) -> tuple[list[ChangeGroup], list[BaseException]]:
        """Make groups again that were set aside.

        Args:
            groups: the result of `set_aside`.

        Returns:
            The groups that were made, and the errors of those whose patches have failed now.
        """
        made: list[ChangeGroup] = []
        errors: list[BaseException] = []
        for group in _in_row_order(groups):
            module = sys.modules.get(group.module)
            if group.patch.status != APPLIED:
                continue
            # The module was removed from `sys.modules`. Its patch waits for it to be imported
            # again, unless other groups of the patch are applied.
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
                except FAILURES as error:
                    errors.append(error)
                    self._take_back(group.patch)
                    with contextlib.suppress(PatchkitError):  # the caller raises
                        self.maker.states.fail(group.patch, error, module=group.module)
        return made, errors

    def _make_layers(self, group: ChangeGroup, module: ModuleType) -> bool:
        """Make the changes of a group again, without its AfterImports, which were not undone."""
        changes = [
            (index, change)
            for index, change in self.maker.table.changes_here(group)
            if not isinstance(change, AfterImport)
        ]
        former = group.made  # what the AfterImports have made
        try:
            return self.maker.make(group, changes, module)
        finally:
            # If it is another one, `make` has begun a new transaction.
            if former.calls and group.made is not former:
                from patchkit.runtime.process.called import put_before  # noqa: PLC0415 - few groups have calls

                put_before(group.made, former)

    def _take_back(self, patch: PatchState) -> None:
        """Undo all changes of a patch."""
        for group in reversed(patch.groups):
            self.maker.states.say_undo_errors(group.take_back())

    # -- replacements that are hidden by others ---------------------------------------------------

    def find_hidden(self, groups: Iterable[ChangeGroup]) -> list[HiddenReplacements]:
        """Find replacements that another patch's replacement of the same target hides.

        Args:
            groups: the groups whose targets are looked at.

        Returns:
            The groups whose hidden replacements have changed since they were last reported.
        """
        names: set[str] = set()  # of the patches on the targets of these groups
        for group in groups:
            sites = [site for _, site in group.made.sites]
            # Otherwise each target has the layer of one patch alone, and none was hidden before.
            if group.facts.get("hidden") or any(len(site.layers) > 1 for site in sites):
                # There is a list of names for each target.
                names.update(*group.made.layers().values())
        found: list[HiddenReplacements] = []
        for name in sorted(names):
            for group in self.schedule.patches[name].groups:
                hidden = hidden_on(group.made.sites, name)
                if hidden != group.facts.get("hidden", {}):
                    found.append((group, hidden))
        return found

    def report_hidden(self, found: Iterable[HiddenReplacements]) -> None:
        """Report which replacements are hidden, or no longer.

        Args:
            found: the result of `find_hidden`.
        """
        for group, hidden in found:
            patch = group.patch
            if patch.status != APPLIED:
                continue
            group.facts |= {"hidden": hidden, "layers": group.made.layers()}
            self.maker.states.report(patch, **group.facts)
            for target, upper in hidden.items():
                text = f"{patch.name} is hidden by {upper[patch.name]} at {target}"
                self.maker.states.say("info", text)


def _take_back_layers(group: ChangeGroup) -> list[BaseException]:
    """Undo a group without calls of AfterImports and what they have set; return the errors."""
    if not group.made.calls:
        return group.take_back()
    from patchkit.runtime.process.called import take_back_others  # noqa: PLC0415 - few groups have calls

    return take_back_others(group)


def _replaced_sites(group: ChangeGroup) -> list[Site]:
    """List the attributes that a group has replaced or added, which it does not only wrap.

    A class that a Decorate has made is another one, in which targets of later rows may lie.
    """
    found: list[Site] = []
    for _, site in group.made.sites:
        # A base layer replaces the value, others wrap it; a rank begins with that of the row.
        own_layers = [layer for layer in site.layers if layer.rank[0] == group.rank]
        if any(layer.base or isinstance(layer.value, type) for layer in own_layers):
            found.append(site)
    return found


def _in_row_order(groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
    """Sort groups by their rows, and leave out duplicates."""
    return sorted(dict.fromkeys(groups), key=lambda group: group.rank)


def _new_objects(group: ChangeGroup) -> list[Any]:
    """List the objects that a group has set, without functions: no target lies in one."""
    values = [site.current for site in _replaced_sites(group)]
    return [value for value in values if function_of(value) is None]


def _may_be_reached_by_copy(group: ChangeGroup, later: Iterable[ChangeGroup]) -> bool:
    """Whether a later group may find its target through a copy of an object that one has set.

    With `n.C` imported from `m`, the way to the target `n:C.f` leads through a copy of `m:C`.
    """
    if not _new_objects(group):
        return False
    for other in later:
        if other.module in sys.modules and any(
            len(part.place.steps) > 1 for part in parts_of(other.changes)
        ):
            return True
    return False


def _passes_through(group: ChangeGroup, objects: Iterable[Any]) -> bool:
    """Whether the route to a target of a group passes through one of some objects."""
    for route in group.made.routes:
        for _, _, value in route.steps:
            if any(value is each for each in objects):  # `in` would compare by `==`
                return True
    return False


def _is_changed_by_others(group: ChangeGroup) -> bool:
    """Whether code other than patchkit has changed the attributes since; then they stay as is."""
    return not all(site.is_intact() for _, site in group.made.sites)
