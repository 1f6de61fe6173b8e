"""CPU time of asking whether what is patched was reviewed: for each target, and of a start."""

from __future__ import annotations

import functools
import os
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Case, Spread, cpu_of, cpu_of_child, in_turns
from benchmarks.results import Aim, Line, Result, lines_of
from benchmarks.samples import folder, has_module
from benchmarks.vllm_start import ROWS, engine_methods, write_pack
from patchkit.core.lock.format import Lock, Span, write_lock
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError
from patchkit.registry import read_pack
from patchkit.runtime.drift import InstalledSource, RowDrift
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.analysis.upstream.facts import Facts

    Known = dict[Target, Facts]

_OWN = ("patchkit.platform", "patchkit.worker")
_LIMIT = 100.0
_ROOT = Path(__file__).resolve().parents[1]
_MISSING = ["vLLM is not installed here: nothing to measure"]
_AGAINST = "reading the file"
_READ = "{}: read the file"
_WORDING = "{}: compare the wording"
_PARSER = "{}: compare the fingerprint"
_ARMED = f"arm {ROWS} rows"
_NO_LOCK = "and ask of each, no lock"
_LOCK = "and ask of each, a lock"
_BARE = "and ask of each, a lock without wordings"
_ASK = """
from patchkit.runtime.reach.arming import current
for state in current().states.values():
    if state.row.pack == "sixty":
        assert not current()._table.selection.unreviewed(state.row)
"""


def run(rounds: int = 20) -> Result:
    """Ask of patchkit's own targets, and of others that are drawn from vLLM."""
    lines: list[Line] = []
    aims = []
    if has_module("vllm"):
        own = _known(
            one.place
            for pack in _OWN
            for row in read_pack(pack)
            for one in row.patch.changes
        )
        for name, known in {f"own {len(own)}": own, f"vLLM's {ROWS}": _drawn()}.items():
            lines += _lines(name, known, rounds)
        aims = [Aim(f"µs for one of vLLM's {ROWS}", lines[-2].cost.median, _LIMIT)]
    return Result(
        name="drift",
        title="Was it reviewed? CPU time for one target, files in the cache",
        unit="µs",
        rounds=rounds,
        against=[_AGAINST],
        lines=lines,
        aims=aims,
        notes=[] if lines else _MISSING,
    )


def run_start(rounds: int = 20) -> Result:
    """Start processes in turns that ask of every row, and have a lock or none."""
    lines: list[Line] = []
    if has_module("vllm"):
        with folder() as place:
            lines = lines_of(in_turns(_starts(place), rounds), [_NO_LOCK], 1e3)
    return Result(
        name="drift-start",
        title=f"Was it reviewed? CPU time of a process that asks for {ROWS} rows",
        unit="ms",
        rounds=rounds,
        against=[_NO_LOCK],
        lines=lines,
        notes=[] if lines else _MISSING,
    )


def _drawn() -> Known:
    found = _known(map(Target.parse, islice(engine_methods(), 2 * ROWS)))
    return dict(islice(found.items(), ROWS))


def _known(targets: Iterable[Target]) -> Known:
    """Look targets up, and leave out those that are not here or have no wording."""
    here, found = InstalledSource(), {}
    for target in dict.fromkeys(targets):
        try:
            facts = here.facts(target)
        except UpstreamError:
            continue
        if facts.wording:
            found[target] = facts
    return found


def _reviewed(known: Known, *, wordings: bool = True) -> dict[str, list[Span]]:
    found = {}
    for target, facts in known.items():
        assert facts.fingerprint
        written = (facts.wording,) if wordings and facts.wording else ()
        found[str(target)] = [Span(facts.fingerprint, "vllm", "1.0", "1.0", written)]
    return found


# -- one target ---------------------------------------------------------------------------------


def _lines(name: str, known: Known, rounds: int) -> Sequence[Line]:
    read = _READ.format(name)
    cases: dict[str, Case] = {
        read: lambda: cpu_of(lambda: _read(known)),
        _WORDING.format(name): _case(known, wordings=True),
        _PARSER.format(name): _case(known, wordings=False),
    }
    lines = lines_of(in_turns(cases, rounds), [read], 1e6 / len(known))
    return [Line(one.case, one.cost, _against(one)) for one in lines]


def _against(line: Line) -> dict[str, Spread]:
    """Name the column alike for both sets."""
    return dict(zip([_AGAINST], line.ratios.values(), strict=False))


def _read(known: Known) -> None:
    here = InstalledSource()
    for target in known:
        here.read(target.module)


def _case(known: Known, *, wordings: bool) -> Case:
    lock = Lock({"row": _reviewed(known, wordings=wordings)})

    def work() -> None:
        look = RowDrift("row", lock, InstalledSource())
        assert all(look.verdict(target).state == "reviewed" for target in known)

    return lambda: cpu_of(work)


# -- a start ------------------------------------------------------------------------------------


def _starts(place: Path) -> dict[str, Case]:
    known = _drawn()
    write_pack(place, map(str, known))
    locks = {}
    for wordings in (True, False):
        locks[wordings] = place / f"{wordings}.lock"
        spans = _reviewed(known, wordings=wordings).items()
        rows = {f"row-{number}": dict([one]) for number, one in enumerate(spans)}
        write_lock(locks[wordings], Lock(rows))
    arm = "import patchkit.auto\n"
    return {
        _ARMED: _start(arm, place),
        _NO_LOCK: _start(arm + _ASK, place),
        _LOCK: _start(arm + _ASK, place, PATCHKIT_LOCK=str(locks[True])),
        _BARE: _start(arm + _ASK, place, PATCHKIT_LOCK=str(locks[False])),
    }


def _start(code: str, place: Path, **more: str) -> Case:
    away = {*VARIABLES, "PYTHONDONTWRITEBYTECODE"}
    kept = {name: text for name, text in os.environ.items() if name not in away}
    own = {
        "PYTHONPATH": os.pathsep.join([str(place), str(_ROOT)]),
        "PATCHKIT_PATCHES": "sixty",
    }
    return functools.partial(
        cpu_of_child, [sys.executable, "-c", code], {**kept, **own, **more}
    )
