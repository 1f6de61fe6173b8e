#!/usr/bin/env python3
"""Write into each file of end-to-end tests how long it takes, as a run of them has printed it.

`python tools/e2e_times.py LOG` reads what `make e2e` or `.ci/run` has printed. Use a run on a
machine that did nothing else: two files run at a time, each on a core of its own.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = "tests/e2e"
DURATION = re.compile(
    rf"^([\d.]+)s (?:setup|call|teardown) +{TESTS}/(test_\w+\.py)::", re.MULTILINE
)
"""A line of pytest's `--durations=0`."""
DOCSTRING = re.compile(r'\A"""(.*?)"""\n', re.DOTALL)
SENTENCE = re.compile(r"^Takes about .*\.$", re.MULTILINE)


def seconds_by_file(log: str) -> dict[str, float]:
    """Sum up the durations of each file of tests that a log names."""
    seconds: dict[str, float] = defaultdict(float)
    for duration, name in DURATION.findall(log):
        seconds[name] += float(duration)
    return dict(seconds)


def sentence(seconds: float) -> str:
    """Say how long a file takes, no more exactly than the next run will hold."""
    if seconds < 10:
        return f"Takes about {max(1, round(seconds))} s."
    if seconds < 120:
        return f"Takes about {5 * round(seconds / 5)} s."
    return f"Takes about {round(seconds / 60)} min."


def with_sentence(source: str, text: str) -> str:
    """Return a module with a sentence as the last paragraph of its docstring, or in its place.

    Raises:
        ValueError: the module begins with no docstring.
    """
    match = DOCSTRING.match(source)
    if match is None:
        raise ValueError("found no docstring, expected one that says what is tested")
    docstring = match[1]
    if SENTENCE.search(docstring):
        changed = SENTENCE.sub(text, docstring)
    else:
        changed = f"{docstring.rstrip()}\n\n{text}\n"
    return f'"""{changed}"""\n{source[match.end() :]}'


def main(argv: Sequence[str] | None = None) -> int:
    """Write the sentences; 1 where the log names no test."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument(
        "log", type=Path, help="what a run with --durations=0 has printed"
    )
    arguments = parser.parse_args(argv)
    times = seconds_by_file(arguments.log.read_text("utf-8", "replace"))
    if not times:
        print(
            f"{arguments.log}: found no durations, expected some of {TESTS}",
            file=sys.stderr,
        )
        return 1
    for name, seconds in sorted(times.items(), key=lambda item: -item[1]):
        file = REPOSITORY / TESTS / name
        file.write_text(
            with_sentence(file.read_text("utf-8"), sentence(seconds)), "utf-8"
        )
        print(f"{seconds:7.1f} s  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
