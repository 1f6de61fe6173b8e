"""Facts of `patchkit diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.check.comparison import Comparison, Side
    from patchkit.report.shapes import ComparisonShape, DiffShape, SideShape


def diff_facts(patch: str, old: str, new: str, several: Sequence[Comparison]) -> DiffShape:
    """Say what upstream changed in a patch's targets from one release to another."""
    return {"patch": patch, "from": old, "to": new, "targets": [_compared(one) for one in several]}


def _compared(one: Comparison) -> ComparisonShape:
    return {
        "target": str(one.target),
        "from": _side(one.old),
        "to": _side(one.new),
        "changed": one.changed,
        "diff": one.diff,
    }


def _side(side: Side) -> SideShape:
    return {
        "release": side.release,
        "target": str(side.place),
        "state": side.facts.state,
        "file": side.facts.path,
        "line": side.facts.lines[0] if side.facts.lines else None,
        "fingerprint": side.facts.fingerprint,
    }
