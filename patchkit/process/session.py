"""
The one mutable thing in a process: patches armed, applied and undone, and the roles entered.

A patch applies when its target's module has been imported *and* the process has entered one of
its roles; whichever comes last makes it due.
"""

from __future__ import annotations

import atexit
import sys
from contextlib import suppress
from importlib import _bootstrap
from importlib.machinery import PathFinder
from threading import get_ident
from typing import TYPE_CHECKING

from patchkit.changes.context import Context
from patchkit.changes.owners import locate
from patchkit.copies import everywhere, modules_since, nowhere
from patchkit.errors import (
    AgreementError,
    ApplyError,
    PatchkitError,
    TargetError,
    UndoError,
    UnknownPatchError,
)
from patchkit.imports.finder import Finder, home, is_half_imported, others
from patchkit.imports.provided_modules import is_served, loader_of, not_found, spec_provided
from patchkit.imports.run_as_main import run_beside_its_name
from patchkit.process import patch_set
from patchkit.process.applier import Applier
from patchkit.process.held import Holds
from patchkit.process.journal import process_facts
from patchkit.process.ledger import Ledger
from patchkit.process.plan import APPLIED, ARMED, Plan
from patchkit.process.remarks import told_of
from patchkit.process.transaction import bound_in_parent
from patchkit.process.verifier import Verifier
from patchkit.registry import duplicate
from patchkit.rows.declaration import Role
from patchkit.rows.row import Row
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from patchkit.copies import Where
    from patchkit.process.journal import Journal
    from patchkit.process.plan import Group, State
    from patchkit.registry import Registry
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
        self.registry = registry
        self.settings = selection.settings
        self._selection = selection
        self.journal = journal
        self.roles: set[Role] = set()
        self._entering: set[tuple[Role, int]] = set()
        self._plan = Plan(registry)
        self._ledger = Ledger(self._plan.states, selection.settings, journal, self.roles)
        self._applier = Applier(
            self._plan, selection, self._ledger, self._is_whole, self._is_wanted
        )
        self._finder = Finder(self, self.provide, self._begin_to_look)
        self._why_beside = "it had begun to run before patchkit was there"
        self._hooks: dict[str, list[Hook]] = {}
        self._awaits_role = False
        self.verifier = Verifier(self._look, 0, self._applier.turns.is_waiting)
        self._unmet: dict[str, str] | None = None
        self._holds = Holds(
            selection, self._applier, self._ledger, self.roles, apply_late=self._apply_late
        )

    @property
    def states(self) -> dict[str, State]:
        """How it stands with each row, by name."""
        return self._plan.states

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
        self._awaits_role = not (roles or lent)
        if self._awaits_role:
            self._settle_provided(one for one in self.states.values() if one.is_for_every_role)
        watched = self._plan.modules | set(self._hooks)
        self._finder.watch(watched)
        self._finder.install()
        _let_pass(watched)
        for name in list(self._hooks):
            if self._is_whole(name):
                self._run_hooks(name, sys.modules[name])
        for role in sorted(roles):
            self.enter(role)

    def _tell_armed(self, **facts: Any) -> None:
        rows = {name: sorted(state.row.roles) for name, state in self.states.items()}
        self.journal.write("armed", patches=list(rows), roles=rows, **facts, **process_facts())

    def _tell_others(self) -> None:
        for other in others():
            self.journal.write("other-copy", copy=home(other))
            self._ledger.say(
                "warning",
                f"another copy of patchkit patches this process too: {home(other)}. Wraps of both "
                "act; a Replace of what the other one has changed is refused",
            )

    def stand_down(self) -> None:
        """Watch imports no more; what is applied stays."""
        self._finder.uninstall()
        self._ledger.ending.is_ours = False
        atexit.unregister(self._tell_at_end)
        self.verifier.stop()

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

    # -- what the finder tells ------------------------------------------------------------------

    def importing(self, name: str) -> None:
        """A module is about to execute."""
        self._applier.note_execution(name)
        self._apply(self._plan.due(name, before=True), {}, nowhere)

    def imported(self, name: str, module: ModuleType) -> None:
        """A module has executed."""
        with bound_in_parent(name, module):
            self._run_hooks(name, module)
            missed = [group for group in self._plan.due(name, before=True) if group.done is None]
            # Those that serve the module have done so now, or refuse one that upstream has.
            due = [*missed, *self._plan.providing(name), *self._plan.due(name, before=False)]
            self._apply(due, {name: module}, lambda: modules_since(name))
            if waiting := self._plan.of_body(name):
                self._apply_late(waiting, from_body=True)
            self._apply_late(self._plan.postponed(name))
            _refuse_withdrawn(name, module)

    def import_ended(self, name: str) -> None:
        """Apply what another thread asked for while the end of a module's execution was told."""
        self._apply_late(self._plan.due(name, before=False))

    def main_unreachable(self, name: str, reason: str) -> None:
        """
        Fail the patches of a module that runs as `__main__` instead of under its own name.

        Raises:
            ApplyError: one is required.

        """
        self._why_beside = reason
        groups = [*self._plan.due(name, before=True), *self._plan.due(name, before=False)]
        for group in groups:
            if self._is_wanted(group) and self._applier.changes_here(group):
                self._applier.refuse(self.states[group.row.name], _unreachable(name, reason))

    def provide(self, name: str) -> ModuleSpec | None:
        """
        Make the spec of a module that nobody finds, if a patch of this process serves it.

        Raises:
            ApplyError: the patch is required, and failed.

        """
        # importlib holds its lock meanwhile, so that nothing may be imported: no body, to ask it.
        for group in self._plan.providing(name):
            state = self.states[group.row.name]
            if self._is_wanted(group):
                self._ledger.stop_if_failed([state])
                offers = state.settled and state.status in {ARMED, APPLIED}
                if offers and self._applier.changes_here(group):
                    package = self._plan.provides_beneath(name)
                    return spec_provided(name, self._serve, package=package)
        return None

    def _settle_provided(self, states: Iterable[State]) -> None:
        for state in list(states):
            if any(group.provides for group in state.groups):
                self._applier.settle(state)

    def _serve(self, name: str, module: ModuleType) -> bool:
        self._apply(self._plan.providing(name), {name: module}, nowhere)
        return is_served(module)

    # -- roles ----------------------------------------------------------------------------------

    def enter(self, role: Role) -> None:
        """
        Enter a role: apply what has waited for it.

        Raises:
            ApplyError: a required patch of the role fails now, or has failed before, or somebody
                has overwritten what one had changed.

        """
        self._ledger.stop_if_failed(self.states.values(), (role,))
        self._applier.inspect()
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
            self._settle_provided(one for one in self.states.values() if role in one.row.roles)
            # Where another thread is at it, this waits until everything is applied. A role that was
            # entered before may have missed a module, whose import nobody told of.
            self._apply_late(group for group in self._plan.groups() if role in group.row.roles)
            self._ledger.stop_if_failed(self.states.values(), (role,))
        finally:
            self._entering.discard(visit)
        if any(name.partition(".")[0] in sys.modules for name in self._plan.targets):
            self._begin_to_look()
        if self._unmet is not None:
            self._tell_unmet()

    def stop_if_failed(self) -> None:
        """
        Stop where a required patch of this process has failed and somebody swallowed the error.

        Raises:
            ApplyError: one has, or somebody has overwritten what one had changed.

        """
        self._ledger.stop_if_failed(self.states.values(), self.roles)
        self._applier.inspect()

    def look_again(self) -> None:
        """
        Look whether what is applied here is intact, and apply what no import has told of.

        Raises:
            ApplyError: a required patch fails, or somebody has overwritten what one had changed.

        """
        self._applier.inspect()
        self._apply_late(group for group in self._plan.groups() if not self._waits(group))
        self._tell_unmet()

    def _waits(self, group: Group) -> bool:
        """Whether a group is applied at the end of an import, by the thread that imports."""
        needed = sys.modules.get(self._plan.awaited(group))
        return needed is not None and is_half_imported(needed)

    def take_charge(self) -> None:
        """See to the process: look again at what is applied, and to the exit code."""
        self._ledger.ending.is_ours = True
        turns = self._applier.turns
        self.verifier = Verifier(self._look, self.settings.verify, turns.is_waiting)
        atexit.register(self._tell_at_end)

    def exit_code(self, code: Any) -> Any:
        """Tell how a child ends, and return the exit code of one that would end with this one."""
        self._tell_at_end()
        return self._ledger.ending.code(code)

    def end_as_told(self) -> None:
        """Leave the exit code as it is: whoever ends the process has said why."""
        self._ledger.ending.is_ours = False

    def _begin_to_look(self) -> None:
        here = [state for state in list(self.states.values()) if state.is_for(self.roles)]
        if any(state.status in {ARMED, APPLIED} for state in here):
            self.verifier.start()

    def _look(self) -> None:
        """Look again; what is found is told, and stops whoever enters a role next."""
        try:
            self.look_again()
        except PatchkitError:
            pass  # the ledger has told
        except Exception as error:  # noqa: BLE001 - an attribute of upstream's, read by nobody else
            self._ledger.say("warning", f"cannot look at what is applied: {error!r}")
        self.journal.verified()

    def become(self, roles: Collection[Role]) -> None:
        """Take these roles in place of those inherited from the parent (after a fork)."""
        self.roles.clear()
        self.journal.write("become", roles=[str(role) for role in roles])
        others = [one for one in reversed(self.states.values()) if not one.is_for(roles)]
        applied = [state for state in others if state.status == APPLIED]
        self._applier.take_back(*applied)
        for state in applied:
            self._ledger.set(state, ARMED, "for another role")
        for role in sorted(roles):
            self.enter(role)

    def _tell_unmet(self) -> None:
        """Write which rows that wait are not for here, as it is now: the environment may change."""
        mine = (one for one in self.states.values() if one.is_for(self.roles))
        waiting = [state.row for state in mine if state.status == ARMED]
        asked = {row.name: self._selection.unmet_here(row) for row in waiting}
        unmet = {name: reason for name, reason in asked.items() if reason}
        if unmet != (self._unmet or {}):
            self.journal.write("unmet", reasons=unmet)
        self._unmet = unmet

    def _tell_at_end(self) -> None:
        """Write which rows were never for here: arming has not asked, as that costs a start."""
        if self.journal.directory is not None:
            with suppress(Exception):  # the process ends as it would without
                if self._is_worth_asking():
                    self._tell_unmet()

    def _is_worth_asking(self) -> bool:
        """Whether versions cost nothing more, or what a row would change is not installed."""
        if {"importlib.metadata", "packaging.requirements"} <= sys.modules.keys():
            return True
        tops = {name.partition(".")[0] for name in self._plan.targets}
        return any(PathFinder.find_spec(top) is None for top in tops)

    # -- agree ----------------------------------------------------------------------------------

    def stamp(self, config: Any) -> None:
        """Write into an engine's configuration which patches are for each role."""
        self._tell_unmet()
        sets = {role: self._patch_set(role) for role in Role}
        if patch_set.stamp(config, sets):
            self._tell_digest(Role.MAIN, sets[Role.MAIN])
        else:
            self._ledger.say("warning", "the engine's additional_config is no dict: not stamped")

    def agree(self, role: Role, config: Any) -> None:
        """
        Compare the patches for a role here with those that the main process selected.

        Raises:
            AgreementError: they differ.

        """
        ours = self._patch_set(role)
        self._tell_digest(role, ours)
        try:
            patch_set.refuse_difference(patch_set.stamped(config, role), ours, role)
        except AgreementError as error:
            self.journal.write("disagreement", role=str(role), reason=str(error))
            if self.settings.on_failure == "stop":
                raise
            self._ledger.say("warning", str(error))

    def _patch_set(self, role: Role) -> patch_set.PatchSet:
        return patch_set.patch_set(self.states.values(), self._selection, role)

    def _tell_digest(self, role: Role, patches: patch_set.PatchSet) -> None:
        self.journal.write("digest", role=str(role), digest=patch_set.digest(patches))

    # -- hold -----------------------------------------------------------------------------------

    def hold(self, names: Collection[str]) -> tuple[str, ...]:
        """
        Apply patches whatever the roles of this process, and import what they change.

        Args:
            names: of the patches; none means all that are for here.

        Returns:
            The names, to be let go later, once for each time that they are held.

        Raises:
            UnknownPatchError: a name that no row has.
            ApplyError: a patch is not for here, or fails; all are as they were.

        """
        if names:
            chosen = set(self._row_names(names))
            states = [state for name, state in list(self.states.items()) if name in chosen]
        else:
            states = [
                one for one in list(self.states.values()) if not self._holds.reason_to_skip(one)
            ]
        self._holds.hold(states)
        return tuple(state.row.name for state in states)

    def let_go(self, names: Iterable[str]) -> None:
        """
        Take back what was held, unless others hold it, or a role of this process has it anyway.

        Raises:
            UndoError: something could not be taken back; the rest was.

        """
        errors = self._holds.let_go(self._named(names))
        if errors:
            raise UndoError("; ".join(str(error) for error in errors))

    def meet(self, rows: Iterable[Row]) -> None:
        """
        Know further rows until they are forgotten; they are for no role.

        Raises:
            DeclarationError: a row has the name of another one that is known.

        """
        new = [row for row in rows if not self._knows(row)]
        for row in new:
            self._plan.add(Row(row.pack, row.patch, frozenset()))
        self._finder.watch(self._plan.modules)
        _let_pass(self._plan.modules)

    def _knows(self, row: Row) -> bool:
        if (state := self.states.get(row.name)) is None:
            return False
        if (state.row.pack, state.row.patch) != (row.pack, row.patch):
            raise duplicate(row, state.row)
        return True

    def forget_guests(self, packs: Collection[str] | None = None) -> None:
        """Leave out the rows, of these packs, that are for no role and that nobody holds."""
        for name, state in list(self.states.items()):
            is_guest = not (state.row.roles or state.forced)
            if is_guest and (packs is None or state.row.pack in packs):
                self._plan.remove(name)

    def _row_names(self, names: Iterable[str]) -> list[str]:
        return [state.row.name for state in self._named(names)]

    def _named(self, names: Iterable[str]) -> list[State]:
        names = list(names)
        for name in names:
            if name not in self.states:
                known = ", ".join(self.states) or "none"
                raise UnknownPatchError(f"found {name!r}, expected a patch's name: {known}")
        return [self.states[name] for name in names]

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
                    self._ledger.tell(state, inherited=True, **facts)
        if self._unmet:
            self.journal.write("unmet", reasons=self._unmet)
        self._applier.tell_again()

    # -- what is due ----------------------------------------------------------------------------

    def _apply(
        self,
        groups: Iterable[Group],
        modules: dict[str, ModuleType],
        scope: Callable[[], Where],
        *,
        from_body: bool = False,
    ) -> None:
        due = [group for group in groups if self._is_wanted(group)]
        if due:
            self._ledger.stop_if_failed(self.states[group.row.name] for group in due)
            self._applier.apply(due, modules, scope, from_body=from_body)
            self._begin_to_look()
            if self._unmet is None:
                self._tell_unmet()  # the versions are known now

    def _is_wanted(self, group: Group) -> bool:
        """
        Whether a role of this process, or somebody who holds it, has the group's patch.

        A module for every role is there before the role is known: a Ray worker process learns that
        from its actor's class, and what defines the class may import the module.
        """
        state = self.states[group.row.name]
        any_role = group.provides and self._awaits_role and not self.roles
        return state.is_for(self.roles) or (any_role and state.is_for_every_role)

    def _apply_late(self, groups: Iterable[Group], *, from_body: bool = False) -> None:
        """Apply to modules that were imported before; one pass repoints all copies."""
        missed = [group for group in groups if group.done is None or not group.before]
        names = dict.fromkeys(group.module for group in missed)
        whole = {name: sys.modules[name] for name in names if self._is_whole(name)}
        due = [group for group in missed if group.module in whole]
        self._apply(due, whole, everywhere, from_body=from_body)

    def _is_whole(self, name: str) -> bool:
        """Whether a module has been imported; if it is being imported, `imported` will come."""
        module = sys.modules.get(name)
        if module is None:
            return False
        return not (is_half_imported(module) and self._finder.await_import(name, module))

    def _run_hooks(self, name: str, module: ModuleType) -> None:
        for hook in self._hooks.get(name, ()):
            hook(module)


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


def _let_pass(names: Iterable[str]) -> None:
    """Wait for what other threads have found before the finder was there, and not yet loaded."""
    bootstrap: Any = _bootstrap
    for name in names:
        if name in bootstrap._module_locks and name not in sys.modules:  # noqa: SLF001
            bootstrap._lock_unlock_module(name)  # noqa: SLF001 - sees a deadlock, and passes
