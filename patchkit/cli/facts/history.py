"""Facts of `patchkit history`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.check.history import Step
    from patchkit.report.shapes import HistoryShape, StepShape
    from patchkit.rows.target import Target


def history_facts(target: Target, steps: Sequence[Step]) -> HistoryShape:
    """Say where a target was, release by release."""
    return {"target": str(target), "releases": [_step(one) for one in steps]}


def _step(step: Step) -> StepShape:
    return {
        "release": step.release,
        "state": "absent" if step.state == "undecidable" else step.state,
        "fingerprint": step.fingerprint,
        "changed": step.changed,
        "moved_to": str(step.moved_to) if step.moved_to else None,
        "likeness": step.likeness,
        "undecidable": step.state == "undecidable",
        "readable": step.state != "unreadable",
        "reason": step.reason,
    }
