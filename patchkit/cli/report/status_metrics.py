"""Writes the result of `patchkit status` as metrics, in the text format of Prometheus.

Processes that have ended count only in `patchkit_processes` and in the findings. Patches of
patchkit's own that do nothing here are left out, as in the table.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

import click

from patchkit import __version__
from patchkit.analysis.status.findings import KINDS
from patchkit.analysis.status.patches import STATUSES, idle_patches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prometheus_client.core import GaugeMetricFamily

    from patchkit.analysis.status import PatchStatus, Picture, ProcessStatus

_PROCESS = ("host", "pid", "role", "rank")
_PATCH = ("patch", "pack", "role")

_CONDITIONS = {
    "overwritten": "processes in which other code has taken the place of a patch",
    "drifted": "processes in which a target differs from what was reviewed",
    "never_called": "processes in which a patch is applied, and nothing of it was called",
}
"""What a patch may be in a process besides its status, as the name of a metric, and its help."""


class PictureCollector:
    """Collects the metrics of a picture anew at each scrape, for a registry of prometheus_client.

    Args:
        draw_now: Returns the picture of now.
    """

    def __init__(self, draw_now: Callable[[], Picture]) -> None:
        self._draw_now = draw_now
        self._turn = threading.Lock()  # each scrape has a thread of its own

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield all families of metrics; a registry calls this."""
        with self._turn:
            picture = self._draw_now()
        yield from families(picture)


def metrics_of(picture: Picture) -> str:
    """Return the metrics of a picture in the text format.

    Args:
        picture: The processes, and the findings about them.

    Raises:
        UsageError: prometheus_client is not installed.
    """
    require_client()
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra

    registry = CollectorRegistry(auto_describe=False)
    registry.register(PictureCollector(lambda: picture))
    text: str = generate_latest(registry).decode()
    return text


def require_client() -> None:
    """Raise a UsageError if prometheus_client is not installed."""
    try:
        import prometheus_client  # noqa: F401, PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise click.UsageError(
            "metrics need prometheus-client, which is not installed: "
            "pip install 'vllm-patchkit[metrics]'"
        ) from error


def families(picture: Picture) -> Iterator[GaugeMetricFamily]:
    """Yield the families of metrics of a picture.

    Args:
        picture: The processes, and the findings about them.
    """
    idle = idle_patches(picture.processes)
    running = [process for process in picture.processes if process.alive is not False]
    yield _family("info", "patchkit's version", ("version",), [((__version__,), 1)])
    yield _processes(picture.processes)
    yield _patches_by_process(running, idle)
    yield _processes_by_patch(running, idle)
    for condition, meaning in _CONDITIONS.items():
        yield _family(
            f"patch_{condition}", meaning, _PATCH, _having(condition, running, idle)
        )
    yield _family(
        "agreement",
        "whether the processes of a role have the same patches, 1 or 0",
        ("role",),
        [((role,), int(agrees)) for role, agrees in picture.agreement.items()],
    )
    yield _ages(running, picture.now)
    found = Counter(finding.kind for finding in picture.findings)
    yield _family(
        "findings",
        "what needs attention, as `patchkit status` lists it",
        ("kind",),
        [((kind,), found[kind]) for kind in KINDS],
    )


def _family(
    name: str,
    meaning: str,
    labels: Sequence[str],
    samples: Iterable[tuple[Sequence[str], float]],
) -> GaugeMetricFamily:
    """Return a family of gauges, `patchkit_NAME`, with the values of its labels.

    Two pods may have equal host names and pids, also one after a restart. Samples with equal labels
    are added, as a scrape may have each only once.
    """
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - an extra

    family = GaugeMetricFamily(f"patchkit_{name}", meaning, labels=labels)
    totals: dict[tuple[str, ...], float] = {}
    for values, number in samples:
        key = tuple(map(_proper, values))
        totals[key] = totals.get(key, 0) + number
    for key, total in totals.items():
        family.add_metric(key, total)
    return family


