"""Holds the patches of a process, applies those that become due, and undoes them.

A patch applies when its target's module has been imported *and* the process has entered one of
its roles; whichever comes last makes it due.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from threading import get_ident
from types import ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.declaration import AFTER, BEFORE, SERVING, Role, Row
from patchkit.core.rows.selection import Selection
from patchkit.registry import Registry
from patchkit.runtime.imports.finder import Finder, let_pass
from patchkit.runtime.imports.half_imported import (
    bound_in_parent,
    forget_lost_imports,
    unfinished_own_code,
)
from patchkit.runtime.imports.supplied_modules import (
    is_served,
    refuse_withdrawn,
    unreachable,
)
from patchkit.runtime.process.eligibility import (
    NOT_YET,
    YES,
    EligibilityTable,
    eligibility,
)
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.lookout import Lookout
from patchkit.runtime.process.patch_state import APPLIED, ChangeGroup, PatchStates
from patchkit.runtime.process.provision import Provision
from patchkit.runtime.process.roles import module_run_as_main
from patchkit.runtime.process.schedule import Executions, Schedule, Turns

if TYPE_CHECKING:
    from patchkit.runtime.changes.sites import Sites
    from patchkit.runtime.process.applier import Applier
    from patchkit.runtime.process.held import Blocks

Groups = Sequence[ChangeGroup]
Modules = Mapping[str, ModuleType]


class Session:
    """The patches of one process; the finder calls it about imports, as its `Watcher`.

    Args:
        registry: The rows of the installed packs, and those by which processes are recognized.
        selection: Decides by environment and versions which rows apply.
        journal: Records what happens.
    """

    def __init__(
        self, registry: Registry, selection: Selection, journal: Journal
    ) -> None:
        self.journal = journal
        self.engines = registry.engines
        self.processes = registry.processes
        self.hooks: dict[str, list[Callable[[ModuleType, Sites], None]]] = {}
        """patchkit's own, by the module after whose import they run; none is added once armed."""
        self._turns = turns = Turns()
        self._schedule = schedule = Schedule(registry)
        self.settings = settings = selection.settings
        self._states = states = PatchStates(schedule.patches, settings, journal)
        self.states = states.patches
        self.roles = states.roles
        self._table = table = EligibilityTable(states, selection)
        self.lookout = Lookout(schedule, states, table, turns, self._look_at_patches)
        provision = Provision(schedule, states, table, self._serve)
        self._finder = Finder(self, provision.provide, self.lookout.begin)
        self._executions = Executions(self._finder)
        self._late: dict[str, Any] = {}
        """What is made when it is first needed, by name: `sites` and `applier`."""
        self._entering: set[tuple[Role, int]] = set()  # a role, and the thread's id
        self._why_unreachable = "it had begun to run before patchkit was there"

    # -- made when first needed ------------------------------------------------------------------

    # Half of patchkit serves only to apply patches. A process that applies none, such as one that
    # starts others, never imports that half. The first apply does, within somebody's import, so no
    # lock is held: two threads may each make an object, of which `setdefault` keeps the first.

    @property
    def sites(self) -> "Sites":
        """The changed attributes of this process."""
        if "sites" not in self._late:
            from patchkit.runtime.changes.sites import Sites  # noqa: PLC0415 - see above

            self._late.setdefault("sites", Sites())
        return self._late["sites"]  # type: ignore[no-any-return]

    @property
    def applier(self) -> "Applier":
        """Applies patches; its parts undo and inspect them."""
        if "applier" not in self._late:
            from patchkit.runtime.process.applier import wired  # noqa: PLC0415 - see above

            parts = (self._schedule, self._states, self._table, self._executions)
            applier = wired(self.sites, *parts, self._turns, self.lookout)
            self._late.setdefault("applier", applier)
        return self._late["applier"]  # type: ignore[no-any-return]

    @property
    def _has_patched(self) -> bool:
        """Whether a patch was ever due here; else there is nothing to undo or to inspect."""
        return "applier" in self._late

    @cached_property
    def blocks(self) -> "Blocks":
        """Applies patches for `with` blocks; made when first needed, as few processes have any."""
        from patchkit.runtime.process.held import Blocks  # noqa: PLC0415 - few need it

        applier = self.applier
        parts = (self._schedule, self._states, self._table)
        return Blocks(*parts, applier, applier.undoing, self._finder)

    # -- arm ------------------------------------------------------------------------------------

    def arm(self, roles: Collection[Role], *, lent: bool = False) -> None:
        """Watch imports, and enter the roles that the process has.

        Args:
            roles: The roles; empty if they are not known yet.
            lent: Whether the session serves `with` blocks only, and no role will come.

        Raises:
            ApplyError: A required patch for one of the roles has failed.
        """
        self.lookout.write_armed()
        self.lookout.report_other_copies()
        self._table.awaits_role = not (roles or lent)
        if self._table.awaits_role:
            self._table.decide_serving(frozenset(Role))  # an import cannot wait for it
        watched = self._schedule.modules | self.hooks.keys()
        self._finder.watch(watched)
        self._finder.install()
        let_pass(watched)  # another thread may have found one without this finder
        for name, hooks in self.hooks.items():
            if self._finder.is_whole(name):  # it was imported before
                for hook in hooks:
                    hook(sys.modules[name], self.sites)
        for role in sorted(roles):
            self.enter(role)

    def stand_down(self) -> None:
        """Stop watching imports; applied patches stay applied."""
        self._finder.uninstall()
        self.lookout.stand_down()

    def patches_on(self, owner: object, name: Any) -> list[str]:
        """Return the patches on an attribute or item; another copy of patchkit calls this.

        Args:
            owner: The object that has the attribute or item.
            name: The attribute's name; for an item, an `Item` of any copy of patchkit.

        Returns:
            The names, the innermost patch first.
        """
        return self.sites.patches_on(owner, name)

    def _look_at_patches(self) -> None:
        """Fail what is overwritten or does not work, and apply what was missed."""
        if self._has_patched:
            self.applier.inspection.inspect()
        awaits = self._executions.awaits
        groups = [group for group in self._schedule.groups() if not awaits(group)]
        self._apply_late(groups)
        if self._has_patched:
            self.applier.inspection.verify()

    def _apply(self, groups: Groups, modules: Modules, since: str = "") -> None:
        """Apply the groups that are due with an import, as `Applier.apply` does."""
        due = self._table.due(groups)
        if due and not self._wait_for_own_code(due):
            self.applier.apply(due, modules, since=since)

    def _apply_late(self, groups: Groups) -> None:
        """Apply the groups that are due, and whose modules were imported before."""
        present = [group for group in groups if group.module in sys.modules]
        if not present or not (self._has_patched or self._table.due(present)):
            return
        if not self._wait_for_own_code(present):
            self.applier.apply_late(present)

    def _wait_for_own_code(self, groups: Groups) -> bool:
        """Postpone groups if this thread is loading, further out, what applies patches."""
        # It runs a signal handler or a finalizer then, which would find half of a module.
        needed = unfinished_own_code()
        if needed is None:
            return False
        return all(self._executions.postpone(group, needed) for group in groups)

    # -- called by the finder --------------------------------------------------------------------

    def importing(self, name: str) -> None:
        """Undo what belongs to a module's last execution; apply what is due before the next one.

        Args:
            name: The dotted name of the module.
        """
        self._executions.note(name)
        due = self._schedule.due(name, BEFORE)
        for group in (*self._schedule.due(name, AFTER), *self._schedule.needing(name)):
            if group.made.undos:  # it has executed before
                self.applier.undoing.prepare_execution(name)
                break
        if due:
            self._apply(due, {})

    def imported(self, name: str, module: ModuleType) -> None:
        """Apply what is due now that a module has executed, and call patchkit's own hooks for it.

        Args:
            name: The dotted name of the module.
            module: The module in `sys.modules`, as it may have replaced itself there.
        """
        due = self._schedule.due_at_end(name)
        of_body = self._schedule.due_of_body(name)
        hooks = self.hooks.get(name, ())
        if not (due or of_body or hooks or self._executions.is_awaited(name)):
            return
        if due:
            self.lookout.note_import(name)
        with bound_in_parent(name, module):
            for hook in hooks:
                hook(module, self.sites)
            if due:
                self._apply(due, {name: module}, since=name)
            if of_body and not self._wait_for_own_code(of_body):
                self.applier.apply_of_body(name)
            postponed = self._executions.postponed(name)
            if postponed:
                self._apply_late(postponed)
            if self._schedule.due(name, SERVING):
                refuse_withdrawn(name, module)  # its patch may have been undone by now

    def import_ended(self, name: str) -> None:
        """Apply what other threads made due while `imported` ran for a module.

        Args:
            name: The dotted name of the module.
        """
        self._apply_late(self._schedule.due(name, AFTER))

    def main_unreachable(self, name: str, reason: str) -> None:
        """Fail the patches of a module that runs as `__main__` instead of under its own name.

        Args:
            name: The module's own name.
            reason: Why patches do not reach it, for the message.
        """
        self._why_unreachable = reason
        missed = [*self._schedule.due(name, BEFORE), *self._schedule.due(name, AFTER)]
        for group in missed:
            is_due = self._table.of_group(group).answer != NOT_YET
            if is_due and self._table.changes_here(group):
                self.applier.inspection.refuse(group.patch, unreachable(name, reason))

    def _serve(self, name: str, module: ModuleType) -> bool:
        """Fill a provided module by its patch; False if the patch does not apply after all."""
        self._apply(self._schedule.due(name, SERVING), {name: module})
        return is_served(module)

    # -- roles ----------------------------------------------------------------------------------

    def enter(self, role: Role) -> None:
        """Enter a role, and apply the patches that have waited for it.

        Args:
            role: The role; entering it again applies what was missed since.

        Raises:
            ApplyError: A required patch for the role fails, or has failed before.
        """
        self.stop_if_failed({role})
        if role not in self.roles:
            self.roles.add(role)
            self.journal.write("role", role=str(role))
        helpers = [engine.helper_module for engine in self.engines]
        main = module_run_as_main(
            self._schedule.targets, helpers, self._why_unreachable
        )
        if main is not None:
            self.main_unreachable(*main)
        visit = (role, get_ident())
        if visit in self._entering:  # a body that is being loaded below asks again
            return
        self._entering.add(visit)
        try:
            self._table.decide_serving({role})
            # If another thread is applying these groups, `apply_late` waits for it. Those of a role
            # that was entered before are applied, too: an import may have been missed.
            groups = self._schedule.groups()
            of_role = [group for group in groups if role in group.patch.row.roles]
            self._apply_late(of_role)
            self._states.stop_if_failed(list(self.states.values()), (role,))
            if self._has_patched:
                self.applier.inspection.verify()
        finally:
            self._entering.discard(visit)
        self.lookout.note_role()

    def stop_if_failed(self, roles: Collection[Role] | None = None) -> None:
        """Raise if a required patch has failed, or is overwritten by now.

        Args:
            roles: Only patches of these roles count; None for the roles of the process.

        Raises:
            ApplyError: A required patch for one of them has failed, or one that is applied is
                overwritten.
        """
        if roles is None:
            roles = self.roles
        self._states.stop_if_failed(list(self.states.values()), roles)
        if self._has_patched:
            self.applier.inspection.inspect()

    def become(self, roles: Collection[Role]) -> None:
        """Replace the roles that were inherited from the parent, or assumed at the start.

        Args:
            roles: The new roles; patches for none of them are undone.

        Raises:
            ApplyError: A required patch for one of the roles fails, or has failed before.
        """
        self.roles.clear()
        self.journal.write("become", roles=[str(role) for role in roles])
        unneeded = [
            state
            for state in reversed(self.states.values())
            if state.status == APPLIED and eligibility(state, roles).answer == NOT_YET
        ]
        if unneeded:
            self.applier.undoing.leave_to_others(unneeded)
        self._states.reopen_skipped()  # the child may have another environment
        for role in sorted(roles):
            self.enter(role)

    def exchange_digests(self, roles: Collection[Role], values: Iterable[Any]) -> None:
        """Compare patches with those that an engine's configuration carries, or put them in.

        Args:
            roles: The roles that this process enters.
            values: Arguments or the result of a function, among them perhaps the configuration.

        Raises:
            AgreementError: The patches differ; with `PATCHKIT_ON_FAILURE=warn` that is a warning.
        """
        from patchkit.runtime.process.configuration import exchange  # noqa: PLC0415 - only an engine does

        known = (self.engines, self.processes)
        if exchange(roles, values, *known, self._states, self._table):
            self.lookout.write_unmet()

    def selected(self) -> list[Row]:
        """List the rows that apply here, whatever their roles.

        Returns:
            The rows in the order in which they apply; upstream's sources are not compared.
        """
        unmet_here = self._table.selection.unmet_here
        states = self.states.values()
        eligible = [state for state in states if eligibility(state).answer == YES]
        return [state.row for state in eligible if not unmet_here(state.row)]

    def digest(self, role: Role) -> str:
        """Hash the patches for a role here, for the key of a cache; patchkit's own are left out.

        Args:
            role: The role.

        Returns:
            The hash; '' if there is no such patch.
        """
        from patchkit.runtime.process.patch_set import digest_for_caches  # noqa: PLC0415 - for a cache

        return digest_for_caches(self.states.values(), self._table, role)

    # -- forks -----------------------------------------------------------------------------------

    def after_fork(self) -> None:
        """Make the session usable in a forked child, which begins its own journal."""
        self._turns.after_fork()
        if "sites" in self._late:
            self.sites.after_fork()
        forget_lost_imports(self._schedule.by_body, self._states.after_fork())
        self._entering.clear()
        self.journal.after_fork()
        self.lookout.write_inherited()
        self.lookout.after_fork()
        self._table.write_inherited_reports()
