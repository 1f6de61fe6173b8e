"""Writes the results of commands as JSON, with a function for each command; keys are stable."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.declaration import AfterImport, Change, Role, Row
from patchkit.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from patchkit.analysis.check.breaking import Break
    from patchkit.analysis.check.comparison import Comparison, Side
    from patchkit.analysis.check.findings import Finding, Report
    from patchkit.analysis.check.history import HistoryEntry
    from patchkit.cli.report.here import ChangeHere, ReviewHere, RowHere
    from patchkit.core.lock.format import Lock
    from patchkit.core.rows.target import Target
    from patchkit.core.versions.requirements import FoundVersion

Data = dict[str, Any]
_VERSION = ("version", "source")
_SPAN = ("project", "first", "last", "fingerprint")


def to_json(data: Mapping[str, object]) -> str:
    """Return data as JSON: indented, in the order of its keys, and in ASCII for any pipe.

    Args:
        data: The data; sets become lists, and targets, paths and errors become strings.
    """
    return json.dumps(data, indent=2, default=_plain)


def _plain(value: object) -> object:
    """Return what stands for a value that JSON does not have: a list for a set, else a string."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    return str(value)


def named(item: object, *names: str, **renamed: str) -> Data:
    """Return attributes of an object as a dict.

    `named(release, "name", url="location")` has the keys `name` and `url`.

    Args:
        item: The object; for None, all values are None.
        *names: The names of attributes, which are their keys, too.
        **renamed: The names of other attributes, by their keys.
    """
    attributes = {**{name: name for name in names}, **renamed}
    if item is None:
        return dict.fromkeys(attributes)
    return {key: getattr(item, name) for key, name in attributes.items()}


def list_json(
    versions: Mapping[str, FoundVersion | None], rows: Iterable[tuple[Row, str | None]]
) -> str:
    """Return the result of `list` as JSON.

    Args:
        versions: The version of each project; None where it is not installed.
        rows: Each row, and the reason why it does not apply here; None where it does.
    """
    return to_json(
        {
            "versions": {
                name: named(version, *_VERSION) for name, version in versions.items()
            },
            "patches": [_row(row, reason) for row, reason in rows],
        }
    )


def show_json(row_here: RowHere) -> str:
    """Return the result of `show` as JSON.

    Args:
        row_here: The row, and its state in this environment.
    """
    patch = row_here.row.patch
    requirements = [
        {
            "requirement": requirement,
            **named(version, *_VERSION),
            "holds": reason is None,
            "reason": reason,
        }
        for requirement, version, reason in row_here.requirements
    ]
    return to_json(
        {
            **_row(row_here.row, row_here.reason),
            "requirements": requirements,
            "changes": [_change_here(change) for change in row_here.changes],
            **named(patch, "required", "after", "conflicts", "env", "verify", "data"),
            **named(row_here, "lock", "faults"),
        }
    )


def _row(row: Row, reason: str | None) -> Data:
    """Return a row, and the reason why it does not apply here; None where it does."""
    patch = row.patch
    body = None
    if patch.body is not None:
        body = row.body
    return {
        **named(row, "name", "pack"),
        "body": body,
        "roles": [str(role) for role in Role if role in row.roles],
        "requires": patch.requires,
        "changes": [_change(change) for change in patch.changes],
        "selected": reason is None,
        "reason": reason,
        **named(patch, "when", "why", "upstream", "sunset"),
    }


def _change(change: Change) -> Data:
    """Return what a row declares of a change, for `list` and `show`."""
    data: Data = {
        **named(change, "kind", target="place"),
        **named(change, "requires", "when"),
    }
    if isinstance(change, AfterImport):
        data["sets"] = list(change.sets)
    return data


def _change_here(change_here: ChangeHere) -> Data:
    """Return a change, and its state in this environment."""
    change = change_here.change
    return {
        **_change(change),
        "by": change.body_name,
        "fields": change_here.fields,
        "rebind": change.rebind,
        "selected": change_here.reason is None,
        "reason": change_here.reason,
        "here": change_here.target._asdict(),
        "review": _review(change_here.review),
        **_sets(change_here),
    }


def _sets(change_here: ChangeHere) -> Data:
    """Return the state of the targets that an AfterImport sets; nothing for other kinds."""
    if not isinstance(change_here.change, AfterImport):
        return {}
    sets_here = [
        {
            "target": str(part.change.place),
            "here": part.target._asdict(),
            "review": _review(part.review),
        }
        for part in change_here.sets
    ]
    return {"sets_here": sets_here}


def _review(review: ReviewHere | None) -> Data | None:
    """Return the review of a target; None for a change that is not reviewed."""
    if review is None:
        return None
    spans = [named(span, *_SPAN) for span in review.spans]
    return {**named(review, "state", "detail"), "spans": spans}