def _proper(text: str) -> str:
    """Return a text that UTF-8 can hold: a damaged journal may have others."""
    return text.encode(errors="backslashreplace").decode()


def _role(process: ProcessStatus) -> str:
    """Return the roles of a process as one label; '' before it has entered one."""
    return ",".join(sorted(process.roles))


def _labels(process: ProcessStatus) -> tuple[str, ...]:
    """Return the labels of a process, in the order of `_PROCESS`."""
    rank = "" if process.rank is None else str(process.rank)
    return process.host, str(process.pid), _role(process), rank


def _processes(processes: Iterable[ProcessStatus]) -> GaugeMetricFamily:
    """Count processes by role and by whether they run."""
    words = {True: "running", False: "ended", None: "unknown"}
    counts = Counter((_role(process), words[process.alive]) for process in processes)
    meaning = "processes that patchkit knows of"
    return _family("processes", meaning, ("role", "state"), sorted(counts.items()))


def _shown(process: ProcessStatus, idle: set[str]) -> list[PatchStatus]:
    """List the patches of a process that a table shows."""
    return [
        patch
        for name, patch in process.patches.items()
        if name not in idle and process.is_due(patch)
    ]


def _patches_by_process(
    processes: Iterable[ProcessStatus], idle: set[str]
) -> GaugeMetricFamily:
    """Count the patches of each process by status, those included that no patch has."""
    samples: list[tuple[Sequence[str], float]] = []
    for process in processes:
        counts: Counter[str] = Counter()
        for patch in _shown(process, idle):
            status, _reason = process.stand(patch)
            counts[status] += 1
        labels = _labels(process)
        samples += [((*labels, status), counts[status]) for status in STATUSES]
    meaning = "patches in a process, by status"
    return _family("patches", meaning, (*_PROCESS, "status"), samples)


def _processes_by_patch(
    processes: Iterable[ProcessStatus], idle: set[str]
) -> GaugeMetricFamily:
    """Count the processes of each role by the status that a patch has in them."""
    counts: Counter[tuple[str, ...]] = Counter()
    for process in processes:
        for patch in _shown(process, idle):
            status, _reason = process.stand(patch)
            counts[patch.name, patch.pack, _role(process), status] += 1
    meaning = "processes in which a patch has a status"
    return _family(
        "patch_processes", meaning, (*_PATCH, "status"), sorted(counts.items())
    )


def _having(
    condition: str, processes: Iterable[ProcessStatus], idle: set[str]
) -> list[tuple[tuple[str, ...], float]]:
    """Count, for each patch and role, the processes in which it is in a condition, also none."""
    counts: dict[tuple[str, ...], float] = {}
    for process in processes:
        for patch in _shown(process, idle):
            key = (patch.name, patch.pack, _role(process))
            counts[key] = counts.get(key, 0) + _is_in(condition, patch)
    return sorted(counts.items())


def _is_in(condition: str, patch: PatchStatus) -> bool:
    """Whether a patch is in one of `_CONDITIONS`."""
    if condition == "overwritten":
        return any(not stranger.wraps for stranger in patch.strangers)
    if condition == "drifted":
        return bool(patch.unreviewed)
    return patch.status == "applied" and patch.is_unused


def _ages(processes: Iterable[ProcessStatus], now: float) -> GaugeMetricFamily:
    """Return how long ago each process has last looked at what it had applied."""
    ages: dict[tuple[str, ...], float] = {}
    # Of two with equal labels, the later one counts: the other one may have been before a restart.
    for process in sorted(processes, key=lambda process: process.started):
        if process.verified is not None:
            ages[_labels(process)] = round(max(0.0, now - process.verified), 1)
    meaning = "seconds since a process has last looked at what it had applied"
    return _family("process_verified_age_seconds", meaning, _PROCESS, ages.items())
