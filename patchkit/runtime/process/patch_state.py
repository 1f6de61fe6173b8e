"""The patches of a process: what was made of each, its status, and what a failure stops.

`PatchStates` alone changes statuses, and tells the journal and stderr of every change. That
includes the failure policy: what a required patch that failed stops, and the exit code of a
process in which somebody has swallowed the error.
"""

import atexit
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Change, Role, Row
from patchkit.errors import (
    ApplyError,
    DependencyError,
    PatchkitError,
    SettingsError,
    VersionError,
)
from patchkit.runtime.changes.context import unwind
from patchkit.runtime.changes.overwrites import Route
from patchkit.runtime.changes.site import Site
from patchkit.runtime.process.journal import Journal, say
from patchkit.settings import Settings

ARMED, APPLIED, SKIPPED, FAILED = "armed", "applied", "skipped", "failed"

EXIT_CODE = 70
"""`EX_SOFTWARE` of sysexits.h: no program of vLLM's ends with it."""

Placed = tuple[int, Change]
"""A change, after its place in its row."""


class Transaction(Record, frozen=False, eq=False):
    """What was made of one change group, and what takes it back.

    Args:
        patch: name of the patch.
        rank: place of its row among all rows.
        undos: what takes the changes back, in the order in which they were made.
        calls: those undos that are for one execution of the module only.
        sites: the changed attributes, each with the target that led there.
        routes: what stood on the way to each target.
        targets: the targets, also those that are no attribute.
        kept: what others have built from the targets, and keep, in words.
    """

    patch: str = ""
    rank: int = 0
    undos: list[Callable[[], None]] = field(default_factory=list)
    calls: list[Callable[[], None]] = field(default_factory=list)
    sites: list[tuple[str, Site]] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def take_back(self) -> list[Exception]:
        """Undo all that was made.

        Returns:
            What went wrong on the way; no error stops the other undos.
        """
        errors = unwind(self.undos)
        self.calls.clear()
        self.sites.clear()
        self.routes.clear()
        self.targets.clear()
        return errors


class ChangeGroup(Record, frozen=False, eq=False):
    """Changes of one row that one module's import makes due, and how far they have come here.

    Args:
        patch: the patch whose changes they are.
        module: name of the module.
        moment: when they are due: before, serving or after its execution.
        changes: the changes with their places in the row, for any version.
        rank: place of the row among all rows.
        applied_to: the execution of the module that they are applied to; None while they are not.
        made: what was made then.
        facts: what the journal says of them beside the status.
        body: the file of the body, and its checksum when it was loaded; None where nobody reads it.
        thread: the thread that is applying them now.
        loads: whether that thread is importing the body, or waits for who does.
    """

    patch: "PatchState"
    module: str
    moment: str
    changes: tuple[Placed, ...]
    rank: int
    applied_to: tuple[int, int] | None = None
    made: Transaction = field(default_factory=Transaction)
    facts: dict[str, Any] = field(default_factory=dict)
    body: tuple[str, str] | None = None
    thread: int | None = None
    loads: bool = False

    def take_back(self) -> list[Exception]:
        """Undo what was made.

        Returns:
            What went wrong on the way.
        """
        errors = self.made.take_back()
        self.applied_to = None
        return errors


def layers_of(group: ChangeGroup) -> dict[str, list[str]]:
    """Name the patches that lie on each target of a group.

    Of what is no attribute (code that is edited, a field, a module) only the group's is known.

    Args:
        group: the group, which was made.

    Returns:
        For each target the names of the patches, the innermost first.
    """
    layers: dict[str, dict[str, None]] = {target: {} for target in group.made.targets}
    for target, site in group.made.sites:
        layers.setdefault(target, {}).update(dict.fromkeys(site.patches))
    own = group.patch.name
    return {target: list(names) or [own] for target, names in layers.items()}


