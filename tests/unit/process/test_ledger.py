from __future__ import annotations

from typing import Any

import pytest
from samples import row

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.process.journal import Journal
from patchkit.process.ledger import Ledger
from patchkit.process.plan import APPLIED, FAILED, SKIPPED, Plan
from patchkit.registry import Registry
from patchkit.settings import Settings


def ledger_of(*rows: Any, **settings: Any) -> Ledger:
    return Ledger(Plan(Registry(rows)).states, Settings(**settings), Journal())


def test_a_status_goes_to_state_and_journal(capsys: pytest.CaptureFixture[str]) -> None:
    """A change of status is remembered and written with what else is known; stderr is quiet."""
    ledger = ledger_of(row())
    state = ledger.states["a-patch"]
    ledger.set(state, SKIPPED, "no ray", module="m")
    assert (state.status, state.reason) == (SKIPPED, "no ray")
    entry = ledger.journal.entries[-1]
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
    ledger = ledger_of(row())
    cause = ValueError("broken")
    with pytest.raises(ApplyError) as caught:
        ledger.fail(ledger.states["a-patch"], cause)
    for word in (
        "a-patch",
        "pack.patch_a",
        "ValueError: broken",
        "PATCHKIT_ON_FAILURE=warn",
        "PATCHKIT_DISABLE=a-patch",
    ):
        assert word in str(caught.value)
    assert caught.value.__cause__ is cause
    assert ledger.states["a-patch"].status == FAILED
    assert ledger.journal.entries[-1]["reason"] == "ValueError: broken"


@pytest.mark.parametrize(
    ("fields", "settings"), [({"required": False}, {}), ({}, {"on_failure": "warn"})]
)
def test_a_failure_that_may_be_is_one_warning(
    fields: dict[str, Any], settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """An optional patch, or PATCHKIT_ON_FAILURE=warn: the process goes on, and it is said once."""
    ledger = ledger_of(row(**fields), **settings)
    ledger.fail(ledger.states["a-patch"], ValueError("broken"))
    ledger.stop_if_failed(ledger.states.values())
    assert capsys.readouterr().err.count("patch a-patch failed: ValueError: broken") == 1


def test_it_stops_for_rows_of_the_asked_roles_only() -> None:
    """A failure of a patch for another role is none of this role's business."""
    ledger = ledger_of(row())  # a row for main
    with pytest.raises(ApplyError):
        ledger.fail(ledger.states["a-patch"], ValueError("broken"))
    ledger.stop_if_failed(ledger.states.values(), (Role.WORKER,))
    with pytest.raises(ApplyError):
        ledger.stop_if_failed(ledger.states.values(), (Role.MAIN, Role.WORKER))


def test_what_is_applied_does_not_stop() -> None:
    """Only a failure does."""
    ledger = ledger_of(row("one"), row("two"))
    ledger.set(ledger.states["one"], APPLIED)
    ledger.stop_if_failed(ledger.states.values())


def test_info_is_heard_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """PATCHKIT_LOG=info tells every change of status."""
    ledger = ledger_of(row(), log="info")
    ledger.set(ledger.states["a-patch"], APPLIED)
    assert capsys.readouterr().err.rstrip().endswith("info: a-patch: applied")


def test_undo_errors_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    """What could not be taken back is an error on stderr, each one."""
    ledger_of().say_undo_errors([ValueError("one"), ValueError("two")])
    assert len(capsys.readouterr().err.splitlines()) == 2
