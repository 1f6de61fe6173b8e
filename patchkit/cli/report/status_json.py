"""Writes the result of `patchkit status` as JSON; its keys are stable."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from patchkit.cli.report.as_json import Data, named, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.analysis.status import PatchStatus, Picture, ProcessStatus
    from patchkit.analysis.status.runs import Run


def status_json(picture: Picture) -> Iterator[str]:
    """Yield the result of `status` as JSON, in lines that are printed as they come.

    The processes come one by one: those of a fleet are too much text for memory.

    Args:
        picture: The processes, and the findings about them.
    """
    findings = [
        {
            "kind": finding.kind,
            **named(finding.process, "host", "pid"),
            "message": finding.message,
        }
        for finding in picture.findings
    ]
    others = to_json(
        {
            "agreement": picture.agreement,
            "findings": findings,
            "run": run_json(picture.run),
            **named(picture, "notes", "journals"),
        }
    )
    last = len(picture.processes)
    yield '{\n  "processes": [' if last else '{\n  "processes": [],'
    for number, process in enumerate(picture.processes, start=1):
        lines = indent(to_json(_process(process, picture.now)), "    ")
        yield lines if number == last else f"{lines},"
    if last:
        yield "  ],"
    yield others.removeprefix("{\n")


def run_json(run: Run | None) -> Data | None:
    """Return the facts about a `patchkit run`; None for none.

    Args:
        run: The run, if the journals are of a known one.
    """
    if run is None:
        return None
    return named(run, "number", "name", "started", "command", directory="folder")


def _process(process: ProcessStatus, now: float) -> Data:
    """Return a process with its patches; `now` is the time of the picture, for ages."""
    parent = None
    if process.parent:
        parent = named(process.parent, "host", "pid", "started")
    return {
        **named(process, "host", "pid", "ppid", "roles", "rank"),
        "patches": [_patch(process, patch, now) for patch in process.patches.values()],
        **named(process, "digest", "digests"),
        "verified": _age(process.verified, now),
        "observed": _age(process.observed, now),
        "parent": parent,
        **named(process, "name", "argv", "started", "alive", "imported"),
        **named(process, copy="is_copy", reached="is_reached", starting="is_starting"),
        "reason": process.reason or None,
    }


def _age(moment: float | None, now: float) -> float | None:
    """Return the age of a moment in seconds; None for no moment."""
    if moment is None:
        return None
    return round(max(0, now - moment), 1)


def _patch(process: ProcessStatus, patch: PatchStatus, now: float) -> Data:
    """Return a patch with its status in a process; `now` is the time of the picture, for ages."""
    status, reason = process.stand(patch)
    return {
        **named(patch, "name", "pack"),
        "status": status,
        "reason": reason or None,
        **named(patch, "in_effect", targets="calls"),
        "verify": _verify(patch, now),
        "body": _body(patch),
        "time": patch.time or None,
        **named(patch, "roles", "rebound", "out_of_reach", "untraced"),
        "layers": {target: process.layers.get(target, []) for target in patch.targets},
        "hidden": {  # in the form of the journal, which lists all patches of a target
            target: {patch.name: upper} for target, upper in patch.hidden.items()
        },
        "strangers": [stranger._asdict() for stranger in patch.strangers],
        "sets": {name: result._asdict() for name, result in patch.called.items()},
        **named(patch, "unreviewed", "left_out", "imported", "unpatched", "trace"),
    }


def _body(patch: PatchStatus) -> Data | None:
    """Return the body's file as it was loaded; None if the patch is not applied, or unknown."""
    if patch.body is None:
        return None
    return patch.body._asdict()


def _verify(patch: PatchStatus, now: float) -> Data | None:
    """Return the answer of the patch's `verify` function; None if it was not called."""
    if patch.answered is None:
        return None
    age = _age(patch.answered, now)
    return {"ok": not patch.answer, "reason": patch.answer, "age": age}
