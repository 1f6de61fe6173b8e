"""How it stands with every patch here; who changes a status tells the journal and stderr of it.

That includes the failure policy: what a required patch that failed stops, and the exit code of a
process in which somebody has swallowed the error.
"""

import atexit
import os
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Role, Row
from patchkit.errors import ApplyError, PatchkitError, SettingsError, VersionError
from patchkit.runtime.process.journal import Journal, say
from patchkit.runtime.process.transaction import Placed, Transaction
from patchkit.settings import Settings

ARMED, APPLIED, SKIPPED, FAILED = "armed", "applied", "skipped", "failed"

EXIT_CODE = 70
"""`EX_SOFTWARE` of sysexits.h: no program of vLLM's ends with it."""


class ChangeGroup(Record, frozen=False, eq=False):
    """Changes of one row that one module's import makes due, and how far they have come here."""

    patch: "PatchState"  # whose changes they are
    module: str
    moment: str
    changes: tuple[Placed, ...]  # with their places in the row, for any version
    rank: int  # place of the row among all rows
    applied_to: tuple[int, int] | None = None  # which execution of the module, while they are
    made: Transaction = field(default_factory=Transaction)  # what was made then
    facts: dict[str, Any] = field(default_factory=dict)  # for the journal, beside the status
    thread: int | None = None  # the thread that is applying them now
    loads: bool = False  # whether it is importing the body, or waits for who does

    def take_back(self) -> list[Exception]:
        """Undo what was made; return what went wrong on the way."""
        errors = self.made.take_back()
        self.applied_to = None
        return errors


class PatchState(Record, frozen=False, eq=False):
    """How it stands with one patch in this process; `PatchStates` alone writes the status."""

    row: Row
    name: str  # of the row, as is the body
    body: str
    groups: list[ChangeGroup] = field(default_factory=list)  # by the imports that make them due
    status: str = ARMED
    reason: str = ""  # of skipped and failed, in words; of armed, where it was more than that
    error: BaseException | None = None  # of failed
    settled: bool = False  # whether it has been asked if the patch is for here
    verified: bool = False  # whether its `verify` was asked in this process
    holders: int = 0  # blocks that ask for it, whatever the roles of this process
    former: tuple[str, str, BaseException | None] = (ARMED, "", None)  # before the first of them
    thread: int | None = None  # the thread that makes it held, or lets it go

    @property
    def is_open(self) -> bool:
        """Whether it is applied or may yet be."""
        return self.status in {ARMED, APPLIED}

    def is_for(self, roles: Collection[Role]) -> bool:
        """Whether a block holds it, or a process with these roles is to have it."""
        return self.holders > 0 or not self.row.roles.isdisjoint(roles)


