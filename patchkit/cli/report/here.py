"""The results of `show`, `doctor` and `new`, for people and for JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.core.lock.format import Span
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.requirements import FoundVersion


class NextStep(NamedTuple):
    """A step that the author of a new patch takes next.

    Args:
        words: The step, in words.
        command: The command for it; None where there is none.
    """

    words: str
    command: str | None = None


class HealthLine(NamedTuple):
    """One line of `patchkit doctor`.

    Args:
        topic: The topic that the line stands under.
        mark: `ok`, `warn`, `bad`, or `note` for a plain fact.
        subject: What the line is about.
        message: What it says.
    """

    topic: str
    mark: str
    subject: str
    message: str


class TargetHere(NamedTuple):
    """A target in the installed packages.

    Args:
        state: present, absent, no-module or undecided.
        file: The file that defines it; None where that is not known.
        line: The line in the file; None where that is not known.
        detail: What it is, or why it is not there, for people.
        defined: The target of its definition, behind re-exports and inheritance.
    """

    state: str
    file: str | None
    line: int | None
    detail: str
    defined: str | None = None


class ReviewHere(NamedTuple):
    """The comparison of an installed target with its review.

    Args:
        state: reviewed, drift, unreviewed, unknown, absent or no-lock.
        detail: The difference, for people.
        spans: The spans of releases that were reviewed.
    """

    state: str
    detail: str
    spans: Sequence[Span] = ()


class ChangeHere(NamedTuple):
    """A change of a row, and its state in this environment.

    Args:
        change: The change.
        fields: The fields that only this kind of change has, by name.
        reason: Why it does not apply here; None where it does.
        target: Its target in the installed packages.
        review: The comparison of the target with its review; None for a change without review.
        sets: The same of each target that an AfterImport sets.
    """

    change: Change
    fields: dict[str, str | int | float | bool | None]
    reason: str | None
    target: TargetHere
    review: ReviewHere | None
    sets: "Sequence[ChangeHere]" = ()


class RowHere(NamedTuple):
    """A row in full, and its state in this environment.

    Args:
        row: The row.
        reason: Why it does not apply here; None where it does.
        requirements: Each requirement, the installed version, and why it is not met; None where it
            is.
        changes: Its changes.
        lock: The lock that covers it; None where there is none.
        faults: Why it cannot work anywhere, for people.
    """

    row: Row
    reason: str | None
    requirements: Sequence[tuple[str, FoundVersion | None, str | None]]
    changes: Sequence[ChangeHere]
    lock: Path | None
    faults: Sequence[str] = ()
