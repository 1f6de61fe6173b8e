"""What `show`, `doctor` and `new` tell: pages print it, `--format json` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from patchkit.review.lock_format import Span
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.versions.version import FoundVersion


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
    """
    What stands at a target here.

    Args:
        state: `present`, `absent`, `no-module` or `undecided`.
        file: of its definition, after re-exports and inheritance.
        line: in that file.
        detail: what it is, or why it is not there.
        defined: `module:qualname` of the definition.

    """

    state: str
    file: str | None
    line: int | None
    detail: str
    defined: str | None


class ReviewHere(NamedTuple):
    """
    How a target here compares with what was reviewed.

    Args:
        state: `reviewed`, `drift`, `unreviewed`, `unknown`, `absent` or `no-lock`.
        detail: what is the matter.
        spans: the releases that were reviewed.

    """

    state: str
    detail: str
    spans: Sequence[Span] = ()


class RequirementHere(NamedTuple):
    """A requirement, the version here, and why it does not hold; None where it does."""

    text: str
    version: FoundVersion | None
    reason: str | None


class ChangeHere(NamedTuple):
    """
    A change of a row.

    Args:
        change: as declared.
        fields: those that only its kind has, as JSON knows them or as Python would write them.
        reason: why it does not apply here; None where it does.
        target: what stands there.
        review: None where the change depends on no source.

    """

    change: Change
    fields: dict[str, str | int | float | bool | None]
    reason: str | None
    target: TargetHere
    review: ReviewHere | None


class RowHere(NamedTuple):
    """
    A row in full.

    Args:
        row: as declared.
        reason: why it does not apply here; None where it does.
        requirements: of the row.
        changes: of the row.
        lock: the file that says what was reviewed for it.

    """

    row: Row
    reason: str | None
    requirements: Sequence[RequirementHere]
    changes: Sequence[ChangeHere]
    lock: Path | None