class PatchState(Record, frozen=False, eq=False):
    """How it stands with one patch in this process; `PatchStates` alone writes the status.

    Args:
        row: the patch in its pack.
        name: name of the row.
        body: full module name of its body.
        groups: its changes, by the imports that make them due.
        status: armed, applied, skipped or failed.
        reason: why it is skipped or failed; of armed, what it waits for, if that is known.
        error: of a failed patch, what it failed with.
        is_decided: whether environment, versions and review were asked if it is for here.
        verified: whether its `verify` was asked in this process.
        holders: number of blocks that ask for it, whatever the roles of this process.
        former: status, reason and error before the first of these blocks.
        thread: the thread that makes it held, or lets it go.
    """

    row: Row
    name: str
    body: str
    groups: list[ChangeGroup] = field(default_factory=list)
    status: str = ARMED
    reason: str = ""
    error: BaseException | None = None
    is_decided: bool = False
    verified: bool = False
    holders: int = 0
    former: tuple[str, str, BaseException | None] = (ARMED, "", None)
    thread: int | None = None


class FailureExit:
    """Sets the exit code of a process that is not to end as if all were well.

    Args:
        reason_to_end: tells why the process may not end well; None where it may.
    """

    def __init__(self, reason_to_end: Callable[[], str | None]) -> None:
        self._reason_to_end = reason_to_end

    def arrange(self) -> None:
        """Have the exit code set when the process ends."""
        atexit.unregister(self._at_exit)
        atexit.register(self._at_exit)

    def code(self, code: Any) -> Any:
        """Tell the exit code of a child process that would end with this one.

        Args:
            code: the exit code.

        Returns:
            The exit code that it is to end with.
        """
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


