"""What each command tells a program: one function a command; its keys are stable."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.declaration import Change, Role, Row
from patchkit.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from patchkit.analysis.check.breaking import Break
    from patchkit.analysis.check.comparison import Comparison, Side, Step
    from patchkit.analysis.check.findings import Finding, Report
    from patchkit.analysis.check.fit import Fit
    from patchkit.analysis.status import PatchStatus, Picture, ProcessStatus
    from patchkit.analysis.upstream.moves.whereabouts import Whereabouts
    from patchkit.authoring.scaffold.plan import Plan
    from patchkit.cli.report.here import ChangeHere, NextStep, RowHere
    from patchkit.core.lock.format import Lock
    from patchkit.core.rows.target import Target
    from patchkit.core.versions.requirements import FoundVersion

Data = dict[str, Any]
_VERSION = ("version", "source")
_SPAN = ("project", "first", "last", "fingerprint")


def to_json(data: Mapping[str, object]) -> str:
    """Write data as JSON: indented, in the order of its keys, and ASCII, which no pipe garbles."""
    return json.dumps(data, indent=2, default=_plain)


def _plain(value: object) -> object:
    """Make a list of a set; targets, paths and errors are written as their texts."""
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


def named(item: object, *names: str, **renamed: str) -> Data:
    """Take attributes by their names, and by others; of what is None, each is None."""
    keys = {**dict(zip(names, names, strict=True)), **renamed}
    return {key: None if item is None else getattr(item, name) for key, name in keys.items()}


def list_json(
    versions: Mapping[str, FoundVersion | None], listed: Iterable[tuple[Row, str | None]]
) -> str:
    """Write what `list` tells."""
    found = {name: named(version, *_VERSION) for name, version in versions.items()}
    return to_json({"versions": found, "patches": [_row(*each) for each in listed]})


def show_json(found: RowHere) -> str:
    """Write what `show` tells."""
    requirements = []
    for text, version, reason in found.requirements:
        holds = {"holds": reason is None, "reason": reason}
        requirements.append({"requirement": text, **named(version, *_VERSION), **holds})
    return to_json(
        {
            **_row(found.row, found.reason),
            "requirements": requirements,
            "changes": [_change_here(change) for change in found.changes],
            **named(found.row.patch, "required", "after", "conflicts", "env", "verify", "data"),
            "lock": found.lock,
        }
    )


def _row(row: Row, reason: str | None) -> Data:
    patch = row.patch
    return {
        **named(row, "name", "pack"),
        "body": row.body if patch.body is not None else None,
        "roles": [str(role) for role in Role if role in row.roles],
        "requires": patch.requires,
        "changes": [_change(change) for change in patch.changes],
        "selected": reason is None,
        "reason": reason,
        **named(patch, "when", "why", "upstream", "sunset"),
    }


def _change(change: Change) -> Data:
    return {**named(change, "kind", target="place"), **named(change, "requires", "when")}


def _change_here(found: ChangeHere) -> Data:
    change, review = found.change, found.review
    spans = [named(span, *_SPAN) for span in (review.spans if review else ())]
    return {
        **_change(change),
        "by": change.body_name,
        "fields": found.fields,
        "rebind": change.rebind,
        "selected": found.reason is None,
        "reason": found.reason,
        "here": found.target._asdict(),
        "review": {**named(review, "state", "detail"), "spans": spans} if review else None,
    }


def new_json(plan: Plan, steps: Iterable[NextStep], *, written: bool) -> str:
    """Write what `new` tells."""
    files = [
        {"what": file.what, "file": shown(file.path), **named(file, "action", "text", "diff")}
        for file in plan.files
    ]
    told = {"patch": plan.patch.name, "pack": plan.place.module, **named(plan, "row", "refusal")}
    following = [named(step, "command", "words") for step in steps]
    return to_json({**told, "written": written, "files": files, "next": following})


def check_json(report: Report) -> str:
    """Write what `check` tells."""
    counts = Counter(str(finding.severity) for finding in report.findings)
    findings = [_finding(finding, accepted=False) for finding in report.findings]
    findings += [_finding(finding, accepted=True) for finding in report.accepted]
    data = {
        "releases": list(report.releases),
        "findings": findings,
        "grid": report.grid,
        "summary": {
            "patches": report.patches,
            "releases": report.read,
            "unreadable": len(report.unreadable),
            **{f"{severity}s": counts[severity] for severity in ("error", "warning", "info")},
            "accepted": len(report.accepted),
        },
    }
    return to_json(data)


def fit_json(found: Fit) -> str:
    """Write what `fit` tells."""
    report = found.report
    uses: dict[object, Data] = {}
    for use in found.uses:
        told = {"name": use.target, **named(use, "how", "guarded"), "where": []}
        same = uses.setdefault((use.target, use.how, use.guarded), told)
        same["where"].append({"file": use.path, "line": use.line})
    releases = []
    for name in report.releases:
        is_read = name not in report.unreadable
        told = {"release": name, "fits": found.fits(name), "readable": is_read}
        releases.append({**told, "findings": [_unfit(*one) for one in found.unfit.get(name, ())]})
    fitting: Sequence[str | None] = found.fitting or [None]
    about = {**named(found, "package", "version"), "first": fitting[0], "last": fitting[-1]}
    return to_json({**about, "uses": list(uses.values()), "releases": releases})


def _unfit(finding: Finding, went: Whereabouts | None) -> Data:
    about = {"code": finding.code.code, **named(finding, "severity", name="target")}
    place = named(went, moved_to="place", likeness="likeness")
    return {**about, **place, **named(finding, "message", "file", "line", "details")}


def _finding(finding: Finding, *, accepted: bool) -> Data:
    names = ("patch", "target", "release", "message", "fix", "file", "line", "details")
    return {**finding.code._asdict(), **named(finding, *names), "accepted": accepted}


def diff_json(name: str, first: str, last: str, found: Iterable[Comparison]) -> str:
    """Write what `diff` tells."""
    targets = []
    for each in found:
        sides = {"from": _side(each.old), "to": _side(each.new)}
        targets.append({"target": each.target, **sides, **named(each, "changed", "diff")})
    return to_json({"patch": name, "from": first, "to": last, "targets": targets})


def _side(side: Side) -> Data:
    facts = side.facts
    about = {**named(side, "release", target="place"), **named(facts, "state", file="path")}
    line = facts.lines[0] if facts.lines else None
    return {**about, "line": line, "fingerprint": facts.fingerprint}


def history_json(target: Target, steps: Iterable[Step]) -> str:
    """Write what `history` tells."""
    return to_json({"target": target, "releases": [_step(step) for step in steps]})


def _step(step: Step) -> Data:
    return {
        "release": step.release,
        "state": "absent" if step.state == "undecidable" else step.state,
        **named(step, "fingerprint", "changed", "moved_to", "likeness"),
        "undecidable": step.state == "undecidable",
        "readable": step.state != "unreadable",
        "reason": step.reason,
    }


def break_json(name: str, found: Mapping[str, Break]) -> str:
    """Write where a patch broke: over `releases`, `nightlies` and `commits`, what was asked for."""
    ends = ("holds", "breaks")
    told = {key: dict(zip(ends, one.ends, strict=True)) for key, one in found.items()}
    faults = {(one.code.code, one.message) for each in found.values() for one in each.faults}
    listed = [{"code": code, "message": message} for code, message in sorted(faults)]
    return to_json({"patch": name, **told, "faults": listed})


def lock_json(locks: Mapping[Path, tuple[Lock, Lock]], diff: list[str], *, written: bool) -> str:
    """Write what `lock` tells of each lock as it was and as it is now."""
    files = [*map(shown, locks)]
    return to_json(
        {
            "file": files[0] if files else "",
            "files": files,
            "changed": any(old != new for old, new in locks.values()),
            "written": written,
            "spans": [
                {"patch": patch, "target": target, **named(span, *_SPAN)}
                for _, new in locks.values()
                for patch, targets in sorted(new.entries.items())
                for target, spans in sorted(targets.items())
                for span in spans
            ],
            "diff": diff,
        }
    )


def status_json(picture: Picture) -> str:
    """Write what `status` tells."""
    findings = [
        {"kind": kind, **named(process, "host", "pid"), "message": message}
        for kind, message, process in picture.findings
    ]
    processes = [_process(process, picture.now) for process in picture.processes]
    more = {"findings": findings, **named(picture, "notes", "journals")}
    return to_json({"processes": processes, "agreement": picture.agreement, **more})


def _process(process: ProcessStatus, now: float) -> Data:
    return {
        **named(process, "host", "pid", "ppid", "roles", "rank"),
        "patches": [_patch(process, patch, now) for patch in process.patches.values()],
        **named(process, "digest", "digests"),
        "verified": _age(process.verified, now),
        "observed": _age(process.observed, now),
        "parent": named(process.parent, "host", "pid", "started") if process.parent else None,
        **named(process, "name", "argv", "started", "alive"),
        **named(process, copy="is_copy", reached="is_reached", starting="is_starting"),
        "reason": process.reason or None,
    }


def _age(moment: float | None, now: float) -> float | None:
    return None if moment is None else round(max(0, now - moment), 1)


def _patch(process: ProcessStatus, patch: PatchStatus, now: float) -> Data:
    status, reason = process.stand(patch)
    asked = _age(patch.answered, now)
    answer = {"ok": not patch.answer, "reason": patch.answer, "age": asked}
    return {
        "name": patch.name,
        "status": status,
        "reason": reason or None,
        **named(patch, "in_effect", targets="calls"),
        "verify": None if asked is None else answer,
        "time": patch.time or None,
        **named(patch, "roles", "rebound", "out_of_reach", "untraced"),
        "layers": {target: process.layers.get(target, []) for target in patch.targets},
        "strangers": [stranger._asdict() for stranger in patch.strangers],
        **named(patch, "unreviewed", "left_out"),
    }


def bisect_json(culprits: list[str], beside: list[str], runs: Sequence[object]) -> str:
    """Write what `bisect` tells; the culprits come after those `beside` them."""
    return to_json({"culprits": [culprits], "beside": [beside], "runs": runs})
