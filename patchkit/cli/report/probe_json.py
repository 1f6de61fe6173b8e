"""Writes the result of `patchkit probe` as JSON; its keys are stable."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from patchkit.cli.report.as_json import Data, named, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.analysis.status.probed import (
        ProbedProcess,
        ProbedTarget,
        ProbeResult,
    )


def probe_json(result: ProbeResult, argv: Sequence[str], began: float) -> str:
    """Return the result of `probe` as JSON.

    Args:
        result: The processes and the targets.
        argv: The command that was run.
        began: When it was started, in seconds since the epoch.
    """
    moment = datetime.fromtimestamp(began, timezone.utc)
    return to_json(
        {
            "command": list(argv),
            "began": moment.isoformat(timespec="seconds"),
            "processes": [
                named(process, "host", "pid", "ppid", "roles", "argv")
                for process in result.processes
            ],
            "targets": [_target(target) for target in result.targets],
        }
    )


def _target(target: ProbedTarget) -> Data:
    """Return a target, with the processes of the run."""
    return {
        **named(target, "target", "roles", "evidence"),
        "processes": [_process(seen) for seen in target.processes],
    }


def _process(seen: ProbedProcess) -> Data:
    """Return what a process did with a target: whether it imported the module, and its calls."""
    first = None
    if seen.probe.first is not None:
        first = named(seen.probe.first, "file", "line", "at")
    return {
        **named(seen.process, "host", "pid", "roles"),
        "imported": seen.probe.is_imported,
        "calls": seen.calls,
        "traced": seen.probe.is_traced,
        "first": first,
        "reason": seen.reason or None,
    }
