"""CPU time that the bootstrap costs a Python that does not ask for it: PATCHKIT is not set."""

from __future__ import annotations

import functools
import os
import tempfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Case, cpu_of_child, in_turns
from benchmarks.results import Aim, Result, lines_of
from patchkit.runtime.bootstrap.install import install

if TYPE_CHECKING:
    from collections.abc import Callable

BARE = "bare interpreter"
OTHER = "with somebody's .pth, of one comment"
INSTALLED = "with the bootstrap"
LIMIT = 0.5


def run(rounds: int = 200) -> Result:
    """Start the Pythons of three environments in turns."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as place:
        samples = in_turns(_cases(Path(place)), rounds).above(BARE)
    return Result(
        name="bootstrap",
        title="Bootstrap, PATCHKIT not set: CPU time beyond a bare interpreter",
        unit="ms",
        rounds=rounds,
        lines=lines_of(samples, [], 1e3),
        aims=[
            Aim(
                "the bootstrap costs at most 0.5 ms",
                samples.spread(INSTALLED, 1e3).median,
                LIMIT,
            )
        ],
        notes=[
            "From Python 3.13 on, the first .pth of any kind makes Python load a codec."
        ],
    )


def _cases(place: Path) -> dict[str, Case]:
    def comment(folder: Path) -> None:
        (folder / "other.pth").write_text("# nothing\n")

    fill: dict[str, Callable[[Path], object]] = {BARE: Path.exists, OTHER: comment}
    fill[INSTALLED] = install
    return {
        case: _start(place / str(number), fill[case])
        for number, case in enumerate(fill)
    }


def _start(home: Path, fill: Callable[[Path], object]) -> Case:
    venv.create(home, symlinks=True)
    fill(next((home / "lib").glob("python*/site-packages")))
    away = ("PATCHKIT", "PYTHON")
    environ = {
        key: text for key, text in os.environ.items() if not key.startswith(away)
    }
    return functools.partial(
        cpu_of_child, [str(home / "bin" / "python"), "-c", "pass"], environ
    )
