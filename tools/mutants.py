#!/usr/bin/env python3
"""Break the code on purpose, one small change at a time, and count how many the unit tests notice.

`make mutants` takes a sample of all mutants of the rooms at the centre. Every test runs once with
coverage first, and later those whose file has changed. Then each mutant, in a copy of the
repository, is shown to the tests that run its line, until one fails that does not fail without it.
A line that only child processes run is shown to its room's tests. The share that was killed goes to
`.quality/mutants.json`.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

REPOSITORY = Path(__file__).resolve().parents[1]
LEFT = REPOSITORY / ".quality"
ROOMS = ("process", "changes", "copies")
SECONDS = 600
"""How long the tests of one mutant may take; one that makes them hang is killed too."""
FIRST = 60
"""How many tests a mutant is shown to at once, the nearest; what survives them sees the others."""
NOT_SAMPLED = {
    "patchkit/runtime/changes/objects/kernels.py": "needs torch; end-to-end tests cover it",
}
"""What unit tests cannot run, as their environment has no torch; and who tests it."""
UNCOVERED = ("tests/unit/runtime/process/test_faults.py", "tests/unit/runtime/bootstrap")
"""Tests that coverage cannot stand beside: one traces lines itself, the other changes the user."""
PAIRS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *((ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.Lt, ast.LtE)),
    *((ast.Gt, ast.GtE), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.BitOr, ast.BitAnd)),
)
SWAPS = {**dict(PAIRS), **{second: first for first, second in PAIRS}}
"""Which operator takes another's place."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the lines from `first` to `last` become `text`."""

    file: str
    first: int
    last: int
    text: str
    what: str

    def __str__(self) -> str:
        head = self.text.strip().splitlines()[0]
        return f"{self.file}:{self.first}: {self.what}: {head[:90]}"

    def applied_to(self, source: str) -> str:
        """Return the file's text with the change made."""
        lines = source.splitlines(keepends=True)
        lines[self.first - 1 : self.last] = [self.text]
        return "".join(lines)


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Make every mutant of a file, a statement at a time."""
    source = file.read_text()
    for statement in _statements(ast.parse(source)):
        for what, text in _variants(statement):
            indent = " " * statement.col_offset
            body = "".join(f"{indent}{line}\n" for line in text.splitlines())
            last = statement.end_lineno or statement.lineno
            name = str(file.relative_to(REPOSITORY))
            mutant = Mutant(name, statement.lineno, last, body, what)
            if _compiles(mutant.applied_to(source)):
                yield mutant


def all_mutants(rooms: Iterable[str]) -> Iterator[Mutant]:
    """Make every mutant of the rooms; say which modules are left out, and why."""
    files = [file for room in rooms for file in (REPOSITORY / "patchkit" / room).rglob("*.py")]
    for file in sorted(files):
        if reason := NOT_SAMPLED.get(str(file.relative_to(REPOSITORY))):
            print(f"not sampled: {file.relative_to(REPOSITORY / 'patchkit')} {reason}", flush=True)
        else:
            yield from mutants_of(file)


def _compiles(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements in functions that are no block and no docstring, one by one."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _within(function.body)


def _within(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement
            for part in _parts(statement):
                yield from _within(part)


def _parts(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the bodies of a statement; an `elif` counts as part of its `if`."""
    for holder in (
        statement,
        *getattr(statement, "handlers", []),
        *getattr(statement, "cases", []),
    ):
        for name in ("body", "orelse", "finalbody"):
            part = getattr(holder, name, [])
            is_elif = name == "orelse" and len(part) == 1 and isinstance(part[0], ast.If)
            yield part[0].body if is_elif else part


