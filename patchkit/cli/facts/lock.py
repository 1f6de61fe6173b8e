"""Facts of `patchkit lock`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from patchkit.text.row_lines import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from patchkit.report.shapes import LockShape, SpanShape
    from patchkit.review.lock_format import Lock


def lock_facts(found: Mapping[Path, tuple[Lock, Lock]], *, written: bool) -> LockShape:
    """
    Say what is reviewed from now on, and what of that is new.

    Args:
        found: for each file what was reviewed before, and what is from now on.
        written: whether that has been written down.

    """
    return {
        "file": next(map(shown, found), ""),
        "files": list(map(shown, found)),
        "changed": any(old != new for old, new in found.values()),
        "written": written,
        "spans": [span for _, new in found.values() for span in _spans(new)],
        "diff": [line for file, pair in found.items() for line in _diff(file, *pair)],
    }


def _diff(file: Path, old: Lock, new: Lock) -> Iterator[str]:
    before, after = (lock.text().splitlines() if lock else [] for lock in (old, new))
    name = shown(file).lstrip("/")
    return difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")


def _spans(lock: Lock) -> list[SpanShape]:
    return [
        {
            "patch": patch,
            "target": target,
            "project": span.project,
            "first": span.first,
            "last": span.last,
            "fingerprint": span.fingerprint,
        }
        for patch, targets in sorted(lock.entries.items())
        for target, spans in sorted(targets.items())
        for span in spans
    ]
