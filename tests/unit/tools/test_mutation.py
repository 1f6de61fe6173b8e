"""`make mutants`: what is broken, which tests see it, and what share of it they notice."""

from __future__ import annotations

import ast
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from mutation import judging
from mutation.covered import Coverage, durations
from mutation.figures import Verdict, figures
from mutation.mutants import Mutant, mutants_of
from mutation.sampling import mutants_by_wing, room_of, stratified_sample, wing_of
from quality import measures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SOURCE = """\
def is_even(number, default=True):
    '''Whether it is.'''
    if not number and default:
        return True
    log(number)
    return number % 2 == 0  # 2
"""
SEEN = "tests/unit/core/test_numbers.py::test_even"
UNSEEN = "tests/unit/core/test_numbers.py::test_name"


def mutant(file: str = "patchkit/core/numbers.py", line: int = 1) -> Mutant:
    """A mutant of one line of a file."""
    return Mutant(file, line, line, "pass\n", "left out")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one module, with two tests, of which one sees what the module does."""
    # This package has no plugin.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project = tmp_path / "project"
    module = project / "patchkit" / "core" / "numbers.py"
    module.parent.mkdir(parents=True)
    (project / "patchkit" / "__init__.py").touch()
    module.write_text(SOURCE.replace("    log(number)\n", ""))
    tests = project / "tests" / "unit" / "core"
    tests.mkdir(parents=True)
    (tests / "test_numbers.py").write_text(
        "from patchkit.core.numbers import is_even\n\n\n"
        "def test_even():\n    assert is_even(0) and is_even(4) and not is_even(5)\n\n\n"
        "def test_name():\n    assert is_even.__name__ == 'is_even'\n"
    )
    return project


def test_each_mutant_is_one_change_of_one_statement(tmp_path: Path) -> None:
    """It changes operators, constants, results and calls, never a docstring, header or default."""
    file = tmp_path / "numbers.py"
    file.write_text(SOURCE)
    made = list(mutants_of(file, tmp_path))
    assert [(candidate.first, candidate.what) for candidate in made] == [
        (3, "operator"),
        (3, "not"),
        (4, "returns None"),
        (4, "constant"),
        (5, "left out"),
        (6, "returns None"),
        (6, "comparison"),
        (6, "number"),
        (6, "number"),
    ]
    before = ast.dump(ast.parse(SOURCE))
    for candidate in made:
        assert ast.dump(ast.parse(candidate.applied_to(SOURCE))) != before


def test_a_statement_that_shares_its_line_is_left_alone(tmp_path: Path) -> None:
    """The line would lose what else is on it."""
    file = tmp_path / "numbers.py"
    file.write_text("def f():\n    if g(): return 1\n    h(); i()\n")
    lines = [candidate.first for candidate in mutants_of(file, tmp_path)]
    assert [line for line in lines if line > 2] == []


def test_the_sample_has_as_many_of_each_wing() -> None:
    """Wings take turns, so that any part of it is even; a small wing gives all that it has."""
    by_wing: dict[str, list[Mutant]] = {}
    for wing, count in {"core": 50, "cli": 2, "runtime": 50}.items():
        file = f"patchkit/{wing}/module.py"
        by_wing[wing] = [mutant(file, line) for line in range(1, count + 1)]
    sample = stratified_sample(by_wing, 12, seed=3)
    assert [wing_of(drawn) for drawn in sample[:3]] == ["core", "cli", "runtime"]
    assert Counter(map(wing_of, sample)) == {"core": 4, "cli": 2, "runtime": 4}
    assert sample == stratified_sample(by_wing, 12, seed=3)
    assert sample != stratified_sample(by_wing, 12, seed=4)


def test_mutants_are_sorted_by_wing(repository: Path) -> None:
    """Each wing is a folder of the package, and a room a folder in it."""
    made = mutants_by_wing(repository, ["core", "cli"])
    assert {wing: len(mutants) > 0 for wing, mutants in made.items()} == {
        "core": True,
        "cli": False,
    }
    assert room_of(mutant("patchkit/cli/commands/run.py")) == "cli/commands"
    assert (
        room_of(mutant("patchkit/analysis/upstream/moves/tree.py"))
        == "analysis/upstream"
    )
    assert room_of(mutant("patchkit/analysis/bisection.py")) == "analysis"


def test_a_mutant_is_shown_to_the_tests_of_its_line_the_nearest_first() -> None:
    """Tests at the same distance are in the order of their time, the quickest first."""
    tests = [
        "tests/unit/test_all.py::test_numbers",
        "tests/unit/core/test_words.py::test_words",
        "tests/unit/core/test_numbers.py::test_slow",
        "tests/unit/core/test_numbers.py::test_quick",
        "tests/unit/core/test_numbers.py::test_elsewhere",
    ]
    seconds = dict(zip(tests, [0.0, 0.0, 2.0, 1.0, 0.0], strict=True))
    coverage = Coverage(tests, {("patchkit/core/numbers.py", 1): tests[:4]}, seconds)
    assert coverage.tests_for(mutant()) == [tests[3], tests[2], tests[1], tests[0]]


def test_a_line_that_no_test_runs_itself_is_shown_to_its_room() -> None:
    """Child processes may run it; where the room has no tests, those of its wing are asked."""
    tests = [
        "tests/unit/cli/test_app.py::test_app",
        "tests/unit/core/rows/test_rules.py::test_rules",
        "tests/unit/core/test_record.py::test_record",
    ]
    coverage = Coverage(tests, {}, {})
    assert coverage.tests_for(mutant("patchkit/core/rows/target.py")) == tests[1:2]
    assert coverage.tests_for(mutant("patchkit/core/lock/files.py")) == tests[1:]


def test_tests_beyond_the_limit_are_left_out() -> None:
    """The first batch is over in seconds, and the second takes what the limit allows."""
    seconds = {"a": 8.0, "b": 20.0, "c": 1.0, "d": 40.0, "e": 9.0}
    assert list(judging.batches(list("abcde"), seconds, 60)) == [["a"], ["b", "c"]]
    assert list(judging.batches([], {}, 60)) == []


def test_durations_are_those_of_set_up_and_call() -> None:
    """They are read from pytest's table, whatever stands in the id of a test."""
    table = (
        "===== slowest durations =====\n"
        "1.50s call     tests/unit/test_a.py::test_a[x y]\n"
        "0.25s setup    tests/unit/test_a.py::test_a[x y]\n"
        "0.00s teardown tests/unit/test_b.py::test_b\n"
        "2 passed in 3.10s\n"
    )
    expected = {
        "tests/unit/test_a.py::test_a[x y]": 1.75,
        "tests/unit/test_b.py::test_b": 0.0,
    }
    assert durations(table) == expected


