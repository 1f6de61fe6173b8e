"""
The one mutable thing in a process: the roles that it has entered, and what its imports make due.

A patch applies when its target's module has been imported *and* the process has entered one of
its roles; whichever comes last makes it due.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import TYPE_CHECKING

from patchkit.copies import modules_since, nowhere
from patchkit.imports.finder import Finder
from patchkit.imports.half_imported import let_pass
from patchkit.imports.provided_modules import is_served, refuse_withdrawn, spec_provided
from patchkit.imports.run_as_main import run_beside_its_name, unreachable
from patchkit.process import patch_set
from patchkit.process.applier import Applier
from patchkit.process.executions import Executions, bound_in_parent
from patchkit.process.guests import Guests
from patchkit.process.held import Holds
from patchkit.process.hooks import Hooks
from patchkit.process.lookout import Lookout
from patchkit.process.patch_state import APPLIED, ARMED, PatchStates
from patchkit.process.relevance import Relevance
from patchkit.process.remarks import tell_armed, tell_inherited, tell_others
from patchkit.process.roles import HELPERS
from patchkit.process.schedule import Schedule
from patchkit.rows.declaration import Role
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from patchkit.copies import Where
    from patchkit.process.journal import Journal
    from patchkit.process.patch_state import GroupState
    from patchkit.registry import Registry
    from patchkit.rows.selection import Selection


class Session:
    """
    The patches of one process.

    Attributes:
        states: how it stands with each patch, by name.
        roles: those that the process has entered.
        hooks: patchkit's own, into upstream.
        guests: rows that a block has brought along.
        lookout: looks again at what is applied.

    """

    def __init__(self, registry: Registry, selection: Selection, journal: Journal) -> None:
        self.journal = journal
        self._schedule = Schedule(registry)
        self._states = PatchStates(self._schedule.patches, selection.settings, journal)
        self.states, self.roles = self._states.patches, self._states.roles
        self._relevance = Relevance(self._states, selection)
        self._finder = Finder(self, self.provide, lambda: self.lookout.begin())  # noqa: PLW0108 - not there yet
        self._executions = Executions(self._finder)
        self._applier = Applier(self._schedule, self._states, self._relevance, self._executions)
        self.guests = Guests(self._schedule, self._finder)
        self._holds = Holds(self._states, self._relevance, self._applier)
        self.lookout = Lookout(self._schedule, self._states, selection, self._applier)
        self._entering: set[tuple[Role, int]] = set()
        self.hooks = Hooks(self._applier.sites)
        self._why_beside = "it had begun to run before patchkit was there"

    # -- arm ------------------------------------------------------------------------------------

    def arm(self, roles: Collection[Role], *, lent: bool = False) -> None:
        """
        Watch imports from now on, and enter the roles that the process has already.

        Args:
            roles: those; none where they will be known later.
            lent: never, as the process is not armed; patches are only held.

        """
        tell_armed(self._states)
        tell_others(self._states)
        self._relevance.awaits_role = not (roles or lent)
        if self._relevance.awaits_role:
            self._settle_serving(frozenset(Role))
        watched = self._schedule.modules | set(self.hooks.modules)
        self._finder.watch(watched)
        self._finder.install()
        let_pass(watched)
        for name in self.hooks.modules:
            if self._executions.is_whole(name):
                self.hooks.run(name, sys.modules[name])
        for role in sorted(roles):
            self.enter(role)

    def stand_down(self) -> None:
        """Watch imports no more; what is applied stays."""
        self._finder.uninstall()
        self.lookout.stand_down()

    def patches_on(self, owner: object, name: Any) -> list[str]:
        """Name the patches that lie on an attribute or item; another copy of patchkit asks."""
        site = self._applier.sites.get(owner, name if isinstance(name, str) else Item(name.key))
        return site.patches if site is not None else []

    # -- what the finder tells ------------------------------------------------------------------

    def importing(self, name: str) -> None:
        """A module is about to execute."""
        self._applier.note_execution(name)
        self._apply(self._schedule.before(name), {}, nowhere)

    def imported(self, name: str, module: ModuleType) -> None:
        """A module has executed."""
        with bound_in_parent(name, module):
            self.hooks.run(name, module)
            missed = [group for group in self._schedule.before(name) if not group.applied_to]
            # Those that serve the module have done so now, or refuse one that upstream has.
            due = [*missed, *self._schedule.serving(name), *self._schedule.after(name)]
            self._apply(due, {name: module}, lambda: modules_since(name))
            self._apply_late(self._schedule.of_body(name), from_body=True)
            self._apply_late(self._executions.postponed(name))
            refuse_withdrawn(name, module)

    def import_ended(self, name: str) -> None:
        """Apply what another thread asked for while the end of a module's execution was told."""
        self._apply_late(self._schedule.after(name))

    def main_unreachable(self, name: str, reason: str) -> None:
        """
        Fail the patches of a module that runs as `__main__` instead of under its own name.

        Raises:
            ApplyError: one is required.

        """
        self._why_beside = reason
        for group in (*self._schedule.before(name), *self._schedule.after(name)):
            if self._relevance.is_wanted(group) and self._relevance.changes_here(group):
                self._applier.refuse(group.patch, unreachable(name, reason))

    def provide(self, name: str) -> ModuleSpec | None:
        """
        Make the spec of a module that nobody finds, if a patch of this process serves it.

        Raises:
            ApplyError: the patch is required, and failed.

        """
        # importlib holds its lock meanwhile, so that nothing may be imported: no body, to ask it.
        for group in self._schedule.serving(name):
            if self._relevance.is_wanted(group):
                self._states.stop_if_failed([group.patch])
                is_offered = group.patch.settled and group.patch.is_open
                if is_offered and self._relevance.changes_here(group):
                    package = self._schedule.serves_beneath(name)
                    return spec_provided(name, self._serve, package=package)
        return None

    def _serve(self, name: str, module: ModuleType) -> bool:
        self._apply(self._schedule.serving(name), {name: module}, nowhere)
        return is_served(module)

    def _apply(
        self,
        groups: Sequence[GroupState],
        modules: dict[str, ModuleType],
        scope: Callable[[], Where],
    ) -> None:
        if groups and self._applier.apply(groups, modules, scope):
            self.lookout.note_applied()

    def _apply_late(self, groups: Sequence[GroupState], *, from_body: bool = False) -> None:
        if groups and self._applier.apply_late(groups, from_body=from_body):
            self.lookout.note_applied()

    # -- roles ----------------------------------------------------------------------------------

    def enter(self, role: Role) -> None:
        """
        Enter a role: apply what has waited for it.

        Raises:
            ApplyError: a required patch of the role fails now, or has failed before, or somebody
                has overwritten what one had changed.

        """
        self.stop_if_failed({role})
        if role not in self.roles:
            self.roles.add(role)
            self.journal.write("role", role=str(role))
        if (name := run_beside_its_name()) is not None and name not in HELPERS:
            self.main_unreachable(name, self._why_beside)
        visit = (role, get_ident())
        if visit in self._entering:
            return
        self._entering.add(visit)
        try:
            self._apply_role(role)
        finally:
            self._entering.discard(visit)
        if any(name.partition(".")[0] in sys.modules for name in self._schedule.targets):
            self.lookout.begin()
        self.lookout.tell_unmet(anew=False)

    def _apply_role(self, role: Role) -> None:
        self._settle_serving({role})
        # Where another thread is at it, this waits until everything is applied. A role that was
        # entered before may have missed a module, whose import nobody told of.
        groups = self._schedule.groups()
        self._apply_late([group for group in groups if role in group.patch.row.roles])
        self._states.stop_if_failed(list(self.states.values()), (role,))

    def _settle_serving(self, roles: Collection[Role]) -> None:
        """Ask early whether what serves modules in all these roles is for here."""
        for state in list(self.states.values()):
            serves = any(group.serves for group in state.groups)
            if serves and state.row.roles.issuperset(roles):
                self._relevance.settle(state)

    def stop_if_failed(self, roles: Collection[Role] | None = None) -> None:
        """
        Stop where a required patch of this process has failed and somebody swallowed the error.

        Args:
            roles: only look at patches of these, which the process need not have entered.

        Raises:
            ApplyError: one has, or somebody has overwritten what one had changed.

        """
        wanted = self.roles if roles is None else roles
        self._states.stop_if_failed(list(self.states.values()), wanted)
        self._applier.inspect()

    def become(self, roles: Collection[Role]) -> None:
        """Take these roles in place of those inherited from the parent (after a fork)."""
        self.roles.clear()
        self.journal.write("become", roles=[str(role) for role in roles])
        others = [state for state in reversed(self.states.values()) if not state.is_for(roles)]
        applied = [state for state in others if state.status == APPLIED]
        self._applier.take_back(*applied)
        for state in applied:
            self._states.set(state, ARMED, "for another role")
        for role in sorted(roles):
            self.enter(role)

    def stamp(self, config: Any) -> None:
        """Write into an engine's configuration which patches are for each role."""
        self.lookout.tell_unmet()
        patch_set.stamp(config, self._states, self._relevance)

    def agree(self, role: Role, config: Any) -> None:
        """
        Compare the patches for a role here with those that the main process selected.

        Raises:
            AgreementError: they differ.

        """
        patch_set.agree(role, config, self._states, self._relevance)

    # -- blocks ---------------------------------------------------------------------------------

    def hold(self, names: Collection[str]) -> tuple[str, ...]:
        """Apply patches for a block, all that are for here where none is named; see `Holds`."""
        held = self._holds.hold(names)
        self.lookout.note_applied()
        return held

    def let_go(self, names: Iterable[str]) -> None:
        """Take back what a block has held, unless it is there for others, too; see `Holds`."""
        self._holds.let_go(names)

    # -- fork -----------------------------------------------------------------------------------

    def after_fork(self) -> None:
        """Make the child's copy usable, and begin a journal of its own."""
        self._applier.after_fork()
        self._entering.clear()
        self.journal.after_fork()
        tell_inherited(self._states)
        self.lookout.tell_inherited()
        self._relevance.tell_again()
