"""What a check finds: faults of changes, findings, and the state of each patch in each release."""

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.upstream.facts import Facts
from patchkit.core.record import grouped
from patchkit.errors import UnreachableError, UpstreamError

Place = tuple[str, int | None]  # a file, and a line in it where one is told
REWRITE = "change the body, or narrow the range and add a change for the releases from here on"
RETIRE = "end the range before this release; the row can go once no other release needs it"
_OPEN = (codes.UNDECIDABLE, codes.NOT_COMPARED)
_SHOWN = 3


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
    """Something that a change runs into in one release."""

    code: codes.Code
    message: str  # what was found and what was expected
    fix: str
    by: str = ""  # the object of the body that it is about, '' where it is about the row

    @property
    def breaks(self) -> bool:
        """Whether the change fails at run time; an Edit does that is upstream by now."""
        if self.code is codes.MERGED_UPSTREAM:
            return not self.by
        return self.code not in (*_OPEN, codes.GUARDED_GONE)

    @property
    def state(self) -> State:
        """What it makes of the patch."""
        if self.breaks:
            return State.BROKEN
        return State.UNDECIDED if self.code in _OPEN else State.OK


def undecidable(reason: str) -> Fault:
    """Say that the source does not tell."""
    return Fault(codes.UNDECIDABLE, f"not decidable: {reason}", "look at it by hand")


def where(facts: Facts) -> str:
    """Name the file and line of a definition."""
    return f"{facts.path}:{facts.lines[0]}" if facts.path and facts.lines else facts.path or "there"


@dataclass(frozen=True)
class Finding:
    """One result."""

    code: codes.Code
    message: str  # what was found and what was expected, in one sentence
    fix: str = ""
    patch: str = ""  # '' where a pack or a release as a whole is meant
    target: str = ""  # '' where none is meant
    release: str = ""  # `vllm 0.32.0`; '' where it holds for every release
    file: str | None = None  # of the pack for what its author wrote, else of upstream
    line: int | None = None  # from 1
    details: Sequence[str] = ()  # such as the modules that import a target by name

    @property
    def severity(self) -> codes.Severity:
        """The code's."""
        return self.code.severity

    @property
    def names(self) -> list[str]:
        """What may stand in `accept` for it."""
        return [f"{self.code.code} {name}" for name in (self.target, self.patch) if name]


@dataclass(frozen=True)
class Report:
    """Everything that one check has found."""

    releases: Sequence[str]  # in order of version
    findings: Sequence[Finding] = ()  # in order of patch, target and release
    # Of each patch its state in the releases that can be read and that it has to do with.
    grid: Mapping[str, Mapping[str, State]] = field(default_factory=dict)
    accepted: Sequence[Finding] = ()  # by a person, one by one or by their code; none counts
    unreadable: Collection[str] = ()
    command: str = "check"  # which made it
    summary: str = ""  # what is told beside the findings; '' counts what was looked at

    def accepting(self, ignore: Collection[str], accept: Collection[str]) -> "Report":
        """Set aside what has an ignored code, or is accepted as `CODE TARGET` or `CODE PATCH`."""
        accepted, rest = list(self.accepted), list[Finding]()
        for one in self.findings:
            is_accepted = one.code.code in ignore or any(name in accept for name in one.names)
            (accepted if is_accepted else rest).append(one)
        return replace(self, findings=rest, accepted=accepted)

    @property
    def patches(self) -> int:
        """How many patches have to do with any of the releases."""
        return sum(map(bool, self.grid.values()))

    @property
    def out_of_range(self) -> list[str]:
        """Name the patches that are for none of the releases."""
        out = {State.OUT_OF_RANGE}
        return [name for name, row in self.grid.items() if row and out.issuperset(row.values())]

    @property
    def read(self) -> int:
        """How many releases were looked at."""
        return len(self.releases) - len(self.unreadable)

    @property
    def worst(self) -> Finding | None:
        """The first of the gravest findings."""
        gravity = list(codes.Severity).index
        return min(self.findings, key=lambda one: gravity(one.severity), default=None)

    @property
    def is_fine(self) -> bool:
        """Whether nothing has to be done."""
        return all(finding.severity == "info" for finding in self.findings)


def cause_of(error: UpstreamError) -> str:
    """Say why a release cannot be read: in the same words for all that one server keeps back."""
    cause = error.__cause__
    return f"{cause}; it is not in the cache" if isinstance(cause, UnreachableError) else str(error)


def unreadable(release: str, error: UpstreamError, fix: str, patch: str = "") -> Finding:
    """Say that a release cannot be read, and why."""
    return Finding(codes.RELEASE_UNREADABLE, cause_of(error), fix, patch, release=release)


def told_causes(faults: Mapping[str, UpstreamError]) -> Iterator[str]:
    """Name the releases that cannot be read, those of one cause together."""
    same = grouped((cause_of(error), name) for name, error in faults.items())
    for cause, names in same.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        # What is one release's alone names it.
        yield cause if len(names) == 1 else f"{', '.join(names[:_SHOWN])}{more}: {cause}"
