"""The table that says whether a patch is for this process now: each row of it, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.samples import row

from patchkit import Provide, Replace, Role
from patchkit.core.rows.declaration import SERVING, Row
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.errors import VersionError
from patchkit.runtime.process.eligibility import (
    NO,
    NOT_YET,
    YES,
    Eligibility,
    EligibilityTable,
    eligibility,
)
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.patch_state import (
    APPLIED,
    ARMED,
    FAILED,
    SKIPPED,
    PatchStates,
)
from patchkit.runtime.process.schedule import Schedule
from patchkit.settings import Settings

if TYPE_CHECKING:
    from patchkit.runtime.process.patch_state import PatchState

ELIGIBLE = Eligibility(YES)
WAITS = Eligibility(NOT_YET, "waits for a process of role worker")


def row_for(*roles: Role, **fields: Any) -> Row:
    """Return a row for these roles."""
    sample = row(**fields)
    return Row(sample.pack, sample.patch, frozenset(roles))


def patch_of(**facts: Any) -> PatchState:
    """Return the state of a patch for workers, with these attributes."""
    (patch,) = Schedule([row_for(Role.WORKER)]).patches.values()
    for name, value in facts.items():
        setattr(patch, name, value)
    return patch


def table_of(*rows: Row, **settings: Any) -> tuple[EligibilityTable, PatchStates]:
    """Return the table of these rows, and the states that it decides on."""
    states = PatchStates(Schedule(rows).patches, Settings(**settings), Journal())
    return EligibilityTable(
        states, Selection(states.settings, Versions({"up": "1.0"}))
    ), states


def refuse(_: Row) -> str:
    """Return a reason to skip any row."""
    return "up 1.0 is outside >=2"


def nobody_asks(_: Row) -> str | None:
    """Fail the test: the row must not be asked about."""
    raise AssertionError


def test_a_patch_waits_for_a_process_of_its_role() -> None:
    """A patch is not yet eligible where its role was not entered, as that may come later."""
    assert eligibility(patch_of(), {Role.MAIN}) == WAITS
    assert eligibility(patch_of(), ()) == WAITS
    assert eligibility(patch_of(), {Role.MAIN, Role.WORKER}) == ELIGIBLE


def test_a_block_has_a_patch_whatever_the_roles() -> None:
    """A patch that a block holds is eligible in every role."""
    assert eligibility(patch_of(holders=1), {Role.MAIN}) == ELIGIBLE


def test_a_process_that_may_get_any_role_has_a_patch_early() -> None:
    """A patch that has to be early is eligible before the process has a role."""
    assert eligibility(patch_of(), (), is_early=True) == ELIGIBLE


@pytest.mark.parametrize("status", [FAILED, SKIPPED])
def test_a_patch_that_failed_or_was_skipped_is_not_for_here(status: str) -> None:
    """A failed or skipped patch answers no with its reason, once its role is entered."""
    patch = patch_of(status=status, reason="no ray")
    assert eligibility(patch, {Role.WORKER}) == (NO, "no ray")
    assert eligibility(patch) == (NO, "no ray")
    assert eligibility(patch, {Role.MAIN}) == WAITS


def test_a_reason_to_skip_refuses_an_undecided_patch() -> None:
    """An undecided patch answers no with its reason to skip, and is eligible without one."""
    refused = (NO, "up 1.0 is outside >=2")
    assert eligibility(patch_of(), {Role.WORKER}, reason_to_skip=refuse) == refused
    assert (
        eligibility(patch_of(), {Role.WORKER}, reason_to_skip=lambda _: None)
        == ELIGIBLE
    )
    assert eligibility(patch_of(), {Role.WORKER}) == ELIGIBLE


def test_a_reason_to_skip_is_asked_of_undecided_patches_only() -> None:
    """A patch that waits for a role, has failed or is decided is not asked for one.

    To read versions makes a start slower, and may raise.
    """
    waiting, failed = patch_of(), patch_of(status=FAILED, reason="broken")
    decided = patch_of(is_decided=True)
    assert eligibility(waiting, {Role.MAIN}, reason_to_skip=nobody_asks) == WAITS
    assert eligibility(failed, reason_to_skip=nobody_asks) == (NO, "broken")
    assert eligibility(decided, reason_to_skip=nobody_asks) == ELIGIBLE


@pytest.mark.parametrize("status", [ARMED, APPLIED])
def test_an_armed_or_applied_patch_is_eligible(status: str) -> None:
    """A patch of an entered role is eligible, whether it is applied already or not."""
    assert eligibility(patch_of(status=status), {Role.WORKER}) == ELIGIBLE


def test_only_what_serves_a_module_of_every_role_is_early() -> None:
    """While the process waits for its first role, only the group that serves is eligible."""
    changes = (Provide("m"), Replace("n:f", by="f"))
    table, states = table_of(row_for(*Role, changes=changes))
    served, other = states.patches["a-patch"].groups
    assert served.moment == SERVING
    assert table.of_group(served).answer == NOT_YET
    table.awaits_role = True
    assert table.of_group(served) == ELIGIBLE
    assert table.of_group(other).answer == NOT_YET
    assert table.due([served, other]) == [served]
    states.roles.add(Role.MAIN)
    assert table.due([served, other]) == [served, other]


def test_a_decision_is_made_once() -> None:
    """A patch that was skipped stays skipped with its reason, and is not asked again."""
    table, states = table_of(row(requires=("up>=2",)))
    patch = states.patches["a-patch"]
    assert not table.decide(patch)
    assert (patch.status, patch.is_decided) == (SKIPPED, True)
    assert eligibility(patch, reason_to_skip=nobody_asks).reason == patch.reason


def test_a_version_that_cannot_be_read() -> None:
    """`decide` raises a VersionError, and the patch stays undecided."""
    states = PatchStates(
        Schedule([row(requires=("up>=2",))]).patches, Settings(), Journal()
    )
    table = EligibilityTable(
        states, Selection(states.settings, Versions({"up": "none"}))
    )
    (patch,) = states.patches.values()
    with pytest.raises(VersionError):
        table.decide(patch)
    assert not patch.is_decided
