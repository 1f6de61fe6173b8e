"""What `show`, `doctor` and `new` tell: pages print it, `--format json` writes it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.core.lock.format import Span
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.requirements import FoundVersion


class NextStep(NamedTuple):
    """What the author of a new patch does next.

    Args:
        words: What it is, for people.
        command: The command that does it; None where it is no command.
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
    """What stands at a target here.

    Args:
        state: present, absent, no-module or undecided.
        file: The file that defines it; None where that is not known.
        line: The line in the file; None where that is not known.
        detail: What else is to be said, for people.
        defined: Where it is defined, after re-exports and inheritance.
    """

    state: str
    file: str | None
    line: int | None
    detail: str
    defined: str | None = None


class ReviewHere(NamedTuple):
    """How a target here compares with what was reviewed.

    Args:
        state: reviewed, drift, unreviewed, unknown, absent or no-lock.
        detail: What differs, for people.
        spans: The spans of releases that were reviewed.
    """

    state: str
    detail: str
    spans: Sequence[Span] = ()


class ChangeHere(NamedTuple):
    """A change of a row, and how it stands here.

    Args:
        change: The change.
        fields: The fields that only this kind of change has, by name.
        reason: Why it does not apply here; None where it does.
        target: What stands at its target.
        review: How that compares with the review; None where nothing was reviewed.
    """

    change: Change
    fields: dict[str, str | int | float | bool | None]
    reason: str | None
    target: TargetHere
    review: ReviewHere | None


class RowHere(NamedTuple):
    """A row in full, and how it stands here.

    Args:
        row: The row.
        reason: Why it does not apply here; None where it does.
        requirements: Each requirement, the version found for it, and why it is not met; None where
            it is.
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
