"""Write down what every command of patchkit prints and writes on fixed inputs, or compare two runs.

    python tools/outputs --python OLD/.envs/unit/bin/python --into old
    python tools/outputs --python .envs/unit/bin/python --into new
    python tools/outputs --compare old new

patchkit is only called from outside, `PYTHON -m patchkit …`, so the inputs of this checkout also
serve older ones. Exit code 1: some results differ; 2: wrong use.
"""

from __future__ import annotations

import argparse
import fcntl
import resource
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if not __package__:  # run as a folder
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from outputs.comparing import differences
from outputs.running import Interpreter, Runner
from outputs.scenarios import read_scenarios

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = Path(tempfile.gettempdir()) / "patchkit-outputs"
"""One and the same folder in each run, as paths are part of what commands print."""

_LOCK = "lock"


def main() -> int:
    """Do what the command line says, and return the exit code."""
    arguments = _parser().parse_args()
    if arguments.compare:
        return _compare(*arguments.compare)
    if not (arguments.python and arguments.into):
        _parser().error("expected --python and --into, or --compare")
    if arguments.into.exists():
        _parser().error(f"{arguments.into} is there already, expected a new folder")
    return _run(arguments)


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="outputs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--python", help="the interpreter of an environment that has patchkit"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="where results are written"
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("OLD", "NEW"),
        help="folders of results",
    )
    parser.add_argument("--only", default="", help="the scenarios whose names begin so")
    parser.add_argument(
        "--index", action="store_true", help="real releases on the index as well"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="scenarios at a time; default: 2"
    )
    return parser


def _run(arguments: argparse.Namespace) -> int:
    scenarios = [
        scenario
        for scenario in read_scenarios()
        if scenario.name.startswith(arguments.only)
        and (arguments.index or not scenario.needs_index)
    ]
    scenarios.sort(key=lambda scenario: len(scenario.commands), reverse=True)
    started = time.monotonic()
    with _work_folder() as work:
        runner = Runner(
            Interpreter.of(arguments.python), work, arguments.into.absolute()
        )
        count = runner.run_all(scenarios, arguments.jobs)
    seconds = time.monotonic() - started
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = f"{seconds:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of processors"
    print(f"{count} results of {len(scenarios)} scenarios in {arguments.into}: {took}")
    return 0


def _compare(old: Path, new: Path) -> int:
    for folder in (old, new):
        if not folder.is_dir():
            _parser().error(f"found no folder {folder}")
    diffs = list(differences(old, new))
    for diff in diffs:
        print(diff)
    count = len(list(new.rglob("*.txt")))
    print(f"{len(diffs)} of {count} results differ", file=sys.stderr)
    return int(bool(diffs))


@contextmanager
def _work_folder() -> Iterator[Path]:
    """Give an empty working folder, which no other run uses meanwhile."""
    WORK.mkdir(mode=0o700, exist_ok=True)
    with (WORK / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _parser().error(f"another run uses {WORK}, and there can be one at a time")
        _empty(WORK)
        yield WORK
        _empty(WORK)


def _empty(work: Path) -> None:
    for entry in work.iterdir():
        if entry.name == _LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


if __name__ == "__main__":
    sys.exit(main())
