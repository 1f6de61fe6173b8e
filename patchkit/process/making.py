"""One group of changes made: its body loaded, asked what it wants, and applied."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from patchkit.errors import ApplyError, TargetError
from patchkit.imports.half_imported import culprit
from patchkit.process.patch_state import ARMED
from patchkit.process.plan import AFTER, BEFORE
from patchkit.process.transaction import Transaction

if TYPE_CHECKING:
    from types import ModuleType

    from patchkit.changes.sites import Sites
    from patchkit.process.executions import Executions
    from patchkit.process.patch_state import GroupState, PatchState, PatchStates
    from patchkit.process.relevance import Relevance
    from patchkit.process.turns import Turns
    from patchkit.rows.declaration import Change, Patch, Row


class NotWanted(Exception):  # noqa: N818 - an answer, not an error
    """The body says that its patch is not for here, and why."""


class Maker:
    """Makes groups, one at a time in each thread."""

    def __init__(
        self,
        sites: Sites,
        states: PatchStates,
        relevance: Relevance,
        executions: Executions,
        turns: Turns,
    ) -> None:
        self._sites = sites
        self._states = states
        self._relevance = relevance
        self._executions = executions
        self._turns = turns

    def make(self, group: GroupState, module: ModuleType | None) -> bool:
        """
        Make what is for here of a group; whether that is anything.

        Args:
            group: it is this thread's turn at it.
            module: the group's module; None before it executes.

        Raises:
            NotWanted: the whole patch is not for here.

        """
        changes = self._relevance.changes_here(group)
        if not changes or not (group.serves or self._has_no_half_body(group)):
            return False  # where somebody else imports the body, its end makes the group due again
        if group.plan.moment == BEFORE and module is not None:
            name = group.plan.module
            raise ApplyError(f"{name} was imported before patchkit could run before it")
        group.made.take_back()  # what the module's last execution left of it
        body = self._load(group)
        if body is None or not (self._has_no_half_body(group) and self._relevance.is_open(group)):
            return False  # the body itself asks for the module that it provides
        if (reason := reason_to_skip(group.patch.row.patch, body)) is not None:
            raise NotWanted(reason)
        return self._make_wanted(group, changes, module, body)

    def _make_wanted(
        self,
        group: GroupState,
        changes: list[tuple[int, Change]],
        module: ModuleType | None,
        body: ModuleType,
    ) -> bool:
        reasons = [reason_to_skip(change, body) for _, change in changes]
        asked = list(zip(changes, reasons, strict=True))
        wanted = [placed for placed, reason in asked if reason is None]
        group.made = Transaction(group.patch.name, group.plan.rank)
        group.made.apply(wanted, module, body, self._sites)
        group.applied_to = self._executions.now(group, module)
        for (_, change), reason in asked:
            if reason is not None:
                self._tell_left_out(group.patch.name, change, reason)
        if not wanted and not self._is_left(group.patch):
            raise NotWanted(f"no change applies here: {reasons[0]}")
        return bool(wanted)

    def _is_left(self, state: PatchState) -> bool:
        """Whether anything of a patch was made or may yet be."""
        left = [group for group in state.groups if group.applied_to is None]
        is_waiting = any(self._relevance.changes_here(group) for group in left)
        return is_waiting or any(group.made.undos for group in state.groups)

    def _tell_left_out(self, name: str, change: Change, reason: str) -> None:
        target = str(change.place)
        self._states.journal.write("left-out", name=name, target=target, reason=reason)
        self._states.say("info", f"{name}: {change.kind} of {target} left out: {reason}")

    def _load(self, group: GroupState) -> ModuleType | None:
        """Load the body; None where it needs a module that is being imported, and waits for it."""
        group.loads = True
        self._turns.tell()
        try:
            return load_body(group.patch.row, afresh=group.applied_to is not None)
        except (ImportError, AttributeError) as error:
            needed = culprit(error) if group.plan.moment == AFTER else None
            if needed is None or not self._executions.postpone(group, needed):
                raise
            self._tell_postponed(group.patch, needed)
            return None
        finally:
            group.loads = False

    def _tell_postponed(self, state: PatchState, needed: str) -> None:
        if state.status == ARMED:
            text = f"waits for the end of the import of {needed}, which its body needs"
            self._states.set(state, ARMED, text)

    def _has_no_half_body(self, group: GroupState) -> bool:
        body = group.patch.body
        return body not in sys.modules or self._executions.is_whole(body)


def load_body(row: Row, *, afresh: bool = False) -> ModuleType:
    """
    Import a row's body.

    Args:
        row: the row.
        afresh: execute it again, because the module that it builds on was executed again.

    """
    loaded = sys.modules.get(row.body)
    if afresh and loaded is not None and row.patch.body is not None:
        return importlib.reload(loaded)
    return importlib.import_module(row.body)


def reason_to_skip(asked: Patch | Change, body: ModuleType) -> str | None:
    """
    Ask the `when` of a patch or a change.

    Raises:
        TargetError: `when` is not there, or its answer is neither True nor a reason.

    """
    if asked.when is None:
        return None
    ask = getattr(body, asked.when, None)
    if not callable(ask):
        raise TargetError(f"when: body {body.__name__} has no function {asked.when!r}")
    answer = ask()
    if answer is True:
        return None
    if isinstance(answer, str) and answer:
        return answer
    raise TargetError(
        f"when: {asked.when}() of {body.__name__} returned {answer!r}, expected True or the "
        "reason to skip"
    )
