"""
Applies groups of changes and takes them back, from any thread.

The lock guards the bookkeeping only. It is never held while a body or upstream code runs.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any

from patchkit import copies
from patchkit.changes.overwrites import stranger_at, stranger_on, strangers_on_copies
from patchkit.changes.sites import Sites
from patchkit.errors import ApplyError, DriftError, OverwrittenError
from patchkit.imports.half_imported import culprit
from patchkit.process.plan import APPLIED, ARMED, FAILED, SKIPPED
from patchkit.process.remarks import remarks
from patchkit.process.transaction import apply_group, load_body, reason_to_skip, unwind
from patchkit.process.turns import PATIENCE, Turns
from patchkit.review.drift import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from patchkit.changes.overwrites import Overwrite
    from patchkit.process.ledger import Ledger
    from patchkit.process.plan import Group, Plan, State
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.rows.selection import Selection

    Scope = Callable[[], copies.Where]


class Applier:
    """
    What is due, made.

    Args:
        plan: the rows by module.
        selection: which rows are for here.
        ledger: told of the outcome.
        is_whole: whether a module has been imported; otherwise its end will be told.
        is_wanted: whether this process is to have a group, as far as roles and holds say.

    """

    def __init__(
        self,
        plan: Plan,
        selection: Selection,
        ledger: Ledger,
        is_whole: Callable[[str], bool],
        is_wanted: Callable[[Group], bool],
    ) -> None:
        self.sites = Sites()
        self.turns = Turns()
        self._plan = plan
        self._selection = selection
        self._ledger = ledger
        self._is_whole = is_whole
        self._is_wanted = is_wanted
        self._executions: dict[str, int] = {}
        self._counting = threading.Lock()
        self._told: set[tuple[str, str]] = set()
        self._unreviewed: dict[str, str] = {}

    def note_execution(self, module: str) -> None:
        """
        A module is about to execute once more, and to overwrite what was applied to it.

        What an AfterImport has done is taken back before: its undo knows the module as it is now.
        A body that executes anew is to see originals; its end has everything applied again.
        """
        for group in reversed(self._plan.due(module, before=False)):
            self._ledger.say_undo_errors(unwind(group.calls))
        for group in reversed(self._plan.of_body(module)):
            if group.sites and group.thread is None:
                self._ledger.say_undo_errors(self._release(group))
        with self._counting:
            self._executions[module] = self._executions.get(module, 0) + 1

    def apply(
        self,
        groups: Iterable[Group],
        modules: Mapping[str, ModuleType],
        scope: Scope,
        *,
        from_body: bool = False,
    ) -> None:
        """
        Apply the groups that are not applied yet, then repoint copies in one pass.

        Args:
            groups: in the order in which they apply.
            modules: the groups' modules by name.
            scope: tells the modules that may hold copies of the originals.
            from_body: this thread is at the end of importing their body. Another thread that is
                applying one of them may be waiting for just that, and is not waited for.

        Raises:
            ApplyError: a required patch failed; the groups before it are applied.

        """
        made: list[Group] = []
        try:
            for group in groups:
                if self._claim(group, modules.get(group.module), from_body=from_body):
                    self._apply_one(group, modules.get(group.module), made)
        finally:
            try:
                self._finish(made, scope)
            finally:  # only now: who waits for them goes on with copies repointed, too
                for group in made:
                    self.turns.leave(group)

    def settle(self, state: State) -> None:
        """
        Ask whether a row is for here, before it is due.

        Raises:
            ApplyError: nobody can tell, and the patch is required.

        """
        try:
            self._is_for_here(state)
        except Exception as error:  # noqa: BLE001 - the patch's failure, like any other
            self._ledger.fail(state, error)

    def refuse(self, state: State, error: ApplyError) -> None:
        """
        Fail a row whose changes cannot reach what they are for.

        Raises:
            ApplyError: the patch is required.

        """
        self.settle(state)
        if state.status not in {SKIPPED, FAILED}:
            self.take_back(state)
            self._ledger.fail(state, error)

    def changes_here(self, group: Group) -> list[tuple[int, Change]]:
        """The changes of a group that are for the versions here."""
        return [one for one in group.changes if self._selection.applies(one[1], group.row)]

    def take_back(self, *states: State) -> list[Exception]:
        """Undo all changes of rows; return what went wrong on the way."""
        errors = [error for state in states for error in self._unwind(state)] + self._restore()
        self._ledger.say_undo_errors(errors)
        return errors

    def _unwind(self, state: State) -> list[Exception]:
        errors: list[Exception] = []
        for group in reversed(state.groups):
            with self.turns.within(group):
                errors += self._release(group)
        return errors

    def _release(self, group: Group) -> list[Exception]:
        """Undo what was made of a group."""
        errors = self._clear(group)
        group.done = None
        return errors

    def _clear(self, group: Group) -> list[Exception]:
        errors = unwind(group.undos)
        group.calls.clear()
        group.sites.clear()
        group.routes.clear()
        group.targets.clear()
        return errors

    def _restore(self) -> list[Exception]:
        where = copies.everywhere()
        latecomers = copies.Latecomers(where.modules)
        try:
            found = copies.restore(self.sites.rebound(), where, self._keepers)
            latecomers.revisit(self._revisit)
        except Exception as error:  # noqa: BLE001 - the targets are as they were all the same
            return [error]
        for copy in found.left:
            self._ledger.say("info", f"undo: out of reach: {copy}")
        return []

    def inspect(self) -> None:
        """
        Look whether somebody else has overwritten what is applied here.

        Raises:
            ApplyError: yes, and the patch is required.

        """
        with contextlib.ExitStack() as stack:  # all are looked at before one stops the process
            for state in reversed(list(self._plan.states.values())):
                if state.status == APPLIED:
                    stack.callback(self._inspect, state)

    def after_fork(self) -> None:
        """Forget other threads, which are gone, and what they had half done."""
        self.turns.after_fork()
        self.sites.after_fork()
        self._counting = threading.Lock()
        me = threading.get_ident()
        for state in self._plan.states.values():
            state.thread = me if state.thread == me else None
        for group in self._plan.groups():
            if group.thread not in {None, me}:
                unwind(group.undos)
                group.thread = group.done = None
                group.loads = False

    def tell_again(self) -> None:
        """Write to the journal what a forked child has inherited, beside the status of rows."""
        for name, words in self._unreviewed.items():
            self._note_unreviewed(name, words)

    # -- one group ------------------------------------------------------------------------------

    def _claim(self, group: Group, module: ModuleType | None, *, from_body: bool) -> bool:
        """Decide whether this thread applies the group now; waits for one that is at it."""
        if not self._is_open(group):
            return False
        try:
            mine = self.turns.take(group, lambda: from_body and group.loads)
        except TimeoutError:
            raise ApplyError(_stuck(group)) from None
        if mine and group.done == self._execution(group, module):
            self.turns.leave(group)
            return False
        return mine

    def _is_open(self, group: Group) -> bool:
        """Whether the process still is to have a group: another thread may have taken it back."""
        status = self._plan.states[group.row.name].status
        return status not in {SKIPPED, FAILED} and self._is_wanted(group)

    def _execution(self, group: Group, module: ModuleType | None) -> tuple[int, int]:
        return self._executions.get(group.module, 0), 0 if group.before else id(module)

    def _apply_one(self, group: Group, module: ModuleType | None, made: list[Group]) -> None:
        state = self._plan.states[group.row.name]
        try:
            if self._is_for_here(state) and self._make(state, group, module):
                made.append(group)
        except Exception as error:  # noqa: BLE001 - whatever a body raises is the patch's failure
            self._fail(state, error, group.module)
        finally:
            if group not in made:
                self.turns.leave(group)

    def _fail(self, state: State, error: Exception, module: str) -> None:
        """Fail a row first, so that no other thread goes on with it; then take it back."""
        try:
            self._ledger.fail(state, error, module=module)
        finally:
            self.take_back(state)

    def _make(self, state: State, group: Group, module: ModuleType | None) -> bool:
        changes = self.changes_here(group)
        if not changes or not (group.provides or self._has_no_half_body(group)):
            return False  # where somebody else imports the body, its end makes the group due again
        if group.before and not group.provides and module is not None:
            raise ApplyError(f"{group.module} was imported before patchkit could run before it")
        self._clear(group)  # what the module's last execution left of it
        body = self._load(group)
        if body is None or not (self._has_no_half_body(group) and self._is_open(group)):
            return False  # the body itself asks for the module that it provides
        if (reason := reason_to_skip(group.row.patch, body)) is not None:
            self._skip(state, reason)
            return False
        reasons = {place: reason_to_skip(change, body) for place, change in changes}
        wanted = [one for one in changes if reasons[one[0]] is None]
        apply_group(group, wanted, module, body, self.sites)
        group.done = self._execution(group, module)
        self._tell_left_out(group, changes, reasons)
        if not wanted:
            self._skip_if_empty(state, str(reasons[changes[0][0]]))
        return bool(wanted)

    def _skip(self, state: State, reason: str) -> None:
        """Skip a row, of which other modules may have changes already: all or none."""
        errors = self.take_back(state) if any(group.done for group in state.groups) else []
        self._ledger.set(state, SKIPPED, "; not taken back: ".join([reason, *map(str, errors)]))

    def _skip_if_empty(self, state: State, reason: str) -> None:
        """Skip a row all of whose changes were left out."""
        waiting = [one for one in state.groups if one.done is None and self.changes_here(one)]
        if not waiting and not any(group.undos for group in state.groups):
            self._ledger.set(state, SKIPPED, f"no change is for here: {reason}")

    def _tell_left_out(
        self, group: Group, changes: list[tuple[int, Change]], reasons: dict[int, str | None]
    ) -> None:
        for place, change in changes:
            if (reason := reasons[place]) is not None:
                name, target = group.row.name, str(change.place)
                self._ledger.note("left-out", name=name, target=target, reason=reason)
                self._ledger.say("info", f"{name}: {change.kind} of {target} left out: {reason}")

    def _load(self, group: Group) -> ModuleType | None:
        """Load the body; None where it needs a module that is being imported, and waits for it."""
        group.loads = True
        self.turns.tell()
        try:
            return load_body(group.row, afresh=group.done is not None)
        except (ImportError, AttributeError) as error:
            if group.before or not self._is_postponed(group, culprit(error)):
                raise
            return None
        finally:
            group.loads = False

    def _is_postponed(self, group: Group, needed: str | None) -> bool:
        if needed is None:
            return False
        self._plan.postpone(group, needed)  # first, as its end may come in another thread
        if self._is_whole(needed):
            return False
        state = self._plan.states[group.row.name]
        if state.status == ARMED:
            text = f"waits for the end of the import of {needed}, which its body needs"
            self._ledger.set(state, ARMED, text)
        return True

    def _has_no_half_body(self, group: Group) -> bool:
        return group.row.body not in sys.modules or self._is_whole(group.row.body)

    def _is_for_here(self, state: State) -> bool:
        if not state.settled:
            self._selection.settings.check_names(self._plan.states)
            reason = self._selection.reason_to_skip(state.row)
            if reason is not None:
                self._ledger.set(state, SKIPPED, reason)
                self._tell_if_unreviewed(state, reason)
            else:
                self._refuse_conflict(state)
                self._review(state)
            state.settled = True  # last, as another thread may be asking
        return state.status not in {SKIPPED, FAILED}

    def _refuse_conflict(self, state: State) -> None:
        for other in list(self._plan.states.values()):
            named = other.row.name in state.row.patch.conflicts
            named = named or state.row.name in other.row.patch.conflicts
            if named and self._is_selected(other, beside=state):
                raise ApplyError(
                    f"it conflicts with {other.row.name}, which is selected too; leave one out "
                    "with PATCHKIT_DISABLE"
                )

    def _review(self, state: State) -> None:
        """Compare what the row changes with what was reviewed, and do as the policy says."""
        if not (words := self._selection.unreviewed(state.row)):
            return
        if self._selection.settings.on_drift == "stop":
            raise DriftError(f"{words}. PATCHKIT_ON_DRIFT=warn applies it all the same")
        self._tell_unreviewed(state.row, words)

    def _tell_if_unreviewed(self, state: State, reason: str) -> None:
        """Tell of a patch that drift leaves out, though the process is not whole without it."""
        by_drift = self._selection.settings.on_drift == "skip" and reason == (
            self._selection.unreviewed(state.row)
        )
        if by_drift and (state.row.patch.required or reason.startswith(UNREADABLE)):
            self._tell_unreviewed(state.row, reason)

    def _tell_unreviewed(self, row: Row, words: str) -> None:
        if row.name not in self._unreviewed:
            self._unreviewed[row.name] = words
            self._note_unreviewed(row.name, words)
            self._warn(row, words)

    def _note_unreviewed(self, name: str, words: str) -> None:
        finding = self._is_skipped(name) or words.startswith(UNREADABLE)
        self._ledger.note("unreviewed", name=name, reason=words, finding=finding)

    def _is_skipped(self, name: str) -> bool:
        return self._plan.states[name].status == SKIPPED

    def _warn(self, row: Row, words: str) -> None:
        skipped = self._is_skipped(row.name)
        if not words.startswith(UNREADABLE):
            is_named = row.pack in self._selection.settings.packs
            rest = f"{row.name} --here" + (f" --patches {row.pack}" if is_named else "")
            hint = f"see 'patchkit diff {rest}', then 'patchkit lock {rest}'"
            effect = "required, and left out: " if skipped else ""
            self._ledger.say("warning", f"{row.name}: {effect}{words}; {hint}")
        elif ("", words) not in self._told:  # once for all patches that it would speak of
            self._told.add(("", words))
            self._ledger.say("warning", words + ("; its patches are left out" if skipped else ""))

    def _is_selected(self, other: State, beside: State) -> bool:
        """Whether a row is there too; beside one that was asked for, whatever else is for here."""
        if beside.forced:
            return other.forced > 0 or other.status == APPLIED
        return self._selection.reason_to_skip(other.row) is None

    # -- copies ---------------------------------------------------------------------------------

    @property
    def _keepers(self) -> copies.Keepers:
        return copies.Keepers(self._plan.keepers, self._plan.bodies, self.sites)

    def _finish(self, made: list[Group], scope: Scope) -> None:
        groups = [group for group in made if self._still_wanted(group)]
        try:
            found = self._repoint(groups, scope)
        except Exception as error:  # noqa: BLE001 - whatever it is, no copy is left behind
            self._fail_together(groups, error)
            return
        for group, told in zip(groups, found, strict=True):
            group.told = told
            self._ledger.set(self._plan.states[group.row.name], APPLIED, **told)
            for target, hidden in told.get("hidden", {}).items():
                for name, top in hidden.items():
                    text = f"{target}: the replacement of {name} is hidden by that of {top}"
                    self._ledger.say("info", text)

    def _repoint(self, groups: list[Group], scope: Scope) -> list[dict[str, Any]]:
        """Repoint the copies of what the groups have changed; return what is to be told of each."""
        sites = [site for group in groups for _, site in group.sites if site.rebind]
        where = scope() if sites else copies.nowhere()
        latecomers = copies.Latecomers(where.modules)
        outcome = copies.repoint(sites, where, self._keepers)
        if where.late:
            latecomers.revisit(self._revisit)
        return [remarks(group, outcome, late=where.late) for group in groups]

    def _revisit(self, module: str) -> None:
        """Repoint what a module has copied that another thread was importing meanwhile."""
        try:
            found = copies.repoint(self.sites.rebound(), copies.just(module), self._keepers)
        except Exception as error:  # noqa: BLE001 - that thread's import is none of ours to fail
            self._ledger.say("error", f"copies in {module} are not repointed: {error}")
            return
        for copy in found.rebound:
            self._ledger.say("info", f"{copy} was copied meanwhile, and is repointed")

    def _fail_together(self, groups: Iterable[Group], error: Exception) -> None:
        states = list(dict.fromkeys(self._plan.states[group.row.name] for group in groups))
        self.take_back(*reversed(states))
        with contextlib.ExitStack() as stack:  # all are failed before one stops the process
            for state in reversed(states):
                stack.callback(self._ledger.fail, state, error)

    def _still_wanted(self, group: Group) -> bool:
        """Whether nobody has failed or undone its row meanwhile, in another thread."""
        state = self._plan.states[group.row.name]
        if state.status in {FAILED, SKIPPED}:
            self.take_back(state)
        return state.status not in {FAILED, SKIPPED}

    # -- strangers ------------------------------------------------------------------------------

    def _inspect(self, state: State) -> None:
        for group in state.groups:
            error = self._look_at(state, group) if self._is_settled(group) else None
            if error is not None:
                self._unwind(state)  # all its changes or none
                self._restore()
                self._ledger.fail(state, error, module=group.module)
                return

    def _is_settled(self, group: Group) -> bool:
        """Whether a group is applied to the module as it is now, and not about to be anew."""
        executions = self._executions.get(group.module, 0)
        return group.thread is None and group.done is not None and group.done[0] == executions

    def _look_at(self, state: State, group: Group) -> OverwrittenError | None:
        name = state.row.name
        found = [(target, stranger_at(site, self.sites)) for target, site in tuple(group.sites)]
        found += [(one.target, stranger_on(one, self.sites)) for one in tuple(group.routes)]
        for target, stranger in found:
            if stranger is not None and self._is_settled(group):
                self._tell_stranger(name, target, stranger)
                if not stranger.wraps:
                    return OverwrittenError(f"{target} was overwritten by {stranger.by}")
        for _, site in tuple(group.sites):
            for words, stranger in strangers_on_copies(site):
                self._tell_stranger(name, words, stranger, "info" if stranger.wraps else "warning")
        return None

    def _tell_stranger(self, name: str, target: str, one: Overwrite, level: str = "info") -> None:
        event = "wrapped" if one.wraps else "overwritten"
        self._tell_once(event, level, name, target, one.by)

    def _tell_once(self, event: str, level: str, name: str, target: str, by: str) -> None:
        if (name, text := f"{target} was {event} by {by}") not in self._told:
            self._told.add((name, text))
            self._ledger.note(event, name=name, target=target, by=by)
            self._ledger.say(level, f"{name}: {text}")


def _stuck(group: Group) -> str:
    return (
        f"patch {group.row.name}: another thread has been applying it for {PATIENCE:.0f} s, "
        f"expected it to end; look at what body {group.row.body} waits for, or leave the patch "
        f"out with PATCHKIT_DISABLE={group.row.name}"
    )
