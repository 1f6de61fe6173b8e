"""
The one mutable thing in a process: the roles that it has entered, and what its imports make due.

A patch applies when its target's module has been imported *and* the process has entered one of
its roles; whichever comes last makes it due.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import TYPE_CHECKING

from patchkit.changes.context import Context
from patchkit.changes.owners import locate
from patchkit.copies import modules_since, nowhere
from patchkit.errors import ApplyError, TargetError
from patchkit.imports.finder import Finder, home, others
from patchkit.imports.half_imported import let_pass
from patchkit.imports.provided_modules import is_served, loader_of, not_found, spec_provided
from patchkit.imports.run_as_main import run_beside_its_name
from patchkit.process import agreement, guests
from patchkit.process.applier import Applier
from patchkit.process.body import bound_in_parent
from patchkit.process.executions import Executions
from patchkit.process.held import Holds
from patchkit.process.journal import process_facts
from patchkit.process.lookout import Lookout
from patchkit.process.patch_state import APPLIED, ARMED, PatchStates
from patchkit.process.relevance import Relevance
from patchkit.process.remarks import told_of
from patchkit.process.schedule import Schedule
from patchkit.rows.declaration import Role
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from patchkit.copies import Where
    from patchkit.process.journal import Journal
    from patchkit.process.patch_state import GroupState, PatchState
    from patchkit.registry import Registry
    from patchkit.rows.row import Row
    from patchkit.rows.selection import Selection
    from patchkit.rows.target import Target

    Hook = Callable[[ModuleType], None]


class Session:
    """
    The patches of one process.

    Args:
        registry: the rows.
        selection: which of them are for here.
        journal: told of everything that happens.

    """

    def __init__(self, registry: Registry, selection: Selection, journal: Journal) -> None:
        self.journal = journal
        self._schedule = Schedule(registry)
        self._states = PatchStates(self._schedule.patches, selection.settings, journal)
        self._relevance = Relevance(self._states, selection)
        self._finder = Finder(self, self.provide, self._stir)
        self._executions = Executions(self._finder)
        self._applier = Applier(self._schedule, self._states, self._relevance, self._executions)
        self._holds = Holds(self._states, self._relevance, self._applier)
        self.lookout = Lookout(self._schedule, self._states, selection, self._applier)
        self._entering: set[tuple[Role, int]] = set()
        self._hooks: dict[str, list[Hook]] = {}
        self._why_beside = "it had begun to run before patchkit was there"

    @property
    def states(self) -> dict[str, PatchState]:
        """How it stands with each row, by name."""
        return self._states.patches

    @property
    def roles(self) -> set[Role]:
        """The roles that the process has entered."""
        return self._states.roles

    # -- arm ------------------------------------------------------------------------------------

    def arm(self, roles: Collection[Role], *, lent: bool = False) -> None:
        """
        Watch imports from now on, and enter the roles that the process has already.

        Args:
            roles: those; none where they will be known later.
            lent: never, as the process is not armed; patches are only held.

        """
        self._tell_armed()
        self._tell_others()
        self._relevance.awaits_role = not (roles or lent)
        if self._relevance.awaits_role:
            self._settle_serving(frozenset(Role))
        watched = self._schedule.modules | set(self._hooks)
        self._finder.watch(watched)
        self._finder.install()
        let_pass(watched)
        for name in list(self._hooks):
            if self._executions.is_whole(name):
                self._run_hooks(name, sys.modules[name])
        for role in sorted(roles):
            self.enter(role)

    def stand_down(self) -> None:
        """Watch imports no more; what is applied stays."""
        self._finder.uninstall()
        self.lookout.stand_down()

    def _tell_armed(self, **facts: Any) -> None:
        rows = {name: sorted(state.row.roles) for name, state in self.states.items()}
        self.journal.write("armed", patches=list(rows), roles=rows, **facts, **process_facts())

    def _tell_others(self) -> None:
        for other in others():
            self.journal.write("other-copy", copy=home(other))
            self._states.say(
                "warning",
                f"another copy of patchkit patches this process too: {home(other)}. Wraps of both "
                "act; a Replace of what the other one has changed is refused",
            )

    def patches_on(self, owner: object, name: Any) -> list[str]:
        """Name the patches that lie on an attribute or item; another copy of patchkit asks."""
        site = self._applier.sites.get(owner, name if isinstance(name, str) else Item(name.key))
        return site.patches if site is not None else []

    def when_imported(self, name: str, hook: Hook) -> None:
        """Call `hook(module)` after each execution of a module; say so before `arm`."""
        self._hooks.setdefault(name, []).append(hook)

    def hook_call(self, module: ModuleType, target: Target, by: Any) -> None:
        """Wrap an upstream function for patchkit itself; does nothing where it is not there."""
        from patchkit.changes.objects.wrap import wrapped_at  # noqa: PLC0415 - brings inspect

        try:
            location = locate(module, target.qualname)
            if getattr(location.owner, "__module__", target.module) != target.module:
                return  # only a name for another module's class
            context = Context(module, module, self._applier.sites, rank=(-1, 0))
            ready = wrapped_at([location], by, context, str(target))
        except TargetError:
            return
        ready.apply()

    def _run_hooks(self, name: str, module: ModuleType) -> None:
        for hook in self._hooks.get(name, ()):
            hook(module)

    # -- what the finder tells ------------------------------------------------------------------

    def importing(self, name: str) -> None:
        """A module is about to execute."""
        self._applier.note_execution(name)
        self._apply(self._schedule.before(name), {}, nowhere)

    def imported(self, name: str, module: ModuleType) -> None:
        """A module has executed."""
        with bound_in_parent(name, module):
            self._run_hooks(name, module)
            missed = [one for one in self._schedule.before(name) if one.applied_to is None]
            # Those that serve the module have done so now, or refuse one that upstream has.
            due = [*missed, *self._schedule.serving(name), *self._schedule.after(name)]
            self._apply(due, {name: module}, lambda: modules_since(name))
            if waiting := self._schedule.of_body(name):
                self._apply_late(waiting, from_body=True)
            self._apply_late(self._executions.postponed(name))
            _refuse_withdrawn(name, module)

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
                self._applier.refuse(group.patch, _unreachable(name, reason))

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

    def _stir(self) -> None:
        """Modules may come that nobody tells of."""
        self.lookout.begin()

    def _apply(
        self,
        groups: Iterable[GroupState],
        modules: dict[str, ModuleType],
        scope: Callable[[], Where],
    ) -> None:
        if self._applier.apply(groups, modules, scope):
            self.lookout.note_applied()

    def _apply_late(self, groups: Iterable[GroupState], *, from_body: bool = False) -> None:
        if self._applier.apply_late(groups, from_body=from_body):
            self.lookout.note_applied()

    # -- roles ----------------------------------------------------------------------------------

    def enter(self, role: Role) -> None:
        """
        Enter a role: apply what has waited for it.

        Raises:
            ApplyError: a required patch of the role fails now, or has failed before, or somebody
                has overwritten what one had changed.

        """
        self._stop_if_failed((role,))
        if role not in self.roles:
            self.roles.add(role)
            self.journal.write("role", role=str(role))
        if (name := run_beside_its_name()) is not None:
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
        self._apply_late(group for group in groups if role in group.patch.row.roles)
        self._states.stop_if_failed(list(self.states.values()), (role,))

    def _settle_serving(self, roles: Collection[Role]) -> None:
        """Ask early whether what serves modules in all these roles is for here."""
        for state in list(self.states.values()):
            serves = any(group.serves for group in state.groups)
            if serves and state.row.roles.issuperset(roles):
                self._relevance.settle(state)

    def stop_if_failed(self) -> None:
        """
        Stop where a required patch of this process has failed and somebody swallowed the error.

        Raises:
            ApplyError: one has, or somebody has overwritten what one had changed.

        """
        self._stop_if_failed(self.roles)

    def _stop_if_failed(self, roles: Collection[Role]) -> None:
        self._states.stop_if_failed(list(self.states.values()), roles)
        self._applier.inspect()

    def become(self, roles: Collection[Role]) -> None:
        """Take these roles in place of those inherited from the parent (after a fork)."""
        self.roles.clear()
        self.journal.write("become", roles=[str(role) for role in roles])
        others = [one for one in reversed(self.states.values()) if not one.is_for(roles)]
        applied = [state for state in others if state.status == APPLIED]
        self._applier.take_back(*applied)
        for state in applied:
            self._states.set(state, ARMED, "for another role")
        for role in sorted(roles):
            self.enter(role)

    def stamp(self, config: Any) -> None:
        """Write into an engine's configuration which patches are for each role."""
        self.lookout.tell_unmet()
        agreement.stamp(config, self._states, self._relevance)

    def agree(self, role: Role, config: Any) -> None:
        """
        Compare the patches for a role here with those that the main process selected.

        Raises:
            AgreementError: they differ.

        """
        agreement.agree(role, config, self._states, self._relevance)

    # -- blocks ---------------------------------------------------------------------------------

    def hold(self, names: Collection[str]) -> tuple[str, ...]:
        """Apply patches for a block, all that are for here where none is named; see `Holds`."""
        held = self._holds.hold(names)
        self.lookout.note_applied()
        return held

    def let_go(self, names: Iterable[str]) -> None:
        """Take back what a block has held, unless it is there for others, too; see `Holds`."""
        self._holds.let_go(names)

    def meet(self, rows: Iterable[Row]) -> None:
        """Know further rows, for no role, until they are forgotten; see `guests`."""
        guests.meet(rows, self._schedule, self._finder)

    def forget_guests(self, packs: Collection[str] | None = None) -> None:
        """Leave out such rows again, where nobody holds them; all, or those of these packs."""
        guests.forget(self._schedule, packs)

    # -- fork -----------------------------------------------------------------------------------

    def after_fork(self) -> None:
        """Make the child's copy usable, and begin a journal of its own."""
        self._applier.after_fork()
        self._entering.clear()
        self.journal.after_fork()
        self._tell_armed(forked=True)
        for role in sorted(self.roles):
            self.journal.write("role", role=str(role), inherited=True)
        for state in self.states.values():
            if state.status != ARMED or state.reason:
                for facts in told_of(state):
                    self._states.tell(state, inherited=True, **facts)
        self.lookout.tell_inherited()
        self._relevance.tell_again()


def _unreachable(name: str, reason: str) -> ApplyError:
    return ApplyError(
        f"{name} runs as __main__, where the patch does not reach it: {reason}. Expected it to be "
        f"imported under its own name: start it with `patchkit run -- python -m {name}`, by its "
        f"command (such as `vllm serve`), or with python -c 'import {name}; …'"
    )


def _refuse_withdrawn(name: str, module: ModuleType) -> None:
    """Fail the import of a module that was served by a patch whose other changes have failed."""
    if loader_of(module) is not None and not is_served(module):
        raise not_found(name)
