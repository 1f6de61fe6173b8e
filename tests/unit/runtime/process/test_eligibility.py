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
    awaits_when,
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
    """A row for these roles."""
    sample = row(**fields)
    return Row(sample.pack, sample.patch, frozenset(roles))


def patch_of(**facts: Any) -> PatchState:
    """A patch for workers, and how it stands."""
    (patch,) = Schedule([row_for(Role.WORKER)]).patches.values()
    for name, value in facts.items():
        setattr(patch, name, value)
    return patch


def table_of(*rows: Row, **settings: Any) -> tuple[EligibilityTable, PatchStates]:
    states = PatchStates(Schedule(rows).patches, Settings(**settings), Journal())
    return EligibilityTable(
        states, Selection(states.settings, Versions({"up": "1.0"}))
    ), states


def refuse(_: Row) -> str:
    return "up 1.0 is outside >=2"


def nobody_asks(_: Row) -> str | None:
    raise AssertionError


def test_a_patch_waits_for_a_process_of_its_role() -> None:
    """Not yet: a role may be entered later, so that the patch is neither skipped nor failed."""
    assert eligibility(patch_of(), {Role.MAIN}) == WAITS
    assert eligibility(patch_of(), ()) == WAITS
    assert eligibility(patch_of(), {Role.MAIN, Role.WORKER}) == ELIGIBLE


def test_a_block_has_a_patch_whatever_the_roles() -> None:
    """It asks for the patch by name."""
    assert eligibility(patch_of(holders=1), {Role.MAIN}) == ELIGIBLE


def test_a_process_that_may_get_any_role_has_a_patch_early() -> None:
    """A module of every role may be asked for before the role is known."""
    assert eligibility(patch_of(), (), is_early=True) == ELIGIBLE


@pytest.mark.parametrize("status", [FAILED, SKIPPED])
def test_a_patch_that_failed_or_was_skipped_is_not_for_here(status: str) -> None:
    """No, with the reason that it has; once its role is entered."""
    patch = patch_of(status=status, reason="no ray")
    assert eligibility(patch, {Role.WORKER}) == (NO, "no ray")
    assert eligibility(patch) == (NO, "no ray")
    assert eligibility(patch, {Role.MAIN}) == WAITS


def test_an_undecided_patch_is_asked_for_where_somebody_asks() -> None:
    """The environment, versions and the review say no, unless nobody asks them."""
    refused = (NO, "up 1.0 is outside >=2")
    assert eligibility(patch_of(), {Role.WORKER}, reason_to_skip=refuse) == refused
    assert (
        eligibility(patch_of(), {Role.WORKER}, reason_to_skip=lambda _: None)
        == ELIGIBLE
    )
    assert eligibility(patch_of(), {Role.WORKER}) == ELIGIBLE


def test_nobody_asks_of_a_patch_that_is_answered_already() -> None:
    """One that waits for a role, has failed or is decided: versions cost a start, and may raise."""
    waiting, failed = patch_of(), patch_of(status=FAILED, reason="broken")
    decided = patch_of(is_decided=True)
    assert eligibility(waiting, {Role.MAIN}, reason_to_skip=nobody_asks) == WAITS
    assert eligibility(failed, reason_to_skip=nobody_asks) == (NO, "broken")
    assert eligibility(decided, reason_to_skip=nobody_asks) == ELIGIBLE


@pytest.mark.parametrize("status", [ARMED, APPLIED])
def test_all_else_is_for_here(status: str) -> None:
    """Yes, applied or not."""
    assert eligibility(patch_of(status=status), {Role.WORKER}) == ELIGIBLE


def test_only_what_serves_a_module_of_every_role_is_early() -> None:
    """And only as long as the process waits for its first role."""
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
    """What is skipped stays so, whatever versions say later."""
    table, states = table_of(row(requires=("up>=2",)))
    patch = states.patches["a-patch"]
    assert not table.is_selected(patch)
    assert not table.decide(patch)
    assert (patch.status, patch.is_decided) == (SKIPPED, True)
    assert eligibility(patch, reason_to_skip=nobody_asks).reason == patch.reason


def test_versions_that_nobody_can_tell() -> None:
    """An error is no answer: the patch stays undecided."""
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


def test_a_when_is_open_until_the_body_is_asked() -> None:
    """It is asked with the first change group that is made."""
    (patch,) = Schedule([row(when="here")]).patches.values()
    assert awaits_when(patch)
    assert not awaits_when(patch_of())
    patch.groups[0].applied_to = (1, 1)
    assert not awaits_when(patch)
