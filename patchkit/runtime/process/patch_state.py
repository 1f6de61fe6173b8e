"""The patches of a process: what was changed for each, its status, and what a failure stops.

Only `PatchStates` changes statuses, and reports each change in the journal and on stderr. It also
decides what happens when a required patch fails: it raises, and where a program catches that error
and goes on, it sets the exit code at the end.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Change, Role, Row
from patchkit.errors import (
    ApplyError,
    DependencyError,
    PatchNameError,
    SettingsError,
    VersionError,
)
from patchkit.runtime.process.failure_exit import EXIT_CODE, FailureExit
from patchkit.runtime.process.journal import Journal, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from patchkit.runtime.changes.context import Route
    from patchkit.runtime.changes.site import Site
    from patchkit.settings import Settings

ARMED, APPLIED, SKIPPED, FAILED = "armed", "applied", "skipped", "failed"

Placed = tuple[int, Change]
"""The index of a change in its row, and the change."""


class Transaction(Record, frozen=False, eq=False):
    """The changes that were made for one change group, and the functions that undo them.

    Args:
        patch: name of the patch.
        rank: position of its row among all rows.
        undos: the functions that undo the changes, in the order in which those were made.
        calls: those of `undos` that undo the call of an AfterImport.
        sites: each changed attribute, after its target.
        routes: for each target, the objects from the module to the attribute (`m.Class.method`).
        targets: the targets, those included that are no attribute.
        of_calls: those of `targets` that AfterImports have changed, each with the package whose
            functions are put there.
        results: of each AfterImport with `sets`, the further fields of its entry in the journal.
        kept: in words, what upstream has built from the targets before, which stays as it was.
    """

    patch: str = ""
    rank: int = 0
    undos: list[Callable[[], None]] = field(default_factory=list)
    calls: list[Callable[[], None]] = field(default_factory=list)
    sites: list[tuple[str, Site]] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    of_calls: dict[str, str] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def layers(self) -> dict[str, list[str]]:
        """Name the patches that change each target: several may wrap one method.

        Of a target that is no attribute (edited code, a field, a module), only the patch itself is
        known.

        Returns:
            The names by target, the innermost patch first.
        """
        layers: dict[str, dict[str, None]] = {target: {} for target in self.targets}
        for target, site in self.sites:
            names = [layer.patch for layer in site.layers if layer.patch]
            layers.setdefault(target, {}).update(dict.fromkeys(names))
        return {target: list(names) or [self.patch] for target, names in layers.items()}

    def take_back(self) -> list[BaseException]:
        """Undo all changes.

        Returns:
            The errors of undos that failed; the others run all the same.
        """
        from patchkit.runtime.changes.context import unwind  # noqa: PLC0415 - arming undoes nothing

        errors = unwind(self.undos)
        self.calls.clear()
        self.sites.clear()
        self.routes.clear()
        self.targets.clear()
        self.of_calls.clear()
        return errors


class ChangeGroup(Record, frozen=False, eq=False):
    """The changes of one row that become due with the import of one module, and their state.

    Args:
        patch: the patch whose changes they are.
        module: name of the module.
        moment: when they are due: before, serving or after its execution.
        changes: the changes with their indices in the row, for all versions.
        rank: position of the row among all rows.
        applied_to: the execution of the module that they are applied to; None while they are not.
        made: the changes that were made then.
        facts: the further fields of the group's entry in the journal.
        body: the file of the body and its checksum when it was loaded; None without a journal.
        thread: the thread that is applying them now.
        loads: whether that thread is importing the body, or waits for the thread that does.
    """

    patch: PatchState
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

    def take_back(self) -> list[BaseException]:
        """Undo the changes of the group, which counts as not applied from then on.

        Returns:
            The errors of undos that failed.
        """
        errors = self.made.take_back()
        self.applied_to = None
        return errors


class PatchState(Record, frozen=False, eq=False):
    """The state of one patch in this process; only `PatchStates` sets the status.

    Args:
        row: the patch in its pack.
        name: name of the row.
        body: full module name of its body.
        groups: its changes, by the imports that make them due.
        status: armed, applied, skipped or failed.
        reason: why it is skipped or failed; if it is armed, what it waits for, or "".
        error: the exception that a failed patch failed with.
        is_decided: whether environment, versions and review were checked already.
        verified: whether its `verify` function was called in this process.
        holders: how many `with patchkit.applied(...)` blocks need it, whatever the roles are.
        former: status, reason and error before the first of these blocks.
        thread: the thread that begins or ends such a block.
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
        self.is_in_charge = False  # whether a failure here may set the exit code
        self.failure_exit = FailureExit(self._reason_to_fail)

    # -- statuses ---------------------------------------------------------------------------------

    def set(
        self, patch: PatchState, status: str, reason: str = "", **facts: Any
    ) -> None:
        """Set the status of a patch, and report it.

        Args:
            patch: the patch.
            status: its new status.
            reason: why it is skipped or failed, or what it waits for.
            **facts: further fields of the journal entry.
        """
        patch.status = status
        patch.reason = reason
        self.report(patch, **facts)

    def report(self, patch: PatchState, **facts: Any) -> None:
        """Write a patch's status to the journal and, at log level info, to stderr.

        Args:
            patch: the patch.
            **facts: further fields of the journal entry.
        """
        text = f"{patch.name}: {patch.status}"
        if patch.reason:
            text += f": {patch.reason}"
        self.say("info", text)
        self.journal.write(
            "patch", name=patch.name, status=patch.status, reason=patch.reason, **facts
        )

    def reopen(self, patch: PatchState) -> None:
        """Let a patch be decided on again, as the environment may have changed.

        Args:
            patch: a patch that has not failed; an applied one stays applied.
        """
        patch.former = (patch.status, patch.reason, patch.error)
        if patch.status == SKIPPED:
            patch.status = ARMED
        patch.is_decided = patch.status == APPLIED

    def reopen_skipped(self) -> None:
        """Reopen all skipped patches, in a forked child, which may change its environment."""
        for patch in self.patches.values():
            if patch.status == SKIPPED:
                self.reopen(patch)

    def after_fork(self) -> list[int]:
        """In a forked child, undo what other threads had begun: they do not exist here.

        Returns:
            The identities of the threads that had their turn at a group.
        """
        me = get_ident()
        gone = []
        for patch in self.patches.values():
            patch.verified = False  # `verify` is called in the child, too
            if patch.thread != me:
                patch.thread = None
            for group in patch.groups:
                if group.thread is not None and group.thread != me:
                    gone.append(group.thread)
                    group.take_back()
                    group.thread = None
                    group.loads = False
        return gone

    def restore(self, patch: PatchState) -> None:
        """Give a patch the status that it had before it was reopened.

        Args:
            patch: a patch that was reopened.
        """
        status, reason, patch.error = patch.former
        if (patch.status, patch.reason) != (status, reason):
            self.set(patch, status, reason)

    def say(self, level: str, text: str) -> None:
        """Write a line to stderr, unless its level is below that of the settings.

        Args:
            level: one of `patchkit.settings.LEVELS`.
            text: the line.
        """
        say(level, text, self.settings.log)

    def say_undo_errors(self, errors: Iterable[BaseException]) -> None:
        """Report the errors of undos that failed.

        Args:
            errors: the errors.
        """
        for error in errors:
            self.say("error", f"undo: {error}")

    # -- failures ---------------------------------------------------------------------------------

    def fail(self, patch: PatchState, error: BaseException, **facts: Any) -> None:
        """Mark a patch as failed, and report it.

        An ApplyError that names a patch is the failure of that one, and was reported already: it
        came up again as this patch's body was imported. Then this patch waits, and the error is
        raised once more.

        Args:
            patch: the patch.
            error: the exception.
            **facts: further fields of the journal entry.

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
        if not self._must_stop(patch):
            facts["tolerated"] = True
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
        """Raise if a required patch has failed, so that the process stops.

        Args:
            patches: the patches to check.
            roles: only patches of these roles count; None for all.

        Raises:
            ApplyError: one has failed, and failures stop the process; its cause is the failure.
        """
        counted_roles = None if roles is None else frozenset(roles)
        for patch in patches:
            if counted_roles is not None and counted_roles.isdisjoint(patch.row.roles):
                continue
            if patch.status == FAILED and self._must_stop(patch):
                ways = "PATCHKIT_ON_FAILURE=warn lets it continue"
                # Leaving out this patch does not help where all patches fail alike.
                if not isinstance(patch.error, (SettingsError, VersionError)):
                    ways += f"; PATCHKIT_DISABLE={patch.name} leaves the patch out"
                failure = _failure(patch)
                if not failure.endswith("?"):
                    failure += "."
                text = f"{failure} The process stops, as it would run half patched. {ways}."
                raise ApplyError(text, patch.name) from patch.error

    def _reason_to_fail(self) -> str | None:
        """Describe the failure for which the process may not exit with 0; None for no failure."""
        if not self.is_in_charge:
            return None
        for patch in list(self.patches.values()):
            if patch.status == FAILED and self._ends_badly(patch):
                return _failure(patch)
        return None

    def _ends_badly(self, patch: PatchState) -> bool:
        """Whether a failed patch sets the exit code; one of a block only raises in the block."""
        if patch.holders or not self._must_stop(patch):
            return False
        return not patch.row.roles.isdisjoint(self.roles)

    def _must_stop(self, patch: PatchState) -> bool:
        return patch.row.patch.required and self.settings.on_failure == "stop"


def _failure(patch: PatchState) -> str:
    """Describe the failure of a required patch, for messages."""
    # All patches fail alike: the one that is due first is not to blame.
    if isinstance(patch.error, (DependencyError, PatchNameError)):
        return f"no patch can be applied: {patch.error}"
    reason = patch.reason.removesuffix(".")
    return f"required patch {patch.name} ({patch.body}) failed: {reason}"
