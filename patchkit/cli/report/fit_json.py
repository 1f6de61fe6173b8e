"""Writes the result of `fit` as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.cli.report.as_json import Data, named, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.analysis.check.findings import Finding
    from patchkit.analysis.check.fit import Fit
    from patchkit.analysis.upstream.moves.whereabouts import MoveResult


def fit_json(fit: Fit) -> str:
    """Return the result of `fit` as JSON.

    Args:
        fit: The report, and the uses that do not fit.
    """
    # Without a release that fits, the first and the last one are null.
    fitting: Sequence[str | None] = fit.fitting or [None]
    return to_json(
        {
            **named(fit, "package", "version"),
            "names": fit.report.names,
            "first": fitting[0],
            "last": fitting[-1],
            "uses": _uses(fit),
            "unread": [
                {"file": file, "reason": reason} for file, reason in fit.unread.items()
            ],
            "set_nowhere": fit.set_nowhere,
            "releases": [
                _fit_of_release(fit, release) for release in fit.report.releases
            ],
        }
    )


def _uses(fit: Fit) -> list[Data]:
    """Return each use of a name once, with all lines that have it."""
    uses: dict[object, Data] = {}
    for use in fit.uses:
        key = (use.target, use.how, use.guarded)
        if key not in uses:
            uses[key] = {
                "name": use.target,
                **named(use, "how", "guarded"),
                "where": [],
            }
        uses[key]["where"].append({"file": use.path, "line": use.line})
    return list(uses.values())


def _fit_of_release(fit: Fit, release: str) -> Data:
    """Return whether the package fits a release, what does not fit, and what is not decided."""
    unfit = fit.unfit.get(release, ())
    return {
        "release": release,
        "fits": fit.fits(release),
        "readable": release not in fit.report.unreadable,
        "file": fit.report.files.get(release),
        "findings": [_unfit(finding, whereabouts) for finding, whereabouts in unfit],
        "undecided": [
            named(name, "reason", name="target")
            for name in fit.undecided.get(release, ())
        ],
    }


def _unfit(finding: Finding, whereabouts: MoveResult | None) -> Data:
    """Return a finding of `fit`, and where the name went; None if that is not known."""
    return {
        "code": finding.code.code,
        **named(finding, "severity", name="target"),
        **named(whereabouts, moved_to="place", likeness="likeness"),
        **named(finding, "message", "fix", "file", "line", "details"),
    }
