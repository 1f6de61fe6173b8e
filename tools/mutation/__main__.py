"""Break the code on purpose, one small change at a time, and count how many the unit tests notice.

`make mutants` takes a sample of all mutants, as many of each wing. Every test runs once with
coverage first, and later those whose file has changed. Then each mutant, in a copy of the
repository, is shown to the tests that run its line, until one fails that does not fail without it.
The share that was killed, of each wing and of all, goes to `.quality/mutants.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .covered import Coverage, coverage_of
from .figures import Verdict, figures, table
from .judging import Trees, is_killed
from .sampling import WINGS, mutants_by_wing, stratified_sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .mutants import Mutant

REPOSITORY = Path(__file__).resolve().parents[2]
_MINUTE = 60


def main(arguments: list[str] | None = None) -> int:
    """Take the sample, judge it, write the shares down.

    Args:
        arguments: What stands on the command line; None for that of this process.

    Returns:
        The exit code, 0.
    """
    options = _parser().parse_args(arguments)
    end = time.monotonic() + options.minutes * _MINUTE
    by_wing = mutants_by_wing(REPOSITORY, options.wings)
    sizes = {wing: len(mutants) for wing, mutants in by_wing.items()}
    sample = stratified_sample(by_wing, options.sample, options.seed)
    print(f"a sample of {len(sample)} of {sum(sizes.values())} mutants", flush=True)
    notes = REPOSITORY / ".quality"
    coverage = coverage_of(REPOSITORY, notes, options.at_once)
    verdicts = _judge_all(sample, coverage, options, end)
    result = figures(verdicts, sizes)
    (notes / "mutants.json").write_text(json.dumps(result, indent=2))
    print(table(verdicts, sizes))
    if len(verdicts) < len(sample):
        print(
            f"{len(sample) - len(verdicts)} were left out: {options.minutes:g} minutes are over"
        )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mutation", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--sample", type=int, default=150, help="how many mutants (150)"
    )
    parser.add_argument("--seed", type=int, default=0, help="which sample (0)")
    parser.add_argument(
        "--wings", nargs="*", default=WINGS, metavar="WING", help="of which wings"
    )
    parser.add_argument(
        "--limit", type=float, default=60, help="seconds for one mutant (60)"
    )
    parser.add_argument(
        "--minutes", type=float, default=40, help="for all, coverage too (40)"
    )
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, metavar="N")
    return parser


def _judge_all(
    sample: Sequence[Mutant],
    coverage: Coverage,
    options: argparse.Namespace,
    end: float,
) -> list[Verdict]:
    """Judge mutants in order, some at once, as long as there is time to begin with one."""
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder:
        trees = Trees(REPOSITORY, Path(folder), options.at_once)
        judge = partial(is_killed, coverage=coverage, trees=trees, limit=options.limit)

        def judge_one(mutant: Mutant) -> None:
            if time.monotonic() > end:
                return
            verdict = Verdict(mutant, judge(mutant))
            verdicts.append(verdict)
            print(verdict, flush=True)

        with ThreadPoolExecutor(options.at_once) as pool:
            list(pool.map(judge_one, sample))
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
