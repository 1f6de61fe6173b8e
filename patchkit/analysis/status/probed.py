"""Reads what the processes of `patchkit probe` have seen, and derives the roles of a row."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.status.entries import TargetProbe
from patchkit.analysis.status.journals import parse_journal
from patchkit.analysis.status.node import contents, read
from patchkit.analysis.status.process_status import ProcessStatus
from patchkit.core.rows.declaration import Role

CALLED = "called"
TRACED = "traced"
IMPORTED = "imported"
NEVER_IMPORTED = "never imported"
"""The evidence for the roles of a target, the strongest first."""

ANSWER = "probe.json"
"""The file in the folder of a run with the answer of `patchkit probe`."""

_UNREADABLE = "its counts cannot be read"


class ProbedProcess(NamedTuple):
    """What was seen of one target in one process.

    Args:
        process: The process.
        probe: What its journal says of the target.
        calls: How often the target was called; None if that is not known.
        reason: Why `calls` is not known; "" if it is.
    """

    process: ProcessStatus
    probe: TargetProbe
    calls: int | None
    reason: str

    @property
    def evidence(self) -> str:
        """The strongest evidence for the target in the process."""
        # A first call is known even if later ones could not be counted.
        if self.calls or self.probe.first is not None:
            return CALLED
        if self.probe.is_traced:
            return TRACED
        if self.probe.is_imported:
            return IMPORTED
        return NEVER_IMPORTED


@dataclass
class ProbedTarget:
    """What was seen of one target.

    Args:
        target: The target, as text.
        processes: What was seen of it in each process.
    """

    target: str
    processes: list[ProbedProcess]

    @property
    def evidence(self) -> str:
        """The strongest evidence for the target in any process."""
        evidence_seen = {process.evidence for process in self.processes}
        for evidence in (CALLED, TRACED, IMPORTED):
            if evidence in evidence_seen:
                return evidence
        return NEVER_IMPORTED

    @property
    def roles(self) -> list[str]:
        """The roles that a row needs: those of the processes with the strongest evidence.

        A target that torch.compile has traced counts as called.
        """
        decisive = {self.evidence}
        if self.evidence == NEVER_IMPORTED:  # which speaks for no role
            return []
        if self.evidence == CALLED:
            # A traced target runs too, though its calls are not counted.
            decisive.add(TRACED)
        roles: set[str] = set()
        for probed in self.processes:
            if probed.evidence in decisive:
                roles.update(probed.process.roles)
        return [str(role) for role in Role if str(role) in roles]  # in the usual order


@dataclass
class ProbeResult:
    """What was seen of all targets.

    Args:
        processes: The processes that were reached, the oldest first.
        targets: The targets, in the order in which they were named.
    """

    processes: list[ProcessStatus]
    targets: list[ProbedTarget]


def read_probe(directory: str, targets: Sequence[str], since: float) -> ProbeResult:
    """Read what the processes of a run have seen.

    Args:
        directory: The folder of their journals.
        targets: The targets that they observed, in the order of the command line.
        since: When the run began, in seconds since the epoch; older journals are ignored.

    Returns:
        The processes and the targets.
    """
    journals, _ = read(directory)
    counts: dict[ProcessStatus, tuple[int, ...] | None] = {}
    for name, data in journals.items():
        process = parse_journal(name, data)
        if process is not None and process.started >= since:
            file = Path(directory, name).with_suffix(".counts")  # beside the journal
            counts[process] = _read_counts(file, len(targets))
    processes = sorted(counts, key=lambda process: process.started)
    probed = [
        ProbedTarget(
            target,
            [_seen(process, target, index, counts[process]) for process in processes],
        )
        for index, target in enumerate(targets)
    ]
    return ProbeResult(processes, probed)


def _read_counts(file: Path, size: int) -> tuple[int, ...] | None:
    """Read how often a process has called each target; None if the file is missing or damaged.

    Args:
        file: The file, which has a 64-bit number for each target.
        size: The number of targets.
    """
    try:
        return struct.unpack(f"<{size}Q", contents(file))
    except (OSError, struct.error):
        return None


def _seen(
    process: ProcessStatus, target: str, index: int, counts: tuple[int, ...] | None
) -> ProbedProcess:
    """Combine what the journal and the counts of a process say of the target at an index.

    Args:
        process: The process.
        target: The target, as text.
        index: Its position on the command line, which is that of its count.
        counts: How often each target was called; None if that cannot be read.
    """
    probe = process.probed.get(target, TargetProbe())
    if not probe.is_imported:  # so nothing can have called it
        return ProbedProcess(process, probe, calls=0, reason="")
    if probe.reason:
        return ProbedProcess(process, probe, calls=None, reason=probe.reason)
    if counts is None:
        return ProbedProcess(process, probe, calls=None, reason=_UNREADABLE)
    return ProbedProcess(process, probe, calls=counts[index], reason="")
