"""Defines what a check reports: faults of changes, findings, and the states of patches."""

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.upstream.facts import Facts
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Row
from patchkit.errors import UnreachableError, UpstreamError

Place = tuple[str, int | None]
"""A file, and a line in it if one is known."""
OR_END = "or end the range here and add a change for later releases"
REWRITE = f"change the body, {OR_END}"
"""The fix for a body that does not fit a release."""
RETIRE = "end the range before this release; delete the row once no release needs it"
"""The fix for a patch that upstream has by now."""
_UNDECIDED_CODES = (codes.UNDECIDABLE, codes.NOT_COMPARED)
_HARMLESS_CODES = (codes.GUARDED_GONE, codes.TYPE_CHANGED)
"""Codes of faults with which a change can be made."""
_SHOWN = 3
"""How many of the releases that cannot be read for one cause are named."""


class State(str, enum.Enum):
    """A patch in a release, the worst last."""

    OUT_OF_RANGE = "out-of-range"
    OK = "ok"
    UNREVIEWED = "unreviewed"
    UNDECIDED = "undecided"
    DRIFT = "drift"
    BROKEN = "broken"

    __str__ = str.__str__


class Fault(NamedTuple):
    """Something that is wrong with a change in one release, before it becomes a finding.

    Args:
        code: The code of the finding that it becomes.
        message: What was found and what was expected.
        fix: What to do.
        by: The object of the body that it is about; '' if it is about the row.
    """

    code: codes.Code
    message: str
    fix: str
    by: str = ""

    @property
    def breaks(self) -> bool:
        """Whether the change fails at run time."""
        if self.code is codes.MERGED_UPSTREAM:
            # Without a `by`, it is an Edit, which does not find its `old` any more. A Replace has a
            # `by`, and still works.
            return not self.by
        return self.code not in (*_UNDECIDED_CODES, *_HARMLESS_CODES)

    @property
    def state(self) -> State:
        """The state of the patch, if it has no other fault."""
        if self.breaks:
            return State.BROKEN
        if self.code in _UNDECIDED_CODES:
            return State.UNDECIDED
        return State.OK


def undecidable(reason: str) -> Fault:
    """Make the fault of a target of which the source does not tell what it is.

    Args:
        reason: Why it does not.

    Returns:
        The fault.
    """
    return Fault(codes.UNDECIDABLE, f"not decidable: {reason}", "check it by hand")


def where(facts: Facts) -> str:
    """Write where a definition is, for a message.

    Args:
        facts: The facts of its target.

    Returns:
        The file and the line, as far as they are known.
    """
    if not facts.path:
        return "in this release"
    if not facts.lines:
        return facts.path
    return f"{facts.path}:{facts.lines[0]}"


@dataclass(frozen=True)
class Finding:
    """One result of a check.

    Args:
        code: Which sort of finding it is.
        message: What was found and what was expected, in one sentence.
        fix: What to do.
        patch: The name of the patch; '' if it is about a pack or a release as a whole.
        target: The target; '' if it is about none.
        release: The release, such as `vllm 0.32.0`; '' if it holds for every release.
        file: The file of the pack for what its author wrote, else of upstream.
        line: The line in the file, from 1.
        details: Further places, such as the modules that import a target by name.
    """

    code: codes.Code
    message: str
    fix: str = ""
    patch: str = ""
    target: str = ""
    release: str = ""
    file: str | None = None
    line: int | None = None
    details: Sequence[str] = ()

    @property
    def severity(self) -> codes.Severity:
        """How bad it is, as its code says."""
        return self.code.severity

    @property
    def names(self) -> list[str]:
        """The entries of `accept` in the settings that accept it, such as `PK104 a:f`."""
        return [
            f"{self.code.code} {name}" for name in (self.target, self.patch) if name
        ]


def finding_of_row(
    code: codes.Code,
    message: str,
    fix: str,
    row: Row,
    row_place: Place,
    *,
    target: str = "",
    release: str = "",
) -> Finding:
    """Make a finding about a row.

    Args:
        code: Which sort of finding it is.
        message: What was found and what was expected.
        fix: What to do.
        row: The row.
        row_place: The file and line that the finding points to.
        target: The target; '' if it is about the row as a whole.
        release: The name of the release; '' if it holds for every release.

    Returns:
        The finding.
    """
    file, line = row_place
    return Finding(code, message, fix, row.name, target, release, file, line)


