"""Facts of `patchkit status`: the picture of all processes as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.status.picture import draw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchkit.report.shapes import (
        FindingShape,
        ParentShape,
        PatchStatusShape,
        ProcessShape,
        StatusShape,
    )
    from patchkit.status.journals import PatchStatus, ProcessStatus
    from patchkit.status.picture import Finding


def status_facts(looks: Sequence[Mapping[str, Any]]) -> StatusShape:
    """
    Say what is applied in every process, and what there is to look at.

    Args:
        looks: what `node.look` has returned on each node.

    """
    picture = draw(looks)
    places = [look["directory"] for look in looks if look.get("directory")]
    findings = [_finding(finding) for finding in picture.findings]
    if not picture.processes and not findings:
        findings = [_empty(places)]
    return {
        "processes": [_process(one, picture.now) for one in picture.processes],
        "agreement": picture.agreement,
        "findings": findings,
        "notes": picture.notes,
        "journals": list(dict.fromkeys(places)),
    }


def _empty(places: Sequence[str]) -> FindingShape:
    where = ", ".join(dict.fromkeys(places))
    message = f"no process has written a journal in {where}: nothing is patched there"
    return {"kind": "empty", "host": None, "pid": None, "message": message}


def _process(one: ProcessStatus, now: float) -> ProcessShape:
    return {
        "host": one.host,
        "pid": one.pid,
        "ppid": one.ppid,
        "roles": one.roles,
        "rank": one.rank,
        "patches": [_patch(one, patch) for patch in one.patches.values()],
        "digest": one.digest,
        "digests": one.digests,
        "verified": None if one.verified is None else round(max(0, now - one.verified), 1),
        "parent": _parent(one.parent),
        "name": one.name,
        "argv": one.argv,
        "started": one.started,
        "alive": one.alive,
        "copy": one.is_copy,
        "reached": one.is_reached,
        "starting": one.is_starting,
        "reason": one.reason or None,
    }


def _parent(parent: ProcessStatus | None) -> ParentShape | None:
    if parent is None:
        return None
    return {"host": parent.host, "pid": parent.pid, "started": parent.started}


def _patch(one: ProcessStatus, patch: PatchStatus) -> PatchStatusShape:
    status, reason = one.stand(patch)
    return {
        "name": patch.name,
        "status": status,
        "reason": reason or None,
        "time": patch.time or None,
        "roles": list(patch.roles),
        "rebound": patch.rebound,
        "out_of_reach": patch.out_of_reach,
        "untraced": patch.untraced,
        "layers": {target: one.layers.get(target, []) for target in patch.targets},
        "strangers": [
            {"target": other.target, "by": other.by, "wraps": other.wraps}
            for other in patch.strangers
        ],
        "unreviewed": patch.unreviewed,
        "left_out": patch.left_out,
    }


def _finding(finding: Finding) -> FindingShape:
    one = finding.process
    return {
        "kind": finding.kind,
        "host": one.host if one else None,
        "pid": one.pid if one else None,
        "message": finding.message,
    }
