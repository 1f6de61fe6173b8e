"""Facts of `patchkit check`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.check.findings import Finding, Report
    from patchkit.report.shapes import CheckFindingShape, ReportShape


def check_facts(report: Report) -> ReportShape:
    """Say everything that a check has found."""
    counts = Counter(str(one.severity) for one in report.findings)
    return {
        "releases": list(report.releases),
        "findings": [
            *(_finding(one, accepted=False) for one in report.findings),
            *(_finding(one, accepted=True) for one in report.accepted),
        ],
        "grid": {
            patch: {release: str(state) for release, state in row.items()}
            for patch, row in report.grid.items()
        },
        "summary": {
            "patches": report.patches,
            "releases": report.read,
            "unreadable": len(report.unreadable),
            "errors": counts["error"],
            "warnings": counts["warning"],
            "infos": counts["info"],
            "accepted": len(report.accepted),
        },
    }


def _finding(found: Finding, *, accepted: bool) -> CheckFindingShape:
    return {
        "code": found.code.code,
        "title": found.code.title,
        "severity": str(found.severity),
        "patch": found.patch,
        "target": found.target,
        "release": found.release,
        "message": found.message,
        "fix": found.fix,
        "file": found.file,
        "line": found.line,
        "details": list(found.details),
        "accepted": accepted,
    }
