"""How it stands with every row here: told to the journal, to stderr, and by stopping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.errors import ApplyError, SettingsError, VersionError
from patchkit.process.ending import EXIT_CODE, Ending
from patchkit.process.log import say
from patchkit.process.plan import APPLIED, ARMED, FAILED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from patchkit.process.journal import Journal
    from patchkit.process.plan import State
    from patchkit.rows.declaration import Role
    from patchkit.settings import Settings


class Ledger:
    """
    The states of a session's rows and the failure policy.

    Args:
        states: by name of the patch.
        settings: `on_failure` and how much to say.
        journal: told of every change of status.
        roles: those that the process has entered, as they are now.

    """

    def __init__(
        self,
        states: dict[str, State],
        settings: Settings,
        journal: Journal,
        roles: Collection[Role] = (),
    ) -> None:
        self.states = states
        self.journal = journal
        self.ending = Ending(self.reason_to_end)
        self._settings = settings
        self._roles = roles

    def set(self, state: State, status: str, reason: str = "", **facts: Any) -> None:
        """Give a row another status, and tell."""
        state.status, state.reason = status, reason
        self.tell(state, **facts)

    def tell(self, state: State, **facts: Any) -> None:
        """Write a row's status to the journal."""
        name, status, reason = state.row.name, state.status, state.reason
        self.journal.write("patch", name=name, status=status, reason=reason, **facts)
        self.say("info", f"{name}: {status}" + (f": {reason}" if reason else ""))

    def note(self, event: str, **facts: Any) -> None:
        """Write to the journal what is no change of status."""
        self.journal.write(event, **facts)

    def say(self, level: str, text: str) -> None:
        """Write to stderr what is loud enough."""
        say(level, text, self._settings.log)

    def say_undo_errors(self, errors: Iterable[Exception]) -> None:
        """Report what could not be taken back."""
        for error in errors:
            self.say("error", f"undo: {error}")

    def fail(self, state: State, error: Exception, **facts: Any) -> None:
        """
        Note a failure.

        Args:
            state: the row's.
            error: why. The failure of a required patch that is told already, perhaps another's
                while this one's body was imported, is no reason: it stops this one as well.
            facts: further ones, for the journal.

        Raises:
            ApplyError: the patch is required, and failures stop the process.

        """
        if isinstance(error, ApplyError) and error.patch is not None:
            if state.status in {ARMED, APPLIED}:
                text = f"waits for required patch {error.patch}, which failed meanwhile"
                self.set(state, ARMED, text, **facts)
            raise error
        state.error = error
        self.set(state, FAILED, f"{type(error).__name__}: {error}", **facts)
        if self.ending.is_ours and self._ends_badly(state):
            self.ending.prepare()
            text = f"if the program goes on all the same, it ends with exit code {EXIT_CODE}"
            self.say("error", f"{_failure(state)}; {text}")
        self.stop_if_failed([state])
        self.say("warning", f"patch {state.row.name} failed: {state.reason}")

    def stop_if_failed(self, states: Iterable[State], roles: Iterable[Role] | None = None) -> None:
        """
        Stop where a required patch has failed before; somebody may have swallowed the error then.

        Args:
            states: the rows to look at.
            roles: only rows of these roles, unless None.

        Raises:
            ApplyError: with the first failure as its cause.

        """
        wanted = None if roles is None else frozenset(roles)
        for state in states:
            here = wanted is None or bool(wanted & state.row.roles)
            if here and state.status == FAILED and self._must_stop(state):
                raise ApplyError(_stop_text(state), state.row.name) from state.error

    def reason_to_end(self) -> str | None:
        """Say which required patch of a role that was entered has failed; None where none has."""
        bad = (one for one in self.states.values() if one.status == FAILED)
        return next((_failure(state) for state in bad if self._ends_badly(state)), None)

    def _ends_badly(self, state: State) -> bool:
        """Whether a failure counts whoever swallows it; what a block holds is told to the block."""
        return self._must_stop(state) and not state.forced and state.is_for(self._roles)

    def _must_stop(self, state: State) -> bool:
        return state.row.patch.required and self._settings.on_failure == "stop"


def _failure(state: State) -> str:
    reason = state.reason.removesuffix(".")
    return f"required patch {state.row.name} ({state.row.body}) failed: {reason}"


def _stop_text(state: State) -> str:
    ways = "PATCHKIT_ON_FAILURE=warn lets it go on"
    if not isinstance(state.error, (SettingsError, VersionError)):  # of all patches
        ways += f"; PATCHKIT_DISABLE={state.row.name} leaves the patch out"
    return f"{_failure(state)}. The process stops, as it would run half patched. {ways}."
