"""Patches held applied for a while, whatever the roles of the process; then as they were."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING

from patchkit.errors import ApplyError, PatchkitError
from patchkit.process.plan import APPLIED, ARMED, FAILED, SKIPPED
from patchkit.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from patchkit.process.applier import Applier
    from patchkit.process.ledger import Ledger
    from patchkit.process.plan import Group, State
    from patchkit.rows.declaration import Role
    from patchkit.rows.selection import Selection

    Outcome = tuple[str, str, BaseException | None]

_PATIENCE = 600.0
"""Seconds to wait for another thread's block to begin or end; it may be importing all of vLLM."""


class Holds(Record, frozen=False, eq=False):
    """
    Who holds what.

    Args:
        selection: which rows are for here.
        applier: takes back what is let go.
        ledger: told of it.
        roles: those of the process, which decide what stays applied.
        apply_late: applies groups whose modules are there.

    """

    selection: Selection
    applier: Applier
    ledger: Ledger
    roles: Collection[Role]
    apply_late: Callable[[Iterable[Group]], None]

    def __post_init__(self) -> None:
        self._former: dict[str, Outcome] = {}

    def hold(self, states: Sequence[State]) -> None:
        """
        Apply patches, and import what they change; those that come before an import wait for it.

        Raises:
            ApplyError: one is not for here, or fails; all are as they were.

        """
        with self._turn(states):
            for state in states:
                self._refuse_unfit(state)
            self._count(states)
            try:
                self._make(states)
            except BaseException:
                self.let_go(states)
                raise

    def let_go(self, states: Sequence[State]) -> list[Exception]:
        """Take back what nobody holds any more and no role has; return what went wrong."""
        turns = self.applier.turns
        with turns.within(*states, patience=_PATIENCE):
            free = [(state, self._uncount(state)) for state in reversed(states)]
            ended = [(state, former) for state, former in free if former]
            # Who enters a role of theirs now finds them applied, or waits for the end of this.
            with turns.within(*(group for state, _ in ended for group in state.groups)):
                return self._end([one for one in ended if self._is_over(*one)])

    def _end(self, over: Sequence[tuple[State, Outcome]]) -> list[Exception]:
        errors = self.applier.take_back(*(state for state, _ in over))
        for state, (status, reason, error) in over:
            state.error = error
            if (state.status, state.reason) != (status, reason):
                self.ledger.set(state, status, reason)
        return errors

    @contextlib.contextmanager
    def _turn(self, states: Sequence[State]) -> Iterator[None]:
        """Hold or let go as one step: nobody counts on what another thread takes back."""
        with self.applier.turns.within(*states, patience=_PATIENCE) as has_it:
            if not has_it:
                names = ", ".join(state.row.name for state in states)
                raise ApplyError(
                    f"{names}: for {_PATIENCE:.0f} s another thread has been applying one of them "
                    "for a block of its own, expected it to end; look at what their bodies wait for"
                )
            yield

    def reason_to_skip(self, state: State) -> str | None:
        """Say why a row cannot be held here, or None."""
        return self.selection.reason_to_skip(state.row)

    # -- who holds ------------------------------------------------------------------------------

    def _count(self, states: Iterable[State]) -> None:
        for state in states:
            state.forced += 1
            if state.forced == 1:
                self._former[state.row.name] = (state.status, state.reason, state.error)
                if state.status == SKIPPED:
                    state.status = ARMED
                state.settled = state.status == APPLIED  # what it depends on may be set by now

    def _uncount(self, state: State) -> Outcome | None:
        state.forced -= 1
        return None if state.forced else self._former.pop(state.row.name)

    # -- apply ----------------------------------------------------------------------------------

    def _refuse_unfit(self, state: State) -> None:
        if state.status == APPLIED:
            return
        if state.status == FAILED:
            raise _failed(state) from state.error
        if (reason := self.reason_to_skip(state)) is not None:
            raise ApplyError(f"patch {state.row.name} is not for here: {reason}")

    def _make(self, states: Sequence[State]) -> None:
        try:
            for state in states:
                self.applier.settle(state)
            for group in self._due(states):
                _import(group)
            self.apply_late(group for state in states for group in state.groups)
            for group in self._waiting(states):
                with contextlib.suppress(ImportError, AttributeError):  # it waits, as is said below
                    importlib.import_module(group.row.body)  # another thread is at it
            self.apply_late(self._waiting(states))
        except PatchkitError:
            _refuse_undone(states)  # says more
            raise
        _refuse_undone(states)
        if left := self._waiting(states):
            raise ApplyError(
                f"patch {left[0].row.name} waits for the end of the import of {left[0].module} or"
                f" {left[0].row.body}, within which it was asked for; ask after it"
            )

    def _due(self, states: Iterable[State]) -> list[Group]:
        """The groups that apply to a module once that is imported."""
        groups = (group for state in states for group in state.groups if not group.before)
        return [
            one for one in groups if any(self.selection.applies(c, one.row) for _, c in one.changes)
        ]

    def _waiting(self, states: Iterable[State]) -> list[Group]:
        return self._due(state for state in states if state.status == ARMED)

    def _is_over(self, state: State, former: Outcome) -> bool:
        """Whether the session would not have the row as it is, if nobody had held it."""
        return not (state.is_for(self.roles) and former[0] in {APPLIED, ARMED})


def _import(group: Group) -> None:
    """Import a target's module; where another thread is at it, that is waited for."""
    try:
        importlib.import_module(group.module)
    except PatchkitError:
        raise
    except Exception as error:
        raise ApplyError(
            f"patch {group.row.name}: its target's module {group.module} cannot be imported:"
            f" {type(error).__name__}: {error}"
        ) from error


def _refuse_undone(states: Iterable[State]) -> None:
    for state in states:
        if state.status == FAILED:
            raise _failed(state) from state.error
        if state.status == SKIPPED:
            raise ApplyError(f"patch {state.row.name} is not for here: {state.reason}")


def _failed(state: State) -> ApplyError:
    return ApplyError(f"patch {state.row.name} ({state.row.body}) failed: {state.reason}")
