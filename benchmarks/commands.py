"""CPU time of the commands that people type most, beyond that of a bare interpreter."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Case, cpu_of_child, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, write_pack
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

BARE = "bare interpreter"
FLOOR = "import click, rich.console, rich.table"
HELP = "patchkit --help"
LIST = "patchkit list, 60 rows"
_PACK = "sample_60"
_ROOT = Path(__file__).resolve().parents[1]


def run(rounds: int = 30) -> Result:
    """Start the commands in turns."""
    with folder() as place:
        write_pack(place, _PACK, 60)
        samples = in_turns(_cases(place), rounds).above(BARE)
    return Result(
        name="commands",
        title="Commands: CPU time beyond a bare interpreter",
        unit="ms",
        rounds=rounds,
        against=[FLOOR],
        lines=lines_of(samples, [FLOOR], 1e3),
        aims=[
            Aim("the help takes 80 ms at most", samples.spread(HELP, 1e3).median, 80),
            Aim("the list takes 150 ms at most", samples.spread(LIST, 1e3).median, 150),
        ],
    )


def _cases(place: Path) -> dict[str, Case]:
    command = ["-m", "patchkit"]
    return {
        BARE: _start(["-c", "pass"], place),
        FLOOR: _start(["-c", FLOOR], place),
        HELP: _start([*command, "--help"], place),
        "patchkit --version": _start([*command, "--version"], place),
        LIST: _start([*command, "list", "--patches", _PACK], place),
    }


def _start(arguments: Sequence[str], place: Path) -> Case:
    kept = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # or each start would compile
    path = os.pathsep.join([str(place), str(_ROOT)])
    environ = {**kept, "PYTHONPATH": path}
    return functools.partial(cpu_of_child, [sys.executable, *arguments], environ)