class PatchStates:
    """Changes the statuses of patches, and stops what a failure is to stop.

    Args:
        patches: the patches of this process by name.
        settings: say which failures stop the process, and what is written to stderr.
        journal: where every change is written.
    """

    def __init__(
        self, patches: dict[str, PatchState], settings: Settings, journal: Journal
    ) -> None:
        self.patches = patches
        self.settings = settings
        self.journal = journal
        self.roles: set[Role] = set()
        self.is_in_charge = False  # whether the process ends as the session says
        self.failure_exit = FailureExit(self._reason_to_end)

    # -- statuses ---------------------------------------------------------------------------------

    def set(
        self, patch: PatchState, status: str, reason: str = "", **facts: Any
    ) -> None:
        """Give a patch another status, and tell.

        Args:
            patch: the patch.
            status: its status from now on.
            reason: why it is skipped or failed, or what it waits for.
            **facts: what the journal says beside that.
        """
        patch.status = status
        patch.reason = reason
        self.tell(patch, **facts)

    def tell(self, patch: PatchState, **facts: Any) -> None:
        """Write a patch's status to the journal and, where everything is told, to stderr.

        Args:
            patch: the patch.
            **facts: what the journal says beside its status.
        """
        text = f"{patch.name}: {patch.status}"
        if patch.reason:
            text += f": {patch.reason}"
        self.say("info", text)
        self.journal.write(
            "patch", name=patch.name, status=patch.status, reason=patch.reason, **facts
        )

    def reopen(self, patch: PatchState) -> None:
        """Have it decided anew whether a patch is for here: what that depends on may be set now.

        Args:
            patch: a patch that has not failed; one that is applied stays so.
        """
        patch.former = (patch.status, patch.reason, patch.error)
        if patch.status == SKIPPED:
            patch.status = ARMED
        patch.is_decided = patch.status == APPLIED

    def reopen_skipped(self) -> None:
        """Do so with all that was skipped: the process is another, and its environment may be."""
        for patch in self.patches.values():
            if patch.status == SKIPPED:
                self.reopen(patch)

    def restore(self, patch: PatchState) -> None:
        """Give a patch the status that it had before it was decided anew.

        Args:
            patch: a patch that was reopened.
        """
        status, reason, patch.error = patch.former
        if (patch.status, patch.reason) != (status, reason):
            self.set(patch, status, reason)

    def say(self, level: str, text: str) -> None:
        """Write a line to stderr where its level is loud enough.

        Args:
            level: one of `patchkit.settings.LEVELS`.
            text: the line.
        """
        say(level, text, self.settings.log)

    def say_undo_errors(self, errors: Iterable[Exception]) -> None:
        """Report what could not be taken back.

        Args:
            errors: what went wrong.
        """
        for error in errors:
            self.say("error", f"undo: {error}")

    # -- failures ---------------------------------------------------------------------------------

    def fail(self, patch: PatchState, error: BaseException, **facts: Any) -> None:
        """Note that a patch has failed.

        The failure of a required patch that is told already, perhaps another's while this one's
        body was imported, is no reason: it stops this one as well.

        Args:
            patch: the patch.
            error: what it failed with.
            **facts: what the journal says beside its status.

        Raises:
            ApplyError: the patch is required, and failures stop the process.
        """
        if isinstance(error, ApplyError) and error.patch is not None:
            if patch.status in {ARMED, APPLIED}:
                text = f"waits for required patch {error.patch}, which failed meanwhile"
                self.set(patch, ARMED, text, **facts)
            raise error
        from patchkit.runtime.tracebacks import trace_of  # noqa: PLC0415 - only a failure needs it

        patch.error = error
        facts |= trace_of(error)
        self.set(patch, FAILED, f"{type(error).__name__}: {error}", **facts)
        if self.is_in_charge and self._ends_badly(patch):
            self.failure_exit.arrange()
            text = (
                f"if the program continues anyway, it ends with exit code {EXIT_CODE}"
            )
            self.say("error", f"{_failure(patch)}; {text}")
        self.stop_if_failed([patch])
        self.say("warning", f"patch {patch.name} failed: {patch.reason}")

    def stop_if_failed(
        self, patches: Iterable[PatchState], roles: Iterable[Role] | None = None
    ) -> None:
        """Stop where a required patch has failed.

        Args:
            patches: those that are looked at.
            roles: only patches of these roles count; None for all.

        Raises:
            ApplyError: one has failed, and failures stop the process; from what it failed with.
        """
        counted_roles = None if roles is None else frozenset(roles)
        for patch in patches:
            if counted_roles is not None and counted_roles.isdisjoint(patch.row.roles):
                continue
            if patch.status == FAILED and self._must_stop(patch):
                ways = "PATCHKIT_ON_FAILURE=warn lets it continue"
                is_of_all_patches = isinstance(
                    patch.error, (SettingsError, VersionError)
                )
                if not is_of_all_patches:
                    ways += f"; PATCHKIT_DISABLE={patch.name} leaves the patch out"
                text = (
                    f"{_failure(patch)}. The process stops, as it would run half "
                    f"patched. {ways}."
                )
                raise ApplyError(text, patch.name) from patch.error

    def _reason_to_end(self) -> str | None:
        if not self.is_in_charge:
            return None
        for patch in list(self.patches.values()):
            if patch.status == FAILED and self._ends_badly(patch):
                return _failure(patch)
        return None

    def _ends_badly(self, patch: PatchState) -> bool:
        """Whether a failure counts whoever swallows it; what a block holds is told to the block."""
        if patch.holders or not self._must_stop(patch):
            return False
        return not patch.row.roles.isdisjoint(self.roles)

    def _must_stop(self, patch: PatchState) -> bool:
        return patch.row.patch.required and self.settings.on_failure == "stop"


def _failure(patch: PatchState) -> str:
    if isinstance(patch.error, DependencyError):
        return f"no patch can be applied: {patch.error}"
    reason = patch.reason.removesuffix(".")
    return f"required patch {patch.name} ({patch.body}) failed: {reason}"


def _is_told() -> bool:
    """Whether Python has written an error of patchkit's to stderr, as it does before it ends."""
    error = getattr(sys, "last_value", None)
    trace = getattr(sys, "last_traceback", None)
    # A console notes its errors there too, and goes on; they came out of a frame within its own.
    if trace is None or trace.tb_frame.f_back is not None or hasattr(sys, "ps1"):
        return False
    while error is not None and not isinstance(error, PatchkitError):
        error = error.__cause__ or error.__context__
    return error is not None
