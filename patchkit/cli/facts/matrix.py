"""Facts of `patchkit matrix`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.check.matrix import Cases
    from patchkit.check.subjects import Subject
    from patchkit.report.shapes import MatrixShape


def matrix_facts(
    subjects: Sequence[Subject], chosen: Sequence[int], cases: Cases, unreadable: Iterable[str]
) -> MatrixShape:
    """Say which releases a matrix should have, and what each exercises."""
    return {
        "project": subjects[0].project,
        "releases": [
            {
                "release": subjects[at].version,
                "cases": [name for name, places in cases.items() if at in places],
            }
            for at in chosen
        ],
        "unreadable": list(unreadable),
    }