def check_json(report: Report) -> str:
    """Return the result of `check` as JSON.

    Args:
        report: The report of the check.
    """
    counts = Counter(str(finding.severity) for finding in report.findings)
    findings = [_finding(finding, accepted=False) for finding in report.in_order]
    findings += [_finding(finding, accepted=True) for finding in report.accepted]
    data = {
        "releases": list(report.releases),
        "files": report.files,
        "findings": findings,
        "grid": report.grid,
        "summary": {
            "patches": report.patches,
            "releases": report.read,
            "unreadable": len(report.unreadable),
            **{
                f"{severity}s": counts[severity]
                for severity in ("error", "warning", "info")
            },
            "accepted": len(report.accepted),
            "deselected": report.deselected,
        },
    }
    return to_json(data)


def _finding(finding: Finding, *, accepted: bool) -> Data:
    names = ("patch", "target", "release", "message", "fix", "file", "line", "details")
    return {**finding.code._asdict(), **named(finding, *names), "accepted": accepted}


def diff_json(
    name: str, first: str, last: str, comparisons: Iterable[Comparison]
) -> str:
    """Return the result of `diff` as JSON.

    Args:
        name: The name of the patch.
        first: The older release.
        last: The newer release.
        comparisons: The targets, each in both releases.
    """
    targets = [_comparison(comparison) for comparison in comparisons]
    return to_json({"patch": name, "from": first, "to": last, "targets": targets})


def _comparison(comparison: Comparison) -> Data:
    """Return a target in both releases, and how it differs, for `diff`."""
    return {
        "target": comparison.target,
        "from": _side(comparison.old),
        "to": _side(comparison.new),
        **named(comparison, "changed", "diff"),
    }


def _side(side: Side) -> Data:
    """Return a target as it is in one release."""
    facts = side.facts
    line = None
    if facts.lines:
        line = facts.lines[0]
    return {
        **named(side, "release", target="place"),
        **named(facts, "state", file="path"),
        "line": line,
        "fingerprint": facts.fingerprint,
    }


def history_json(target: Target, steps: Iterable[HistoryEntry]) -> str:
    """Return the result of `history` for a target, as JSON.

    Args:
        target: The target.
        steps: Its state in each release, the oldest first.
    """
    return to_json({"target": target, "releases": [_step(step) for step in steps]})


def _step(step: HistoryEntry) -> Data:
    """Return the state of a target in a release."""
    state = step.state
    if state == "undecidable":  # has a key of its own
        state = "absent"
    return {
        "release": step.release,
        "state": state,
        **named(step, "fingerprint", "changed", "moved_to", "likeness"),
        "undecidable": step.state == "undecidable",
        "readable": step.state != "unreadable",
        "reason": step.reason,
    }


def break_json(name: str, breaks: Mapping[str, Break]) -> str:
    """Return the result of `history` for a patch, as JSON.

    Args:
        name: The name of the patch.
        breaks: Where the patch broke, by `releases`, `nightlies` and `commits`.
    """
    ends = {}
    faults = set[tuple[str, str]]()
    for history, broke in breaks.items():
        holds, breaks_on = broke.ends
        ends[history] = {"holds": holds, "breaks": breaks_on}
        faults.update((fault.code.code, fault.message) for fault in broke.faults)
    listed = [{"code": code, "message": message} for code, message in sorted(faults)]
    return to_json({"patch": name, **ends, "faults": listed})


def lock_json(
    locks: Mapping[Path, tuple[Lock, Lock]], diff: list[str], *, written: bool
) -> str:
    """Return the result of `lock` as JSON.

    Args:
        locks: The lock before and after, by file.
        diff: The lines of the diff between them.
        written: Whether the files were written.
    """
    files = list(map(shown, locks))
    spans: list[Data] = []
    for _before, after in locks.values():
        spans += _spans(after)
    return to_json(
        {
            "file": "".join(files[:1]),  # the first one, or ''
            "files": files,
            "changed": any(old != new for old, new in locks.values()),
            "written": written,
            "spans": spans,
            "diff": diff,
        }
    )


def _spans(lock: Lock) -> Iterator[Data]:
    """Yield the spans of releases that a lock has for each target of each patch."""
    for patch, targets in sorted(lock.entries.items()):
        for target, spans in sorted(targets.items()):
            for span in spans:
                yield {"patch": patch, "target": target, **named(span, *_SPAN)}


def bisect_json(
    culprits: list[str], companions: list[str], runs: Sequence[object]
) -> str:
    """Return the result of `bisect` as JSON.

    Args:
        culprits: The patches that together make the command fail.
        companions: The patches that were applied with them, as the culprits need them.
        runs: The runs of the command.
    """
    # Lists of sets, so that the format has room for several; a search finds only one.
    return to_json({"culprits": [culprits], "beside": [companions], "runs": runs})
