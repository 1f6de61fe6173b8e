"""Whether the tests notice a mutant: it is made in a copy of the repository, and they run."""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .mutants import Mutant

NEAR = 10.0
"""Seconds that the nearest tests may take, which are run first."""
_NOT_COPIED = (
    ".*cache*",
    ".envs",
    ".git",
    ".matrix",
    ".quality",
    ".site",
    "__pycache__",
)


class Tests(Protocol):
    """The tests of a mutant, the nearest first, and how long each test takes."""

    seconds: dict[str, float]

    def tests_for(self, mutant: Mutant) -> list[str]:
        """List the tests that a mutant is shown to."""


class Trees:
    """Copies of the repository, each of which one mutant at a time is made in.

    Args:
        repository: What is copied.
        folder: Where the copies go.
        count: How many there are to be.
    """

    def __init__(self, repository: Path, folder: Path, count: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            tree = folder / str(number) / "repository"
            shutil.copytree(
                repository, tree, ignore=shutil.ignore_patterns(*_NOT_COPIED)
            )
            # Else each run compiles all modules anew, for longer than most tests take.
            compileall.compile_dir(tree / "patchkit", quiet=2)
            self._free.put(tree)

    def take(self) -> Path:
        """Take a copy that nobody uses; wait for one if need be."""
        return self._free.get()

    def give_back(self, tree: Path) -> None:
        """Let others use a copy."""
        self._free.put(tree)


def is_killed(mutant: Mutant, coverage: Tests, trees: Trees, limit: float) -> bool:
    """Say whether a test fails of a mutant, and does not fail without it.

    Args:
        mutant: What to make.
        coverage: The tests that it is shown to.
        trees: Where to make it.
        limit: How many seconds its tests are to take by what they took before. A batch of them may
            take as long again; what makes them hang is killed, too.
    """
    tree = trees.take()
    try:
        tests = coverage.tests_for(mutant)
        for batch in batches(tests, coverage.seconds, limit):
            if _is_noticed(mutant, batch, tree, 2 * limit):
                return True
        return False
    finally:
        trees.give_back(tree)


def batches(
    tests: Sequence[str], seconds: dict[str, float], limit: float
) -> Iterator[list[str]]:
    """Divide tests into the nearest, which take a few seconds, and those that follow.

    Args:
        tests: The tests, the nearest first.
        seconds: How long each takes.
        limit: How many seconds all together may take; tests beyond that are left out.

    Yields:
        The tests to run at once; no empty list.
    """
    near: list[str] = []
    further: list[str] = []
    total = 0.0
    for test in tests:
        total += seconds.get(test, 0.0)
        if total <= NEAR or not near:
            near.append(test)
        elif total <= limit:
            further.append(test)
    yield from filter(None, (near, further))


def _is_noticed(mutant: Mutant, tests: Sequence[str], tree: Path, limit: float) -> bool:
    """Make the change, and run the tests until one fails that does not fail without it."""
    file = tree / mutant.file
    source = file.read_text(encoding="utf-8")
    remaining = list(tests)
    while remaining:
        file.write_text(mutant.applied_to(source), encoding="utf-8")
        try:
            failed = failed_of(remaining, tree, limit)
        finally:
            file.write_text(source, encoding="utf-8")
        if not failed:
            return False
        failing_anyway = failed_of(failed, tree, limit)
        if not failing_anyway:
            return True
        print(f"without any change fails: {', '.join(failing_anyway[:3])}", flush=True)
        remaining = [test for test in remaining if test not in failing_anyway]
    return False


def failed_of(tests: Sequence[str], tree: Path, limit: float) -> list[str]:
    """Run tests up to the first that fails.

    Args:
        tests: The tests, by their node ids.
        tree: The copy of the repository that they are to test.
        limit: How many seconds they may take.

    Returns:
        The test that failed; all tests, where they hang or cannot even begin; none if all pass.
    """
    cache = tree.parent / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-o",
        f"cache_dir={cache}",
        *tests,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        return list(tests)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it, and what its tests left behind
        process.wait()
    if code == 0:
        return []
    noted = cache / "v" / "cache" / "lastfailed"
    failed = set(json.loads(noted.read_text())) if noted.exists() else set()
    return [test for test in tests if test in failed] or list(tests)
