"""Wall time of `patchkit status` over the journals of many workers."""

from __future__ import annotations

import functools
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import in_turns
from benchmarks.results import Aim, Result, lines_of
from patchkit.analysis.status.node import look
from patchkit.analysis.status.picture import draw

if TYPE_CHECKING:
    from collections.abc import Callable

_WORKERS = 1000
_ROWS = 60
_READ = "read the files"
_PARSE = "read them, parse each line as JSON"
_MERGE = "merge them into one picture"


def run(rounds: int = 10) -> Result:
    """Merge the journals of a main process, an engine core and 1,000 workers."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        place = Path(name)
        size = write_journals(place)
        cases: dict[str, Callable[[], object]] = {
            _READ: functools.partial(_read, place),
            _PARSE: functools.partial(_parse, place),
            _MERGE: functools.partial(_merge, place),
        }
        timed = {name: functools.partial(_wall, work) for name, work in cases.items()}
        samples = in_turns(timed, rounds)
    found = samples.spread(_MERGE, 1e3).median
    return Result(
        name="status",
        title=f"{_WORKERS:,} worker journals of {_ROWS} patches: wall time",
        unit="ms",
        rounds=rounds,
        against=[_PARSE],
        lines=lines_of(samples, [_PARSE], 1e3),
        aims=[
            Aim(
                f"{_WORKERS:,} worker journals are merged in under a second",
                found,
                1000.0,
            )
        ],
        notes=[
            f"{size / 1e6:.1f} MB; the time includes a look at every process that runs here"
        ],
    )


def write_journals(place: Path, workers: int = _WORKERS, host: str = "node") -> int:
    """Write what the processes of an engine would.

    Args:
        place: where to.
        workers: how many workers it has.
        host: the name of its node.

    Returns:
        How many bytes there are in the folder.
    """
    children = range(3, workers + 3)
    _write(place, 1, host=host, ppid=0, roles=["main"], children=[2])
    _write(place, 2, host=host, ppid=1, roles=["engine-core"], children=children)
    for pid in children:
        _write(place, pid, host=host, ppid=2, roles=["worker"])
    return sum(file.stat().st_size for file in place.iterdir())


def _write(
    place: Path,
    pid: int,
    *,
    host: str,
    ppid: int,
    roles: list[str],
    children: range | list[int] = range(0),
) -> None:
    names = [f"patch-number-{number}" for number in range(_ROWS)]
    facts = {
        "host": host,
        "ppid": ppid,
        "began": pid,
        "argv": ["serve.py"],
        "patches": names,
    }
    entries: list[dict[str, Any]] = [
        {"event": "armed", "roles": dict.fromkeys(names, roles), **facts},
        *({"event": "role", "role": role} for role in roles),
        *(
            {"event": "patch", "name": name, "status": "applied", "reason": ""}
            for name in names
        ),
        *(
            {"event": "digest", "role": role, "digest": "0123456789abcdef"}
            for role in roles
        ),
        *(
            {"event": "child", "child": one, "name": f"VllmWorker-{one}"}
            for one in children
        ),
    ]
    lines = [
        json.dumps({**entry, "time": 1.8e9 + pid, "pid": pid}) for entry in entries
    ]
    file = place / f"{host}-{pid}-{1_800_000_000_000_000_000 + pid}.jsonl"
    file.write_text("\n".join(lines) + "\n")


def _read(place: Path) -> list[bytes]:
    return [file.read_bytes() for file in place.iterdir()]


def _parse(place: Path) -> list[object]:
    return [json.loads(line) for data in _read(place) for line in data.splitlines()]


def _merge(place: Path) -> object:
    return draw([look(str(place))])


def _wall(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
