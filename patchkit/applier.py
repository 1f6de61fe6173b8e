"""
Applies groups of changes and takes them back, from any thread.

The lock guards the bookkeeping only. It is never held while a body or upstream code runs.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from patchkit import rebind
from patchkit.apply import apply_group, load_body, reason_to_skip, unwind
from patchkit.changes.sites import Sites
from patchkit.errors import ApplyError
from patchkit.plan import APPLIED, FAILED, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from patchkit.ledger import Ledger
    from patchkit.plan import Group, Plan, State
    from patchkit.selection import Selection

    Scope = Callable[[], list[str]]

_PATIENCE = 60.0
"""Seconds to wait for a patch that another thread is applying, before that is called an error."""


class Applier:
    """
    What is due, made.

    Args:
        plan: the rows by module.
        selection: which rows are for here.
        ledger: told of the outcome.
        is_whole: whether a module has been imported; otherwise its end will be told.

    """

    def __init__(
        self, plan: Plan, selection: Selection, ledger: Ledger, is_whole: Callable[[str], bool]
    ) -> None:
        self.sites = Sites()
        self._plan = plan
        self._selection = selection
        self._ledger = ledger
        self._is_whole = is_whole
        self._held = rebind.Held(plan.keepers, self.sites.holds)
        self._executions: dict[str, int] = {}
        self._free = threading.Condition(threading.Lock())

    def note_execution(self, module: str) -> None:
        """A module is about to execute once more, and to overwrite what was applied to it."""
        with self._free:
            self._executions[module] = self._executions.get(module, 0) + 1

    def apply(
        self, groups: Iterable[Group], modules: Mapping[str, ModuleType], scope: Scope
    ) -> None:
        """
        Apply the groups that are not applied yet, then repoint copies in one pass.

        Args:
            groups: in the order in which they apply.
            modules: the groups' modules by name.
            scope: names the modules that may hold copies of the originals.

        Raises:
            ApplyError: a required patch failed; the groups before it are applied.

        """
        made: list[Group] = []
        try:
            for group in groups:
                if self._claim(group, modules.get(group.module)):
                    self._apply_one(group, modules.get(group.module), made)
        finally:
            self._finish(made, scope)

    def take_back(self, state: State) -> list[Exception]:
        """Undo all changes of a row; return what went wrong on the way."""
        errors: list[Exception] = []
        for group in reversed(state.groups):
            errors += unwind(group.undos)
            group.sites.clear()
            group.done = None
        rebind.restore(self.sites.rebound(), list(sys.modules), self._held)
        self._ledger.say_undo_errors(errors)
        return errors

    def after_fork(self) -> None:
        """Forget other threads, which are gone, and what they had half done."""
        self._free = threading.Condition(threading.Lock())
        me = threading.get_ident()
        for group in self._plan.groups():
            if group.thread not in {None, me}:
                unwind(group.undos)
                group.thread = group.done = None

    # -- one group ------------------------------------------------------------------------------

    def _claim(self, group: Group, module: ModuleType | None) -> bool:
        """Decide whether this thread applies the group now; waits for one that is at it."""
        if self._plan.states[group.row.name].status in {SKIPPED, FAILED}:
            return False
        me = threading.get_ident()
        with self._free:
            if group.thread == me:
                return False
            if not self._free.wait_for(lambda: group.thread is None, _PATIENCE):
                raise ApplyError(_stuck(group))
            if group.done == self._execution(group, module):
                return False
            group.thread = me
        return True

    def _execution(self, group: Group, module: ModuleType | None) -> tuple[int, int]:
        return self._executions.get(group.module, 0), 0 if group.before else id(module)

    def _apply_one(self, group: Group, module: ModuleType | None, made: list[Group]) -> None:
        state = self._plan.states[group.row.name]
        try:
            if self._is_for_here(state) and self._make(state, group, module):
                made.append(group)
        except Exception as error:  # noqa: BLE001 - whatever a body raises is the patch's failure
            self.take_back(state)
            self._ledger.fail(state, error, module=group.module)
        finally:
            with self._free:
                group.thread = None
                self._free.notify_all()

    def _make(self, state: State, group: Group, module: ModuleType | None) -> bool:
        changes = [one for one in group.changes if self._selection.applies(one[1])]
        if not changes or (group.row.body in sys.modules and not self._is_whole(group.row.body)):
            return False  # where somebody else imports the body, its end makes the group due again
        if group.before and module is not None:
            raise ApplyError(f"{group.module} was imported before patchkit could run before it")
        body = load_body(group.row, afresh=group.done is not None)
        if (reason := reason_to_skip(group.row, body)) is not None:
            self._ledger.set(state, SKIPPED, reason)
            return False
        unwind(group.undos)  # what the module's last execution left of them
        group.sites.clear()
        apply_group(group, changes, module, body, self.sites)
        group.done = self._execution(group, module)
        return True

    def _is_for_here(self, state: State) -> bool:
        if not state.settled:
            reason = self._selection.reason_to_skip(state.row)
            if reason is not None:
                self._ledger.set(state, SKIPPED, reason)
            else:
                self._refuse_conflict(state)
            state.settled = True  # last, as another thread may be asking
        return state.status not in {SKIPPED, FAILED}

    def _refuse_conflict(self, state: State) -> None:
        for other in self._plan.states.values():
            named = other.row.name in state.row.patch.conflicts
            named = named or state.row.name in other.row.patch.conflicts
            if named and self._selection.reason_to_skip(other.row) is None:
                raise ApplyError(
                    f"it conflicts with {other.row.name}, which is selected too; leave one out "
                    "with PATCHKIT_DISABLE"
                )

    # -- copies ---------------------------------------------------------------------------------

    def _finish(self, made: list[Group], scope: Scope) -> None:
        groups = [group for group in made if self._still_wanted(group)]
        sites = [site for group in groups for site in group.sites]
        copies = rebind.repoint(sites, scope(), self._held) if sites else []
        for group in groups:
            state = self._plan.states[group.row.name]
            self._ledger.set(state, APPLIED, **_report(group, copies))

    def _still_wanted(self, group: Group) -> bool:
        """Another group of the same row may have failed meanwhile, in another thread."""
        state = self._plan.states[group.row.name]
        if state.status == FAILED:
            self.take_back(state)
        return state.status != FAILED


def _stuck(group: Group) -> str:
    return (
        f"patch {group.row.name}: another thread has been applying it for {_PATIENCE:.0f} s, "
        f"expected it to end; look at what body {group.row.body} waits for, or leave the patch "
        f"out with PATCHKIT_DISABLE={group.row.name}"
    )


def _report(group: Group, copies: list[rebind.Copy]) -> dict[str, Any]:
    rebound = [str(copy) for copy in copies if copy.site in group.sites]
    left = [
        name for site in group.sites for name in rebind.subclasses_left(site.original, site.current)
    ]
    return {"module": group.module, "rebound": rebound, "out_of_reach": left}
