"""The command line: `python -m patchkit_conformance`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import patchkit
from patchkit.errors import PatchkitError
from patchkit_conformance import command, machine, markdown
from patchkit_conformance.checks import CHECKS
from patchkit_conformance.engines import Engines
from patchkit_conformance.results import (
    FAILED,
    NOT_RUN,
    PASSED,
    ConformanceError,
    Failed,
    NotRun,
    Passed,
    Report,
    Result,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WRONG_USE = 2


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m patchkit_conformance",
        description="Run real engines with patchkit on this machine, and report in Markdown.",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the report as JSON too"
    )
    parser.add_argument(
        "--checks",
        type=names,
        default=tuple(CHECKS),
        metavar="A,B",
        help=", ".join(CHECKS),
    )
    parser.add_argument(
        "--simulated",
        action="store_true",
        help="on two simulated NPUs (examples/simnpu)",
    )
    parser.add_argument(
        "--model", type=Path, metavar="DIR", help="instead of a tiny random Llama"
    )
    parser.add_argument(
        "--env",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of every vLLM and of Ray (may be repeated)",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep logs and journals here"
    )
    return parser.parse_args(words)


def names(text: str) -> tuple[str, ...]:
    """The checks of `--checks`, in the order in which they run."""
    wanted = [name.strip() for name in text.split(",")]
    unknown = [name for name in wanted if name not in CHECKS]
    if unknown:
        known = ", ".join(CHECKS)
        raise argparse.ArgumentTypeError(
            f"found {unknown[0]!r}, expected some of {known}"
        )
    return tuple(name for name in CHECKS if name in wanted)


def setting(text: str) -> tuple[str, str]:
    """One `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected NAME=VALUE")
    return name, value


def outcome(name: str, check: Callable[[Engines], str | Passed], on: Engines) -> Result:
    """Run one check."""
    say(f"{name}: {check.__doc__}")
    began = time.monotonic()
    log = ""
    rows: tuple[str, ...] = ()
    try:
        said = check(on)
        result, detail = PASSED, said if isinstance(said, str) else said.detail
        rows = () if isinstance(said, str) else said.rows
    except NotRun as reason:
        result, detail = NOT_RUN, str(reason)
    except Failed as failure:
        result, detail, log = FAILED, str(failure), failure.log
    done = Result(name, result, round(time.monotonic() - began, 1), detail, log, rows)
    say(f"{name}: {done.result} after {done.seconds:.0f} s: {done.detail}")
    return done


def say(text: str) -> None:
    """One progress line; standard output belongs to the report."""
    print(f"conformance: {text}", file=sys.stderr, flush=True)


def run(options: argparse.Namespace, directory: Path) -> Report:
    """Find out about the machine, and run the checks."""
    more = dict(options.env)
    known = machine.versions(more)
    if options.simulated:
        here = machine.simulated(more)
    else:
        here = machine.real(more, directory / "probe.log")
    engines = Engines(Path(sys.executable), here, directory, options.model)
    try:
        results = [outcome(name, CHECKS[name], engines) for name in options.checks]
    finally:
        engines.close()
    return Report(known, here.facts, here.simulated, results, here.simulation)


def main(words: Sequence[str] | None = None) -> int:
    """Run the checks and report; 0 when none failed, 1 when one did, 2 when none could run."""
    options = arguments(words)
    if found := command.other_patchkit(str(patchkit.__file__)):
        say(
            f"found patchkit at {patchkit.__file__}, expected the installed one ({found})"
        )
        return WRONG_USE
    try:
        with tempfile.TemporaryDirectory(prefix="conformance-") as made:
            # Whole, as commands are run in other folders.
            directory = (options.keep or Path(made)).resolve()
            directory.mkdir(parents=True, exist_ok=True)
            report = run(options, directory)
    except (ConformanceError, Failed, PatchkitError) as error:
        say(str(error))
        return WRONG_USE
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=2) + "\n")
    print(markdown.page(report), end="")
    return report.status


if __name__ == "__main__":
    # Asked to stop, it still has to take its Ray down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
