"""Wall time and memory of `patchkit status` over the journals of many nodes."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.status import write_journals
from patchkit.analysis.status.node import look
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_NODES = 256
_WORKERS = 8
_PARSE = "a process that parses each line as JSON"
_TABLE = "patchkit status"
_JSON = "patchkit status --format json"
_PAGE = "patchkit status --html FILE"
_RAY = "patchkit status --ray, simulated nodes"
_PARSER = """
import json, sys
from pathlib import Path
for file in Path(sys.argv[1]).iterdir():
    for line in file.read_bytes().splitlines():
        json.loads(line)
"""


class _Cost(NamedTuple):
    """What a process cost: seconds of wall time, and the most megabytes that it held."""

    seconds: float
    megabytes: float


def run(rounds: int = 5) -> Result:
    """Read the journals of 256 nodes, each with a main process, an engine core and 8 workers."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        place = Path(name) / "journals"
        place.mkdir()
        size = 0
        for number in range(_NODES):
            size = write_journals(place, _WORKERS, f"gpu-node-{number:03}")
        answers = Path(name) / "answers"
        answers.mkdir()
        for number in range(_NODES):
            _write_answer(answers, f"gpu-node-{number:03}")
        cluster = {
            "SIMULATED_RAY": str(answers),
            "PYTHONPATH": str(Path(__file__).with_name("simulated_ray")),
        }
        status = [sys.executable, "-m", "patchkit", "status", str(place)]
        commands = {
            _PARSE: [sys.executable, "-c", _PARSER, str(place)],
            _TABLE: status,
            _JSON: [*status, "--format", "json"],
            _PAGE: [*status, "--html", str(Path(name) / "page.html")],
        }
        cases: dict[str, Callable[[], _Cost]] = {
            case: functools.partial(_cost_of, command)
            for case, command in commands.items()
        }
        asked = [sys.executable, "-m", "patchkit", "status", "--ray", "auto"]
        cases[_RAY] = functools.partial(_cost_of, asked, cluster)
        timed = {
            case: functools.partial(_seconds, cost) for case, cost in cases.items()
        }
        samples = in_turns(timed, rounds)
        most = max(cost().megabytes for cost in cases.values())
    found = samples.spread(_TABLE).median
    found_by_ray = samples.spread(_RAY).median
    return Result(
        name="fleet",
        title=f"{_NODES * (_WORKERS + 2):,} journals of {_NODES} nodes: wall time",
        unit="s",
        rounds=rounds,
        against=[_PARSE],
        lines=lines_of(samples, [_PARSE], 1.0),
        aims=[
            Aim(f"{_NODES} nodes: seconds", found, 3.0),
            Aim(f"{_NODES} simulated nodes of Ray: seconds", found_by_ray, 3.0),
            Aim(f"{_NODES} nodes: megabytes of the largest process", most, 300.0),
        ],
        notes=[f"{size / 1e6:.1f} MB"],
    )


def _write_answer(answers: Path, host: str) -> None:
    """Write what the task on a node of Ray would return."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        write_journals(Path(name), _WORKERS, host)
        found = {**look(name), "host": host, "processes": None}
        (answers / host).write_bytes(pickle.dumps(found))


def _seconds(cost: Callable[[], _Cost]) -> float:
    return cost().seconds


def _cost_of(
    command: Sequence[str], variables: Mapping[str, str] | None = None
) -> _Cost:
    """Run a command that finds nothing wrong.

    Args:
        command: The command.
        variables: What its environment has beside that of this process.

    Raises:
        CalledProcessError: It found something, or failed.
    """
    environ = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    environ.update(variables or {})
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return _Cost(seconds, usage.ru_maxrss / 1024)