def _variants(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield what was done, and the statement's text with it done."""
    if isinstance(statement, ast.Expr):
        yield "left out", "pass"
    if isinstance(statement, ast.Return) and statement.value is not None:
        is_none = isinstance(statement.value, ast.Constant) and statement.value.value is None
        if not is_none:
            yield "returns None", "return None"
    for at, node in enumerate(_own_nodes(statement)):
        for what, change in _changes(node):
            copy = ast.parse(ast.unparse(statement)).body[0] if _is_loose(statement) else None
            if copy is None:
                continue
            change(list(_own_nodes(copy))[at])
            yield what, ast.unparse(copy)


def _is_loose(statement: ast.stmt) -> bool:
    """Whether the statement means the same outside its function, as far as parsing goes."""
    try:
        again = ast.parse(ast.unparse(statement)).body[0]
    except SyntaxError:
        return False
    return ast.dump(again) == ast.dump(statement)


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Walk the expressions of a statement itself, not those of the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.arguments)):
            continue  # texts are no behaviour
        children = ast.iter_child_nodes(node)
        waiting += [child for child in children if not isinstance(child, ast.stmt)]


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], object]]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        other = SWAPS[type(node.ops[0])]
        yield "comparison", lambda copy: copy.ops.__setitem__(0, other())
    if isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in SWAPS:
        kind = SWAPS[type(node.op)]
        yield "operator", lambda copy: setattr(copy, "op", kind())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", _doubled
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", lambda copy: setattr(copy, "value", not copy.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "number", lambda copy: setattr(copy, "value", copy.value + 1)


def _doubled(copy: ast.UnaryOp) -> None:
    """Turn `not x` into `not (not x)`."""
    copy.operand = ast.UnaryOp(ast.Not(), copy.operand)


def coverage_by_test(data: Path) -> dict[tuple[str, int], list[str]]:
    """Run with coverage what has not been run as it is; return the tests that run each line."""
    import coverage  # noqa: PLC0415 - only this tool has a use for it

    bring_up_to_date(data)
    reader = coverage.CoverageData(basename=str(data))
    reader.read()
    there = set(_known_tests())
    tests: dict[tuple[str, int], list[str]] = {}
    for file in reader.measured_files():
        name = str(Path(file).relative_to(REPOSITORY))
        for line, contexts in reader.contexts_by_lineno(file).items():
            tests[name, line] = sorted(there & {one.partition("|")[0] for one in contexts})
    return tests


def bring_up_to_date(data: Path) -> None:
    """Run every test if the code is newer than the data, else those whose file is."""
    since = data.stat().st_mtime if data.exists() else 0
    if any(file.stat().st_mtime > since for file in (REPOSITORY / "patchkit").rglob("*.py")):
        data.unlink(missing_ok=True)
        _run_covered(data, "tests/unit")
        whole = json.loads((LEFT / "lines.json").read_text())["totals"]["percent_covered"]
        (LEFT / "coverage.json").write_text(json.dumps({"percent": round(whole, 1)}))
        return
    files = [
        str(file.relative_to(REPOSITORY)) for file in REPOSITORY.glob("tests/unit/**/test_*.py")
    ]
    changed = [file for file in files if (REPOSITORY / file).stat().st_mtime > since]
    if covered := [file for file in changed if not file.startswith(UNCOVERED)]:
        _run_covered(data, *covered, "--cov-append")


def _run_covered(data: Path, *arguments: str) -> None:
    data.parent.mkdir(exist_ok=True)
    began = time.time()
    options = ["--cov=patchkit", "--cov-context=test", "--cov-report=json:.quality/lines.json"]
    environ = {**os.environ, "COVERAGE_FILE": str(data)}
    without = [part for path in UNCOVERED for part in ("--ignore", path)]
    command = [sys.executable, "-m", "pytest", "-q", *arguments, *options, *without]
    subprocess.run(command, cwd=REPOSITORY, env=environ, check=True)
    os.utime(data, (began, began))  # a file may change meanwhile


