"""Facts of `patchkit lock`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.lock import Lock
    from patchkit.report.shapes import LockShape, SpanShape


def lock_facts(file: Path, old: Lock, new: Lock, *, written: bool) -> LockShape:
    """Say what is reviewed from now on, and what of that is new."""
    before, after = (lock.text().splitlines() if lock else [] for lock in (old, new))
    name = file.name
    diff = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
    return {
        "file": str(file),
        "changed": old != new,
        "written": written,
        "spans": _spans(new),
        "diff": list(diff),
    }


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
