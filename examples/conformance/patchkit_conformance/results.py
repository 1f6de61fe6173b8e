"""What a check found, and what a whole run comes to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PASSED = "passed"
FAILED = "failed"
NOT_RUN = "not run"


class ConformanceError(Exception):
    """The command line asks for what there is not, or nothing can be run here."""


class NotRun(Exception):  # noqa: N818 - an outcome of a check, not an error
    """A check does not apply to this machine or release; the message says why."""


class Failed(Exception):  # noqa: N818 - an outcome of a check
    """A check found a fault.

    Args:
        detail: one line.
        log: what a process said about it, '' where nothing did.
    """

    def __init__(self, detail: str, log: str = "") -> None:
        super().__init__(detail)
        self.log = log


@dataclass(frozen=True)
class Passed:
    """What a check that passed has to say beside its detail.

    Args:
        detail: one line.
        rows: names of the rows that it applied.
    """

    detail: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """The outcome of one check.

    Args:
        check: its id.
        result: `passed`, `failed` or `not run`.
        seconds: how long it took.
        detail: one line: what was seen, or the reason.
        log: the end of what the failing process wrote.
        rows: names of the rows that it applied.
    """

    check: str
    result: str
    seconds: float
    detail: str
    log: str = ""
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All that a run found.

    Args:
        versions: of what matters here, None for what is not installed.
        machine: `platform`, `devices`, `cpu`, `cores`, `python`, `system`.
        simulated: whether the NPUs are pretended.
        results: in the order in which the checks ran.
        simulation: the rows that only the simulated machine needs, `row` and `why`.
    """

    versions: Mapping[str, str | None]
    machine: Mapping[str, str | int]
    simulated: bool
    results: Sequence[Result]
    simulation: Sequence[Mapping[str, str]] = field(default_factory=tuple)

    @property
    def failed(self) -> list[Result]:
        """The results that failed."""
        return [one for one in self.results if one.result == FAILED]

    @property
    def status(self) -> int:
        """The exit code: 1 where a check failed."""
        return 1 if self.failed else 0

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)
