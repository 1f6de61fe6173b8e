"""What `show`, `doctor` and `new` tell: pages print it, `--format json` writes it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.core.lock.format import Span
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.requirements import FoundVersion


class NextStep(NamedTuple):
    """What the author of a new patch does next; `command` is None where it is no command."""

    words: str
    command: str | None = None


class HealthLine(NamedTuple):
    """One line of `patchkit doctor`; `mark` is `ok`, `warn`, `bad`, or `note` for a plain fact."""

    topic: str
    mark: str
    subject: str
    message: str


class TargetHere(NamedTuple):
    """What stands at a target here; where it is `defined` after re-exports and inheritance."""

    state: str  # present, absent, no-module or undecided
    file: str | None
    line: int | None
    detail: str
    defined: str | None = None


class ReviewHere(NamedTuple):
    """How a target here compares with the `spans` that were reviewed."""

    state: str  # reviewed, drift, unreviewed, unknown, absent or no-lock
    detail: str
    spans: Sequence[Span] = ()


class ChangeHere(NamedTuple):
    """A change of a row, and why it does not apply here; None where it does."""

    change: Change
    fields: dict[str, str | int | float | bool | None]  # that only its kind has
    reason: str | None
    target: TargetHere
    review: ReviewHere | None


class RowHere(NamedTuple):
    """A row in full, why it does not apply here, and the lock that covers it."""

    row: Row
    reason: str | None
    # Each with the version here, and why it does not hold; None where it does.
    requirements: Sequence[tuple[str, FoundVersion | None, str | None]]
    changes: Sequence[ChangeHere]
    lock: Path | None