@functools.cache
def _known_tests() -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "tests/unit"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def is_killed(mutant: Mutant, tests: list[str], tree: Path) -> bool:
    """Make the change in a copy of the repository, and run the tests until one fails of it."""
    file = tree / mutant.file
    source = file.read_text()
    without: set[str] = set()
    while left := [test for test in tests if test not in without]:
        file.write_text(mutant.applied_to(source))
        try:
            failed = failed_of(left, tree)
        finally:
            file.write_text(source)
        anyhow = failed_of(failed, tree)
        if not failed or not anyhow:
            return bool(failed)
        print(f"without any change fails: {', '.join(anyhow)}", flush=True)
        without.update(anyhow)
    return False


def failed_of(tests: list[str], tree: Path) -> list[str]:
    """Return the first test that fails, or all where they hang or cannot even begin."""
    if not tests:
        return []
    cache = tree.parent / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-o", f"cache_dir={cache}", *tests]
    environ = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environ, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return tests
    noted = cache / "v" / "cache" / "lastfailed"
    if done.returncode == 0:
        return []
    failed = set(json.loads(noted.read_text())) if noted.exists() else set()
    return [test for test in tests if test in failed] or tests


def tests_for(
    mutant: Mutant, lines: dict[tuple[str, int], list[str]], rng: random.Random
) -> list[str]:
    """Find the tests that run any of a mutant's lines, else its room's; the nearest first."""
    file = Path(mutant.file)
    folder = str(Path("tests", "unit", *file.parts[1:-1]))
    span = range(mutant.first, mutant.last + 1)
    tests = sorted({test for line in span for test in lines.get((mutant.file, line), [])})
    room = f"tests/unit/{file.parts[1]}/"
    tests = tests or [test for test in _known_tests() if test.startswith(room)]
    rng.shuffle(tests)
    near = (f"{folder}/test_{file.stem}", f"{folder}/")
    tests.sort(key=lambda test: [not test.startswith(start) for start in near])
    return tests


def judge(
    mutants: Iterable[Mutant], lines: dict[tuple[str, int], list[str]], at_once: int
) -> list[Mutant]:
    """Return the mutants that survive."""
    rng = random.Random(0)
    trees: list[Path] = []
    survivors: list[Mutant] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(at_once):
            tree = Path(folder, str(number), "repository")
            shutil.copytree(REPOSITORY, tree, ignore=shutil.ignore_patterns(".envs", ".git"))
            trees.append(tree)
        chosen = [(mutant, tests_for(mutant, lines, rng)) for mutant in mutants]

        def judge_one(pair: tuple[Mutant, list[str]]) -> None:
            tree = trees.pop()
            mutant, tests = pair
            parts = (tests[:FIRST], tests[FIRST:])
            is_noticed = any(is_killed(mutant, part, tree) for part in parts)
            if not is_noticed:
                survivors.append(mutant)
            print(f"{'killed' if is_noticed else 'survived'}: {mutant}", flush=True)
            trees.append(tree)

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(judge_one, chosen))
    return survivors


def main() -> int:
    """Take the sample, judge it, write the share down."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--sample", type=int, default=150, help="how many mutants (150)")
    parser.add_argument("--seed", type=int, default=0, help="which sample (0)")
    parser.add_argument("--rooms", nargs="*", default=ROOMS)
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    every = list(all_mutants(arguments.rooms))
    sample = random.Random(arguments.seed).sample(every, min(arguments.sample, len(every)))
    print(
        f"{len(every)} mutants in {', '.join(arguments.rooms)}; a sample of {len(sample)}",
        flush=True,
    )
    lines = coverage_by_test(LEFT / "tests.coverage")
    survivors = judge(sample, lines, arguments.at_once)
    percent = round(100 * (1 - len(survivors) / len(sample)), 1)
    (LEFT / "mutants.json").write_text(json.dumps({"percent": percent, "sample": len(sample)}))
    print(f"killed {len(sample) - len(survivors)} of {len(sample)}: {percent}%")
    return 0


if __name__ == "__main__":
    sys.exit(main())
