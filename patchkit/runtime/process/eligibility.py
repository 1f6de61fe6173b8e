"""Decides whether a patch is for this process now, and says why it is not."""

from collections.abc import Callable, Collection, Iterable
from types import ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.declaration import SERVING, Change, Patch, Role, Row
from patchkit.core.rows.selection import Selection, check_names
from patchkit.errors import ApplyError, DriftError, PatchkitError, TargetError
from patchkit.runtime.drift import UNREADABLE
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ARMED,
    FAILED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    PatchStates,
    Placed,
)

YES = "yes"
NOT_YET = "not yet"
NO = "no"


class Eligibility(NamedTuple):
    """Whether a patch is for this process now, and if not, why.

    Args:
        answer: `YES`, `NOT_YET` or `NO`.
        reason: why it is not `YES`, as text; '' for `YES`.
    """

    answer: str
    reason: str = ""


_ELIGIBLE = Eligibility(YES)


def eligibility(
    patch: PatchState,
    roles: Collection[Role] | None = None,
    *,
    is_early: bool = False,
    reason_to_skip: Callable[[Row], str | None] | None = None,
) -> Eligibility:
    """Answer whether a patch is for a process now; nothing changes.

    The first rule that applies decides:

    1. No block needs it, it is not early, and none of its roles is among `roles`: not yet.
    2. It has failed, or was skipped: no.
    3. It is undecided, and `reason_to_skip` gives a reason: no.
    4. Otherwise: yes.

    Args:
        patch: the patch.
        roles: the roles of the process; None if roles do not count.
        is_early: the process has no role yet and may get any, so that roles do not count.
        reason_to_skip: returns why a row whose patch is undecided does not apply here: the
            environment, versions or the review. Without it, an undecided patch counts as fit.

    Returns:
        The answer, with the reason if it is not yes.

    Raises:
        VersionError: `reason_to_skip` cannot tell which version is here.
    """
    # `is_decided` is read before the status, as the thread that decides sets it after the status.
    is_decided = patch.is_decided
    is_for_roles = roles is None or not patch.row.roles.isdisjoint(roles)
    if not (is_for_roles or is_early or patch.holders > 0):
        names = ", ".join(sorted(patch.row.roles))
        return Eligibility(NOT_YET, f"waits for a process of role {names or '(none)'}")
    if patch.status in {FAILED, SKIPPED}:
        return Eligibility(NO, patch.reason)
    if reason_to_skip is not None and not is_decided:
        reason = reason_to_skip(patch.row)
        if reason is not None:
            return Eligibility(NO, reason)
    return _ELIGIBLE


def reason_to_skip(condition: Patch | Change, body: ModuleType) -> str | None:
    """Call the `when` function of a patch or change.

    Args:
        condition: the patch or change; it may have no `when`.
        body: the body, which defines the function.

    Returns:
        The reason to skip that it returns; None if it returns True, or there is none.

    Raises:
        TargetError: it returns neither a reason nor True.
    """
    if condition.when is None:
        return None
    return ask_body("when", condition.when, body, "the reason to skip", TargetError)


def divide_by_condition(
    changes: Iterable[Placed], body: ModuleType
) -> tuple[list[Placed], list[tuple[Change, str]]]:
    """Divide changes into those to make, and those that their `when` skips.

    Args:
        changes: the changes, with their indices in the row.
        body: the body, which defines the functions.

    Returns:
        The changes to make; and each other one, with the reason to skip it.
    """
    chosen: list[Placed] = []
    skipped: list[tuple[Change, str]] = []
    for index, change in changes:
        reason = reason_to_skip(change, body)
        if reason is None:
            chosen.append((index, change))
        else:
            skipped.append((change, reason))
    return chosen, skipped


def ask_body(
    field: str, name: str, body: ModuleType, reason: str, error: type[PatchkitError]
) -> str | None:
    """Call a function of a body that returns True or a reason why not.

    Args:
        field: the field of the row that names the function, `when` or `verify`.
        name: name of the function.
        body: the body.
        reason: for messages, what the function returns instead of True, such as "what is wrong".
        error: class of the exceptions.

    Returns:
        The reason that it returns; None for True.

    Raises:
        PatchkitError: it returns neither, or the body has no such function; of class `error`.
    """
    function = getattr(body, name, None)
    if not callable(function):
        raise error(f"{field}: body {body.__name__} has no function {name!r}")
    answer = function()
    if answer is True:
        return None
    if isinstance(answer, str) and answer:
        return answer
    found = f"{name}() of {body.__name__} returned {answer!r}"
    raise error(f"{field}: {found}, expected True or {reason}")


