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
    """Return the states of these rows, with an empty journal."""
    return PatchStates(Schedule(rows).patches, Settings(**settings), Journal())


def test_a_status_goes_to_state_and_journal(capsys: pytest.CaptureFixture[str]) -> None:
    """A status is kept with its reason and written to the journal; stderr is quiet."""
    states = states_of(row())
    state = states.patches["a-patch"]
    states.set(state, SKIPPED, "no ray", module="m")
    assert (state.status, state.reason) == (SKIPPED, "no ray")
    entry = states.journal.entries[-1]
    expected = {
        "event": "patch",
        "name": "a-patch",
        "status": SKIPPED,
        "reason": "no ray",
        "module": "m",
    }
    assert entry.items() >= expected.items()
    assert capsys.readouterr().err == ""


def test_a_failure_of_a_required_patch_raises() -> None:
    """The error names patch, body, cause and both ways out, and has the cause as its own."""
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
def test_a_failure_that_need_not_stop_is_one_warning(
    fields: dict[str, Any], settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure of an optional patch, or with PATCHKIT_ON_FAILURE=warn, is one warning."""
    states = states_of(row(**fields), **settings)
    states.fail(states.patches["a-patch"], ValueError("broken"))
    states.stop_if_failed(states.patches.values())
    stderr = capsys.readouterr().err
    assert stderr.count("patch a-patch failed: ValueError: broken") == 1


def test_a_failure_stops_the_roles_of_its_patch_only() -> None:
    """`stop_if_failed` raises only where a failed patch is for one of the roles."""
    states = states_of(row())  # a row for main
    with pytest.raises(ApplyError):
        states.fail(states.patches["a-patch"], ValueError("broken"))
    states.stop_if_failed(states.patches.values(), (Role.WORKER,))
    with pytest.raises(ApplyError):
        states.stop_if_failed(states.patches.values(), (Role.MAIN, Role.WORKER))


def test_patches_that_have_not_failed_do_not_stop() -> None:
    """`stop_if_failed` does not raise for patches that are applied or armed."""
    states = states_of(row("one"), row("two"))
    states.set(states.patches["one"], APPLIED)
    states.stop_if_failed(states.patches.values())


def test_a_status_is_printed_with_info(capsys: pytest.CaptureFixture[str]) -> None:
    """With PATCHKIT_LOG=info, a change of status is printed on stderr."""
    states = states_of(row(), log="info")
    states.set(states.patches["a-patch"], APPLIED)
    assert capsys.readouterr().err.rstrip().endswith("info: a-patch: applied")


def test_undo_errors_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each error of an undo is one line on stderr."""
    states_of().say_undo_errors([ValueError("one"), ValueError("two")])
    assert len(capsys.readouterr().err.splitlines()) == 2
