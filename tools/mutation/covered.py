"""Which tests run each line, and how long each test takes, by a run of all with coverage."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .mutants import Mutant

TESTS = "tests/unit"
UNCOVERED = (
    "tests/unit/runtime/process/test_faults.py",
    "tests/unit/runtime/bootstrap",
)
"""Tests that coverage cannot stand beside: one traces lines itself, the other changes the user."""
_DURATION = re.compile(r"([0-9.]+)s (?:setup|call|teardown)\s+(\S.*)")
_SOME_TEST_FAILED = 1  # an exit code of pytest


@dataclass
class Coverage:
    """What a run of the tests has shown.

    Args:
        tests: The tests there are, by their node ids.
        lines: The tests that run a line, by its file and number.
        seconds: How long each test takes.
    """

    tests: list[str]
    lines: dict[tuple[str, int], list[str]]
    seconds: dict[str, float]

    def tests_for(self, mutant: Mutant) -> list[str]:
        """Find the tests that run any of a mutant's lines, the nearest and quickest first.

        A line that only child processes run is shown to the tests of its room.
        """
        span = range(mutant.first, mutant.last + 1)
        covering = {
            test for line in span for test in self.lines.get((mutant.file, line), [])
        }
        return sorted(
            covering or self._of_room(mutant), key=lambda test: self._rank(test, mutant)
        )

    def _of_room(self, mutant: Mutant) -> list[str]:
        folder = Path(TESTS, *Path(mutant.file).parts[1:-1])
        while True:
            near = [test for test in self.tests if test.startswith(f"{folder}/")]
            if near or folder == Path(TESTS):
                return near
            folder = folder.parent

    def _rank(self, test: str, mutant: Mutant) -> tuple[int, float, str]:
        file = Path(mutant.file)
        folder = Path(TESTS, *file.parts[1:-1])
        starts = (
            f"{folder}/test_{file.stem}",
            f"{folder}/",
            f"{TESTS}/{file.parts[1]}/",
            "",
        )
        distance = next(at for at, start in enumerate(starts) if test.startswith(start))
        return distance, self.seconds.get(test, 0.0), test


def coverage_of(repository: Path, notes: Path, at_once: int) -> Coverage:
    """Run with coverage what has not been run as it is, and read what all runs have shown.

    Args:
        repository: Whose tests to run.
        notes: The folder in which the data lie, from one time to the next.
        at_once: How many processes run the tests.

    Returns:
        The tests there are, with what they run.

    Raises:
        CalledProcessError: The tests could not be run.
    """
    import coverage  # noqa: PLC0415 - only this tool has a use for it

    _bring_up_to_date(repository, notes, at_once)
    reader = coverage.CoverageData(basename=str(notes / "tests.coverage"))
    reader.read()
    tests = _collect(repository)
    names = set(tests)
    lines: dict[tuple[str, int], list[str]] = {}
    for file in reader.measured_files():
        name = str(Path(file).relative_to(repository))
        for line, contexts in reader.contexts_by_lineno(file).items():
            running = {context.partition("|")[0] for context in contexts}
            lines[name, line] = sorted(names & running)
    return Coverage(tests, lines, json.loads((notes / "seconds.json").read_text()))


def durations(output: str) -> dict[str, float]:
    """Add up how long each test has taken, set-up included, by pytest's table of durations."""
    seconds: dict[str, float] = defaultdict(float)
    for line in output.splitlines():
        match = _DURATION.fullmatch(line.strip())
        if match is not None:
            seconds[match[2]] += float(match[1])
    return dict(seconds)


def _bring_up_to_date(repository: Path, notes: Path, at_once: int) -> None:
    """Run every test if the code is newer than the data, else those whose file is."""
    data = notes / "tests.coverage"
    since = data.stat().st_mtime if data.exists() else 0.0
    if _newer((repository / "patchkit").rglob("*.py"), since):
        data.unlink(missing_ok=True)
        _run_covered(repository, notes, [TESTS], at_once)
        report = json.loads((notes / "lines.json").read_text())
        percent = round(report["totals"]["percent_covered"], 1)
        (notes / "coverage.json").write_text(json.dumps({"percent": percent}))
        return
    changed = [
        str(file.relative_to(repository))
        for file in _newer((repository / TESTS).rglob("test_*.py"), since)
    ]
    covered = [file for file in changed if not file.startswith(UNCOVERED)]
    if covered:
        _run_covered(repository, notes, [*covered, "--cov-append"], at_once)


def _newer(files: Iterable[Path], since: float) -> list[Path]:
    return [file for file in files if file.stat().st_mtime > since]


def _run_covered(
    repository: Path, notes: Path, arguments: Sequence[str], at_once: int
) -> None:
    notes.mkdir(exist_ok=True)
    began = time.time()
    data = notes / "tests.coverage"
    report = notes / "lines.json"
    command = [
        *(sys.executable, "-m", "pytest", "-q", *arguments),
        *("-n", str(at_once), "--dist", "worksteal"),
        *("--durations=0", "--durations-min=0"),
        *("--cov=patchkit", "--cov-context=test", f"--cov-report=json:{report}"),
    ]
    for path in UNCOVERED:
        command += ["--ignore", path]
    environment = {**os.environ, "COVERAGE_FILE": str(data)}
    done = subprocess.run(
        command,
        cwd=repository,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    (notes / "tests.log").write_text(done.stdout)
    if done.returncode > _SOME_TEST_FAILED:
        print(done.stdout, file=sys.stderr)
        done.check_returncode()
    file = notes / "seconds.json"
    seconds = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**seconds, **durations(done.stdout)}))
    os.utime(data, (began, began))  # a file may change meanwhile


def _collect(repository: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", TESTS]
    done = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if "::" in line]