class EligibilityTable:
    """Says which patches and change groups are for this process; decides once on each patch.

    Args:
        states: the patches of this process; a decision may set their statuses.
        selection: decides by environment, versions and review which rows apply.
    """

    def __init__(self, states: PatchStates, selection: Selection) -> None:
        self.selection = selection
        self.awaits_role = False  # whether the process will get its role later
        self._states = states
        self._unreviewed: dict[str, dict[str, Any]] = {}  # by patch, its journal entry
        self._reported: set[str] = set()  # messages about a lock that cannot be read

    def of_group(self, group: ChangeGroup) -> Eligibility:
        """Answer whether a change group is for this process now, by its roles and its status.

        A module that is provided for all roles is served even before the role is known: a Ray
        worker process learns it from its actor's class, whose module may import that one.

        Args:
            group: the change group.

        Returns:
            What `eligibility` answers for its patch.
        """
        roles = self._states.roles
        is_early = False
        if self.awaits_role and not roles and group.moment == SERVING:
            is_early = group.patch.row.roles.issuperset(Role)
        return eligibility(group.patch, roles, is_early=is_early)

    def due(self, groups: Iterable[ChangeGroup]) -> list[ChangeGroup]:
        """Choose the change groups that do not wait for another role.

        Args:
            groups: any change groups.

        Returns:
            Those for which the answer is yes or no, in the same order.
        """
        return [group for group in groups if self.of_group(group).answer != NOT_YET]

    def changes_here(self, group: ChangeGroup) -> list[Placed]:
        """Choose the changes of a group that are for the versions here.

        Args:
            group: the change group.

        Returns:
            Those changes, with their indices in the row.
        """
        row = group.patch.row
        return [
            placed for placed in group.changes if self.selection.applies(placed[1], row)
        ]

    def has_changes_left(
        self, patch: PatchState, is_made: Callable[[ChangeGroup], bool]
    ) -> bool:
        """Tell whether a change of a patch that is for the versions here is still to be made.

        Args:
            patch: the patch.
            is_made: says of a change group whether it is made.

        Returns:
            Whether a change group that is not made has such a change.
        """
        waiting = [group for group in patch.groups if not is_made(group)]
        return any(self.changes_here(group) for group in waiting)

    def open_patches(self) -> list[PatchState]:
        """List the patches that are for this process now.

        Returns:
            The patches that are applied or may yet be, for a role of the process or a block.
        """
        roles = self._states.roles
        patches = list(self._states.patches.values())
        return [patch for patch in patches if eligibility(patch, roles).answer == YES]

    def unmet_here(self, *, versions: bool = True) -> dict[str, str]:
        """Find armed patches that do not apply here, such as those for a package not installed.

        Args:
            versions: Whether to read versions, too, which costs time at first.

        Returns:
            The reasons by the names of the patches; reasons that need upstream's sources are not
            looked for.
        """
        reason_here = self.selection.unmet_here
        if not versions:
            reason_here = self.selection.absent_here
        reasons: dict[str, str] = {}
        for patch in self.open_patches():
            if patch.status == ARMED:
                reason = reason_here(patch.row)
                if reason:
                    reasons[patch.name] = reason
        return reasons

    # -- the decision, once for each patch --------------------------------------------------------

    def decide(self, patch: PatchState) -> bool:
        """Decide whether a patch applies here; if environment or versions do not fit, skip it.

        Args:
            patch: the patch; if it is decided already, nothing is checked.

        Returns:
            Whether it is applied or may yet be.

        Raises:
            PatchkitError: the decision is not possible, or the patch conflicts with another, or is
                not reviewed.
        """
        if not patch.is_decided:
            check_names(self._states.settings, self._states.patches)
            reason = self.selection.reason_to_skip(patch.row)
            if reason is not None:
                self._states.set(patch, SKIPPED, reason)
                self._report_if_unreviewed(patch, reason)
            else:
                self._refuse_conflict(patch)
                self._review(patch)
            patch.is_decided = True  # last, as another thread may be reading it
        return eligibility(patch).answer == YES

    def decide_early(self, patch: PatchState) -> None:
        """Decide on a patch before it is due; an error becomes the patch's failure.

        Args:
            patch: the patch.

        Raises:
            ApplyError: the patch is required, and its failure stops the process.
        """
        try:
            self.decide(patch)
        except Exception as error:  # noqa: BLE001 - the patch's failure, like any other
            self._states.fail(patch, error)

    def decide_serving(self, roles: Collection[Role]) -> None:
        """Decide early on the patches that provide modules: their import cannot wait for that.

        Args:
            roles: only patches that have all of these roles are decided on.

        Raises:
            ApplyError: a required patch fails, and its failure stops the process.
        """
        for patch in list(self._states.patches.values()):
            serves = any(group.moment == SERVING for group in patch.groups)
            if serves and patch.row.roles.issuperset(roles):
                self.decide_early(patch)

    def _refuse_conflict(self, patch: PatchState) -> None:
        """Raise ApplyError if another patch, which is selected too, conflicts with this one."""
        for other in list(self._states.patches.values()):
            is_named = other.name in patch.row.patch.conflicts
            if not is_named and patch.name not in other.row.patch.conflicts:
                continue
            # In a block, only patches count that are applied, or of a block.
            if patch.holders:
                is_chosen = other.holders > 0 or other.status == APPLIED
            else:
                is_chosen = self.selection.reason_to_skip(other.row) is None
            if is_chosen:
                raise ApplyError(
                    f"it conflicts with {other.name}, which is selected too; leave one out "
                    "with PATCHKIT_DISABLE"
                )

    # -- review -----------------------------------------------------------------------------------

    def write_inherited_reports(self) -> None:
        """Write the reports of unreviewed patches again, into the journal of a forked child."""
        for facts in self._unreviewed.values():
            self._states.journal.write("unreviewed", **facts)

    def _review(self, patch: PatchState) -> None:
        """Raise or report it if targets of a patch differ from the reviewed ones in the lock."""
        difference = self.selection.unreviewed(patch.row)
        if not difference:
            return
        if self._states.settings.on_drift == "stop":
            raise DriftError(f"{difference}. PATCHKIT_ON_DRIFT=warn applies it anyway")
        self._report_unreviewed(patch, difference)

    def _report_if_unreviewed(self, patch: PatchState, reason: str) -> None:
        """Report a patch that was skipped for drift, if it is required or the lock unreadable."""
        if self._states.settings.on_drift != "skip":
            return
        is_by_drift = reason == self.selection.unreviewed(patch.row)
        if is_by_drift and (patch.row.patch.required or reason.startswith(UNREADABLE)):
            self._report_unreviewed(patch, reason)

    def _report_unreviewed(self, patch: PatchState, difference: str) -> None:
        """Report once, in the journal and on stderr, how a patch differs from its review."""
        if patch.name in self._unreviewed:
            return
        is_skipped = patch.status == SKIPPED
        is_unreadable = difference.startswith(UNREADABLE)
        facts = {
            "name": patch.name,
            "reason": difference,
            "finding": is_skipped or is_unreadable,  # whether `status` is to fail
        }
        self._unreviewed[patch.name] = facts
        self._states.journal.write("unreviewed", **facts)
        if not is_unreadable:
            self._warn_of_drift(patch, difference, is_skipped=is_skipped)
        # An unreadable lock concerns many patches, and is reported once.
        elif difference not in self._reported:
            self._reported.add(difference)
            effect = "; its patches are left out" if is_skipped else ""
            self._states.say("warning", difference + effect)

    def _warn_of_drift(
        self, patch: PatchState, difference: str, *, is_skipped: bool
    ) -> None:
        """Warn on stderr of a drift, with the commands that show and review it."""
        arguments = f"{patch.name} --here"
        # The commands have to be told of a pack that is named by a setting.
        if patch.row.pack in self._states.settings.packs:
            arguments += f" --patches {patch.row.pack}"
        hint = f"see 'patchkit diff {arguments}', then 'patchkit lock {arguments}'"
        effect = "required, and left out: " if is_skipped else ""
        self._states.say("warning", f"{patch.name}: {effect}{difference}; {hint}")
