"""CPU time of `import patchkit.auto`, beyond that of a bare interpreter."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Case, Samples, cpu_of_child, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, has_module, write_pack
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

BARE = "bare interpreter"
WRAPT = "import wrapt"
METADATA = "import importlib.metadata"
_OWN = "import patchkit.auto, own rows only"
_ARM = "import patchkit.auto, {} rows more"
_JOURNAL = "import patchkit.auto, 60 rows more and a journal"
_ROWS = (60, 1000)
_ROOT = Path(__file__).resolve().parents[1]


def run(rounds: int = 30) -> Result:
    """Start processes in turns that differ in what they import."""
    with folder() as place:
        for rows in _ROWS:
            write_pack(place, f"sample_{rows}", rows)
        samples = in_turns(_cases(place), rounds).above(BARE)
    against = [WRAPT, METADATA] if WRAPT in samples.costs else [METADATA]
    return Result(
        name="start-up",
        title="Start-up: CPU time beyond a bare interpreter",
        unit="ms",
        rounds=rounds,
        against=against,
        lines=lines_of(samples, against, 1e3),
        aims=_aims(samples),
        notes=[]
        if WRAPT in samples.costs
        else ["wrapt is not installed here: nothing against it"],
    )


def _cases(place: Path) -> dict[str, Case]:
    cases = {BARE: _start("pass", place), METADATA: _start(METADATA, place)}
    if has_module("wrapt"):
        cases[WRAPT] = _start(WRAPT, place)
    cases[_OWN] = _start("import patchkit.auto", place)
    for rows in _ROWS:
        pack = {"PATCHKIT_PATCHES": f"sample_{rows}"}
        cases[_ARM.format(rows)] = _start("import patchkit.auto", place, pack)
    journal = {"PATCHKIT_PATCHES": "sample_60", "PATCHKIT_JOURNAL": f"{place}/journal"}
    cases[_JOURNAL] = _start("import patchkit.auto", place, journal)
    return cases


def _start(code: str, place: Path, more: Mapping[str, str] | None = None) -> Case:
    # Who compiles at every start measures that.
    away = {
        *VARIABLES,
        "PYTHONDONTWRITEBYTECODE",
    }
    kept = {name: text for name, text in os.environ.items() if name not in away}
    path = os.pathsep.join([str(place), str(_ROOT)])
    environ = {**kept, "PYTHONPATH": path, **(more or {})}
    return functools.partial(cpu_of_child, [sys.executable, "-c", code], environ)


def _aims(samples: Samples) -> list[Aim]:
    arm = _ARM.format(60)
    written = samples.ratio(_JOURNAL, arm).median
    aims = [Aim("a journal adds at most 15% to arming 60 rows", written, 1.15)]
    if WRAPT in samples.costs:
        found = samples.ratio(arm, WRAPT).median
        aims.append(
            Aim("arming 60 rows costs at most half of `import wrapt`", found, 0.5)
        )
    return aims