@pytest.mark.processes
def test_a_mutant_is_killed_by_a_test_that_fails_of_it(
    repository: Path, tmp_path: Path
) -> None:
    """One that never sees it or fails anyhow does not kill it; the copy is whole afterwards."""
    trees = judging.Trees(repository, tmp_path / "trees", 1)
    made = next(
        candidate
        for candidate in mutants_by_wing(repository, ["core"])["core"]
        if candidate.what == "comparison"
    )
    broken = "tests/unit/core/test_broken.py::test_broken"
    tree = trees.take()
    (tree / broken.partition("::")[0]).write_text(
        "def test_broken():\n    assert False\n"
    )
    trees.give_back(tree)
    for tests, killed in (([SEEN], True), ([UNSEEN], False), ([broken, UNSEEN], False)):
        coverage = Coverage(tests, {(made.file, made.first): tests}, {})
        assert judging.is_killed(made, coverage, trees, limit=60) is killed, tests
    original = (repository / made.file).read_text()
    assert (trees.take() / made.file).read_text() == original


@pytest.mark.processes
def test_a_mutant_that_makes_its_tests_hang_is_killed(
    repository: Path, tmp_path: Path
) -> None:
    """The tests are ended at the limit."""
    trees = judging.Trees(repository, tmp_path / "trees", 1)
    hanging = Mutant(
        "patchkit/core/numbers.py", 3, 3, "    while True: pass\n", "hangs"
    )
    coverage = Coverage([SEEN], {(hanging.file, 3): [SEEN]}, {})
    assert judging.is_killed(hanging, coverage, trees, limit=10)


def verdicts(killed: int, survived: int, wing: str) -> Sequence[Verdict]:
    """Some verdicts on mutants of one wing."""
    outcomes = [True] * killed + [False] * survived
    return [
        Verdict(mutant(f"patchkit/{wing}/module.py"), outcome) for outcome in outcomes
    ]


def test_the_whole_weighs_each_wing_by_its_mutants() -> None:
    """A wing of a quarter of all mutants is a quarter of the whole, however many were drawn."""
    judged = [*verdicts(9, 1, "core"), *verdicts(5, 5, "analysis")]
    assert figures(judged, {"core": 100, "analysis": 300}) == {
        "percent": 60.0,
        "sample": 20,
        "wings": {
            "analysis": {"percent": 50.0, "sample": 10},
            "core": {"percent": 90.0, "sample": 10},
        },
    }


def test_quality_prints_the_share_of_each_wing(tmp_path: Path) -> None:
    """`make quality` reads what `make mutants` has written, where it has."""
    candidate = figures(verdicts(3, 1, "core"), {"core": 10})
    (tmp_path / "mutants.json").write_text(json.dumps(candidate))
    values = {figure.key: figure.value for figure in measures._noted(tmp_path)}
    assert values == {"coverage": None, "mutants": 75.0, "mutants-core": 75.0}
