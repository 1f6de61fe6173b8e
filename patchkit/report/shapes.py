"""
The data that commands hand to reports: the keys of `--format json`, as types.

They are the contract with programs that read them: keys may be added, none renamed.
"""

from __future__ import annotations

from typing import TypedDict


class VersionShape(TypedDict):
    """What is known of a distribution here; `version` is null where there is none."""

    version: str | None
    source: str | None


class ChangeShape(TypedDict):
    """One change of a patch."""

    kind: str
    target: str
    requires: list[str]
    when: str | None


class PatchShape(TypedDict):
    """
    One row, and whether it is for here; `reason` says why not.

    `when` is the function of its body that is asked once the row is due, and may say no.
    """

    name: str
    pack: str
    body: str | None
    roles: list[str]
    requires: list[str]
    changes: list[ChangeShape]
    selected: bool
    reason: str | None
    when: str | None
    why: str
    upstream: str
    sunset: str


class ListShape(TypedDict):
    """What `patchkit list` answers."""

    versions: dict[str, VersionShape]
    patches: list[PatchShape]


class StateShape(TypedDict):
    """
    What stands at a target here: `present`, `absent`, `no-module` or `undecided`.

    `defined` is where its definition is, after re-exports and inheritance: `module:qualname`, of
    which `file` and `line` are.
    """

    state: str
    file: str | None
    line: int | None
    detail: str
    defined: str | None


class ReviewSpanShape(TypedDict):
    """Releases in which a target had one source that was reviewed."""

    project: str
    first: str
    last: str
    fingerprint: str


class ReviewShape(TypedDict):
    """
    How a target here compares with what was reviewed; `detail` says what is the matter.

    `state` is `reviewed`, `drift`, `unreviewed`, `unknown`, `absent` or `no-lock`; `spans` are the
    releases that were reviewed.
    """

    state: str
    detail: str
    spans: list[ReviewSpanShape]


class FullChangeShape(ChangeShape):
    """
    One change with all its fields; `reason` says why it is not for here.

    `fields` are those of its kind: `old`, `new` and `count` of an Edit. What JSON does not know
    stands there as Python would write it. `review` is null where it depends on no source.
    """

    by: str
    fields: dict[str, str | int | float | bool | None]
    rebind: bool | list[str]
    selected: bool
    reason: str | None
    here: StateShape
    review: ReviewShape | None


class RequirementShape(TypedDict):
    """One requirement and what is found here; `reason` says why it does not hold."""

    requirement: str
    version: str | None
    source: str | None
    holds: bool
    reason: str | None


class ShowShape(TypedDict):
    """
    What `patchkit show` answers: the keys of `list`, and the rest of the row.

    `lock` is the file that says what was reviewed for it.
    """

    name: str
    pack: str
    body: str | None
    roles: list[str]
    requires: list[str]
    requirements: list[RequirementShape]
    changes: list[FullChangeShape]
    selected: bool
    reason: str | None
    why: str
    upstream: str
    sunset: str
    required: bool
    after: list[str]
    conflicts: list[str]
    env: str | None
    when: str | None
    data: list[str]
    lock: str | None


class CheckShape(TypedDict):
    """One line of `patchkit doctor`; `mark` is `ok`, `warn`, `bad`, or `note` for a plain fact."""

    topic: str
    mark: str
    subject: str
    message: str


class DoctorShape(TypedDict):
    """What `patchkit doctor` answers; `findings` counts what is `warn` or `bad`."""

    checks: list[CheckShape]
    findings: int


class BootstrapFileShape(TypedDict):
    """One file of the bootstrap; `state` is `absent`, `installed`, `outdated` or `foreign`."""

    file: str
    state: str


class BootstrapShape(TypedDict):
    """
    What `patchkit bootstrap status` answers.

    `state` is that of a file, or `incomplete`; `switch` is what PATCHKIT is set to; `patchkit` is
    where a process that the bootstrap arms finds it, or null.
    """

    folder: str
    state: str
    files: list[BootstrapFileShape]
    switch: str | None
    patchkit: str | None


class StrangerShape(TypedDict):
    """Somebody else's value on a patched target; the patch acts below it where it `wraps`."""

    target: str
    by: str
    wraps: bool


class PatchStatusShape(TypedDict):
    """
    How it stands with one patch in one process; `time` is null while nothing has happened.

    `rebound` and `out_of_reach` are copies of what it has changed; `untraced` says by target why
    nobody looked for them; `layers` names by target the patches on it, the innermost first.
    `unreviewed` says what it changes that is not as it was reviewed, '' where all is; `left_out`
    says by target why a change of it is not for this process.
    """

    name: str
    status: str
    reason: str | None
    time: float | None
    roles: list[str]
    rebound: list[str]
    out_of_reach: list[str]
    untraced: dict[str, str]
    layers: dict[str, list[str]]
    strangers: list[StrangerShape]
    unreviewed: str
    left_out: dict[str, str]