class PatchStates:
    """The one who changes statuses, and the failure policy."""

    def __init__(
        self, patches: dict[str, PatchState], settings: Settings, journal: Journal
    ) -> None:
        self.patches = patches
        self.settings = settings
        self.journal = journal
        self.roles: set[Role] = set()
        self.is_in_charge = False  # whether the process is the session's, to end as it says

    def open_here(self) -> list[PatchState]:
        """The patches of this process that are applied or may yet be."""
        here = [state for state in list(self.patches.values()) if state.is_for(self.roles)]
        return [state for state in here if state.is_open]

    # -- statuses ---------------------------------------------------------------------------------

    def set(self, state: PatchState, status: str, reason: str = "", **facts: Any) -> None:
        """Give a patch another status, and tell."""
        state.status, state.reason = status, reason
        self.tell(state, **facts)

    def tell(self, state: PatchState, **facts: Any) -> None:
        """Write a patch's status to the journal."""
        name, status, reason = state.name, state.status, state.reason
        self.say("info", f"{name}: {status}" + (f": {reason}" if reason else ""))
        self.journal.write("patch", name=name, status=status, reason=reason, **facts)

    def reopen(self, state: PatchState) -> None:
        """Have a patch asked again whether it is for here: what that depends on may be set now."""
        state.former = (state.status, state.reason, state.error)
        if state.status == SKIPPED:
            state.status = ARMED
        state.settled = state.status == APPLIED

    def restore(self, state: PatchState) -> None:
        """Give a patch what it had before it was asked again."""
        status, reason, state.error = state.former
        if (state.status, state.reason) != (status, reason):
            self.set(state, status, reason)

    def say(self, level: str, text: str) -> None:
        """Write to stderr what is loud enough."""
        say(level, text, self.settings.log)

    def say_undo_errors(self, errors: Iterable[Exception]) -> None:
        """Report what could not be taken back."""
        for error in errors:
            self.say("error", f"undo: {error}")

    # -- failures ---------------------------------------------------------------------------------

    def fail(self, state: PatchState, error: Exception, **facts: Any) -> None:
        """Note a failure; ApplyError where the patch is required, and failures stop the process.

        The failure of a required patch that is told already, perhaps another's while this one's
        body was imported, is no reason: it stops this one as well.
        """
        if isinstance(error, ApplyError) and error.patch is not None:
            if state.is_open:
                text = f"waits for required patch {error.patch}, which failed meanwhile"
                self.set(state, ARMED, text, **facts)
            raise error
        state.error = error
        self.set(state, FAILED, f"{type(error).__name__}: {error}", **facts)
        if self.is_in_charge and self._ends_badly(state):
            atexit.unregister(self._at_exit)
            atexit.register(self._at_exit)
            text = f"if the program continues anyway, it ends with exit code {EXIT_CODE}"
            self.say("error", f"{_failure(state)}; {text}")
        self.stop_if_failed([state])
        self.say("warning", f"patch {state.name} failed: {state.reason}")

    def stop_if_failed(
        self, states: Iterable[PatchState], roles: Iterable[Role] | None = None
    ) -> None:
        """Raise ApplyError, with its cause, where a required patch (of these roles) has failed."""
        wanted = None if roles is None else frozenset(roles)
        for state in states:
            here = wanted is None or bool(wanted & state.row.roles)
            if here and state.status == FAILED and self._must_stop(state):
                ways = "PATCHKIT_ON_FAILURE=warn lets it continue"
                if not isinstance(state.error, (SettingsError, VersionError)):  # of all patches
                    ways += f"; PATCHKIT_DISABLE={state.name} leaves the patch out"
                text = (
                    f"{_failure(state)}. The process stops, as it would run half patched. {ways}."
                )
                raise ApplyError(text, state.name) from state.error

    def exit_code(self, code: Any) -> Any:
        """Return the exit code of a child process that would end with this one."""
        return EXIT_CODE if self._reason_to_end() else code

    def _at_exit(self) -> None:
        """Run what else is to be run at the end, and leave; nothing later can set the code."""
        atexit.unregister(self._at_exit)
        reason = self._reason_to_end()
        if reason is None or _is_told():
            return
        atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing ends a child
        say("error", f"exit code {EXIT_CODE}: {reason}")
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(EXIT_CODE)

    def _reason_to_end(self) -> str | None:
        failed = (state for state in list(self.patches.values()) if state.status == FAILED)
        reasons = (_failure(state) for state in failed if self._ends_badly(state))
        return next(reasons, None) if self.is_in_charge else None

    def _ends_badly(self, state: PatchState) -> bool:
        """Whether a failure counts whoever swallows it; what a block holds is told to the block."""
        return self._must_stop(state) and not state.holders and state.is_for(self.roles)

    def _must_stop(self, state: PatchState) -> bool:
        return state.row.patch.required and self.settings.on_failure == "stop"


def _failure(state: PatchState) -> str:
    reason = state.reason.removesuffix(".")
    return f"required patch {state.name} ({state.body}) failed: {reason}"


def _is_told() -> bool:
    error, trace = getattr(sys, "last_value", None), getattr(sys, "last_traceback", None)
    # A console notes its errors there too, and goes on; they came out of a frame within its own.
    if trace is None or trace.tb_frame.f_back is not None or hasattr(sys, "ps1"):
        return False
    while error is not None and not isinstance(error, PatchkitError):
        error = error.__cause__ or error.__context__
    return error is not None