@dataclass(frozen=True)
class Report:
    """Everything that one check has found.

    Args:
        releases: The names of the releases, in order of version.
        findings: The findings, in the order in which they were found.
        grid: For each patch, its state in each readable release of a distribution that it changes.
        accepted: Findings that the settings accept, one by one or by their code.
        unreadable: The names of the releases that cannot be read.
        command: The command that made the report.
        names: How many names that a package uses were looked up; only `fit` counts them.
        undecided: By module, how many of these cannot be decided in some release.
        deselected: How many findings have a code that the command line does not select.
        files: The files of an index that releases were read from, by the names of the releases.
    """

    releases: Sequence[str]
    findings: Sequence[Finding] = ()
    grid: Mapping[str, Mapping[str, State]] = field(default_factory=dict)
    accepted: Sequence[Finding] = ()
    unreadable: Collection[str] = ()
    command: str = "check"
    names: int = 0
    undecided: Mapping[str, int] = field(default_factory=dict)
    deselected: int = 0
    files: Mapping[str, str] = field(default_factory=dict)

    def selecting(self, selection: codes.CodeSelection) -> "Report":
        """Leave out findings whose code is not selected, and count them.

        The grid stays: a broken patch is broken, whether or not its findings are reported.

        Args:
            selection: The codes to report.

        Returns:
            A report with the findings of these codes alone.
        """
        selected = [
            finding for finding in self.findings if selection.includes(finding.code)
        ]
        deselected = len(self.findings) - len(selected)
        return replace(self, findings=selected, deselected=deselected)

    def accepting(self, ignore: Sequence[str], accept: Collection[str]) -> "Report":
        """Move findings that the settings accept to `accepted`.

        Args:
            ignore: Codes, or prefixes of codes, of findings to accept.
            accept: Entries for single findings: `CODE TARGET` or `CODE PATCH`.

        Returns:
            The report with the other findings alone among its findings.
        """
        accepted = list(self.accepted)
        remaining = []
        ignored = codes.CodeSelection(ignore=ignore)
        for finding in self.findings:
            is_ignored = not ignored.includes(finding.code)
            if is_ignored or any(name in accept for name in finding.names):
                accepted.append(finding)
            else:
                remaining.append(finding)
        return replace(self, findings=remaining, accepted=accepted)

    @property
    def patches(self) -> int:
        """How many patches have a state in any of the releases."""
        return len([states for states in self.grid.values() if states])

    @property
    def out_of_range(self) -> list[str]:
        """The names of the patches whose range has none of the releases."""
        return [
            patch
            for patch, states in self.grid.items()
            if set(states.values()) == {State.OUT_OF_RANGE}
        ]

    @property
    def read(self) -> int:
        """How many releases could be read."""
        return len(self.releases) - len(self.unreadable)

    @property
    def in_order(self) -> list[Finding]:
        """The findings, sorted by severity, patch, target, code and release.

        The gravest and those about no patch come first; patches are in the order of the grid.
        """
        severities = list(codes.Severity)
        patches = _numbered(["", *self.grid])
        releases = _numbered(self.releases)

        def position(finding: Finding) -> tuple[int, int, str, str, int]:
            """Return the sort key of a finding."""
            return (
                severities.index(finding.severity),
                patches.get(finding.patch, len(patches)),  # last if not in the grid
                finding.target,
                finding.code.code,
                releases.get(finding.release, -1),  # first if about no single release
            )

        return sorted(self.findings, key=position)

    @property
    def worst(self) -> Finding | None:
        """The first of the gravest findings; None if there are none."""
        return next(iter(self.in_order), None)

    @property
    def is_fine(self) -> bool:
        """Whether no finding is an error or a warning."""
        return all(finding.severity == "info" for finding in self.findings)


def mark_errors(
    grid: Mapping[str, dict[str, State]], findings: Iterable[Finding]
) -> None:
    """Set the state `broken` in the grid for each patch and release that has an error.

    An error that is about no single release counts in each release of the patch's range.

    Args:
        grid: For each patch, its state in the releases; it is changed.
        findings: The findings.
    """
    for finding in findings:
        if finding.severity is not codes.Severity.ERROR or finding.patch not in grid:
            continue
        states = grid[finding.patch]
        if finding.release:
            states[finding.release] = State.BROKEN
            continue
        for name, state in states.items():
            if state is not State.OUT_OF_RANGE:
                states[name] = State.BROKEN


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Return the index of each name."""
    return {name: number for number, name in enumerate(names)}


def cause_of(error: UpstreamError) -> str:
    """Say why a release cannot be read.

    Args:
        error: What reading it raised.

    Returns:
        The message. If a server is unreachable, it names no release, so that it is the same for all
        releases of that server.
    """
    cause = error.__cause__
    if isinstance(cause, UnreachableError):
        return f"{cause}; it is not in the cache"
    return str(error)


def unreadable(
    release: str, error: UpstreamError, fix: str, patch: str = ""
) -> Finding:
    """Make the finding of a release that cannot be read.

    Args:
        release: The name of the release.
        error: What reading it raised.
        fix: What to do.
        patch: The name of a patch or a package, if the finding is only about that.

    Returns:
        The finding.
    """
    return Finding(
        codes.RELEASE_UNREADABLE, cause_of(error), fix, patch, release=release
    )


def unreadable_causes(faults: Mapping[str, UpstreamError]) -> Iterator[str]:
    """Say why releases cannot be read, in a line for each cause: `vllm 0.1, vllm 0.2: CAUSE`.

    Args:
        faults: What reading raised, by the name of the release.

    Yields:
        The lines. If a cause is that of a single release, it names the release itself.
    """
    names_by_cause = grouped((cause_of(error), name) for name, error in faults.items())
    for cause, names in names_by_cause.items():
        if len(names) == 1:
            yield cause
            continue
        listed = ", ".join(names[:_SHOWN])
        if len(names) > _SHOWN:
            listed += f" and {len(names) - _SHOWN} more"
        yield f"{listed}: {cause}"
