from __future__ import annotations

from typing import Any

import pytest
from support.samples import row

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.patch_state import APPLIED, FAILED, SKIPPED, PatchStates
from patchkit.runtime.process.schedule import Schedule
from patchkit.settings import Settings


def states_of(*rows: Any, **settings: Any) -> PatchStates:
    return PatchStates(Schedule(rows).patches, Settings(**settings), Journal())


def test_a_status_goes_to_state_and_journal(capsys: pytest.CaptureFixture[str]) -> None:
    """A change of status is remembered and written with what else is known; stderr is quiet."""
    states = states_of(row())
    state = states.patches["a-patch"]
    states.set(state, SKIPPED, "no ray", module="m")
    assert (state.status, state.reason) == (SKIPPED, "no ray")
    entry = states.journal.entries[-1]
    assert (
        entry.items()
        >= {
            "event": "patch",
            "name": "a-patch",
            "status": SKIPPED,
            "reason": "no ray",
            "module": "m",
        }.items()
    )
    assert capsys.readouterr().err == ""


def test_a_required_failure_stops() -> None:
    """The error names patch, body, cause and both ways out, and is raised from the cause."""
    states = states_of(row())
    cause = ValueError("broken")
    with pytest.raises(ApplyError) as caught:
        states.fail(states.patches["a-patch"], cause)
    for word in (
        "a-patch",
        "pack.patch_a",
        "ValueError: broken",
        "PATCHKIT_ON_FAILURE=warn",
        "PATCHKIT_DISABLE=a-patch",
    ):
        assert word in str(caught.value)
    assert caught.value.__cause__ is cause
    assert states.patches["a-patch"].status == FAILED
    assert states.journal.entries[-1]["reason"] == "ValueError: broken"


@pytest.mark.parametrize(
    ("fields", "settings"), [({"required": False}, {}), ({}, {"on_failure": "warn"})]
)
def test_a_failure_that_may_be_is_one_warning(
    fields: dict[str, Any], settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """An optional patch, or PATCHKIT_ON_FAILURE=warn: the process goes on, and it is said once."""
    states = states_of(row(**fields), **settings)
    states.fail(states.patches["a-patch"], ValueError("broken"))
    states.stop_if_failed(states.patches.values())
    assert (
        capsys.readouterr().err.count("patch a-patch failed: ValueError: broken") == 1
    )


def test_it_stops_for_rows_of_the_asked_roles_only() -> None:
    """A failure of a patch for another role is none of this role's business."""
    states = states_of(row())  # a row for main
    with pytest.raises(ApplyError):
        states.fail(states.patches["a-patch"], ValueError("broken"))
    states.stop_if_failed(states.patches.values(), (Role.WORKER,))
    with pytest.raises(ApplyError):
        states.stop_if_failed(states.patches.values(), (Role.MAIN, Role.WORKER))


def test_what_is_applied_does_not_stop() -> None:
    """Only a failure does."""
    states = states_of(row("one"), row("two"))
    states.set(states.patches["one"], APPLIED)
    states.stop_if_failed(states.patches.values())


def test_info_is_heard_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """PATCHKIT_LOG=info tells every change of status."""
    states = states_of(row(), log="info")
    states.set(states.patches["a-patch"], APPLIED)
    assert capsys.readouterr().err.rstrip().endswith("info: a-patch: applied")


def test_undo_errors_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    """What could not be taken back is an error on stderr, each one."""
    states_of().say_undo_errors([ValueError("one"), ValueError("two")])
    assert len(capsys.readouterr().err.splitlines()) == 2