class ParentShape(TypedDict):
    """The process that another belongs to; `started` tells it from others with its pid."""

    host: str
    pid: int
    started: float


class ProcessShape(TypedDict):
    """
    One process of `patchkit status`.

    `name` is what its parent calls it, or its title; `alive` is null where that is not known;
    `copy` is a fork in which nothing has happened; `reason` says why it is not `reached`, which it
    may become while it is `starting`; `digests` are by role, `digest` is of them all; `verified`
    is how many seconds ago it looked at what it had applied, null where it never has.
    """

    host: str
    pid: int
    ppid: int
    roles: list[str]
    rank: int | None
    patches: list[PatchStatusShape]
    digest: str | None
    digests: dict[str, str]
    verified: float | None
    parent: ParentShape | None
    name: str
    argv: list[str]
    started: float
    alive: bool | None
    copy: bool
    reached: bool
    starting: bool
    reason: str | None


class FindingShape(TypedDict):
    """
    Something to look at in `patchkit status`.

    `kind` is failed, overwritten, not-reached, disagreement, unreadable, no-answer or empty; host
    and pid are null where it is not one process's.
    """

    kind: str
    host: str | None
    pid: int | None
    message: str


class StatusShape(TypedDict):
    """What `patchkit status` answers; `agreement` is by role, `journals` are the directories."""

    processes: list[ProcessShape]
    agreement: dict[str, bool]
    findings: list[FindingShape]
    notes: list[str]
    journals: list[str]


class StepShape(TypedDict):
    """
    A target in one release.

    `state` is present, absent or unreadable; `undecidable` says that the source does not tell, and
    `reason` why. `fingerprint` is of the place where it is, or has moved to; `changed` compares it
    with the last release that had it. `likeness` is that of the source there, from 0 to 1.
    """

    release: str
    state: str
    fingerprint: str | None
    changed: bool
    moved_to: str | None
    likeness: float | None
    undecidable: bool
    readable: bool
    reason: str


class HistoryShape(TypedDict):
    """What `patchkit history` answers."""

    target: str
    releases: list[StepShape]


class CheckFindingShape(TypedDict):
    """One finding of `patchkit check`; `details` is a list that belongs to it."""

    code: str
    title: str
    severity: str
    patch: str
    target: str
    release: str
    message: str
    fix: str
    file: str | None
    line: int | None
    details: list[str]
    accepted: bool


class ExplainShape(TypedDict):
    """One finding of `patchkit explain`; `text` is Markdown."""

    code: str
    title: str
    severity: str
    text: str


class ReportShape(TypedDict):
    """What `patchkit check` answers; a release that a patch has nothing to do with is not in it."""

    releases: list[str]
    findings: list[CheckFindingShape]
    grid: dict[str, dict[str, str]]
    summary: dict[str, int]


class SpanShape(TypedDict):
    """Releases in which a target has the same source."""

    patch: str
    target: str
    project: str
    first: str
    last: str
    fingerprint: str


class LockShape(TypedDict):
    """What `patchkit lock` answers: each lock in whole, and how it differs from the one before."""

    file: str
    files: list[str]
    changed: bool
    written: bool
    spans: list[SpanShape]
    diff: list[str]


class SideShape(TypedDict):
    """A target in one release of a comparison; `target` is where it is there."""

    release: str
    target: str
    state: str
    file: str
    line: int | None
    fingerprint: str | None


# `from` is no name that a class could have.
ComparisonShape = TypedDict(
    "ComparisonShape",
    {"target": str, "from": SideShape, "to": SideShape, "changed": bool, "diff": str},
)


DiffShape = TypedDict(
    "DiffShape", {"patch": str, "from": str, "to": str, "targets": list[ComparisonShape]}
)


class MatrixReleaseShape(TypedDict):
    """One release of a matrix, and what it exercises."""

    release: str
    cases: list[str]


class MatrixShape(TypedDict):
    """What `patchkit matrix` answers; `unreadable` are releases that were left out."""

    project: str
    releases: list[MatrixReleaseShape]
    unreadable: list[str]


class NewFileShape(TypedDict):
    """A file of a new patch: `what` it is for, `created` or `edited`, and the diff of an edit."""

    what: str
    file: str
    action: str
    text: str
    diff: list[str]


class NewStepShape(TypedDict):
    """What its author does next: `command` is null where it is no command."""

    command: str | None
    words: str


class NewShape(TypedDict):
    """What `patchkit new` answers; `refusal` says why the row is for its author to paste."""

    patch: str
    pack: str
    row: str
    refusal: str | None
    written: bool
    files: list[NewFileShape]
    next: list[NewStepShape]
