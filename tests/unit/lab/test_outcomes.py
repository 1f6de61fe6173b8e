"""What a lane's checks are run with, and what is read of what they said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lanes
import outcomes
import pytest

pytestmark = pytest.mark.processes

UNIT = lanes.Plan("python-3.11", {}, "3.11", "unit", "unit")
ENGINE = lanes.Plan("1", {"vllm": "1"}, "3.11", "unit", "import")


def outcome_of(folder: Path, script: str, plan: lanes.Plan = UNIT) -> dict[str, Any]:
    """Run the checks of a lane whose Python is a script, and return what is read of them."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    variables = {"PYTHON_OF_LANE": "1"}
    report = folder / "told.json"
    log = folder / "log"
    asked = outcomes.Asked(python, variables, report, log, 30, lambda _: None)
    return outcomes.results(plan, asked)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 9 passed, 1 skipped in 0.1s", ("passed", "9 passed, 1 skipped")),
        (
            "echo 9 tests collected in 0.1s",
            ("failed", "exit 0, 9 tests collected: expected"),
        ),
        (
            "echo 9 skipped in 0.1s",
            ("failed", "exit 0, 9 skipped: expected tests that passed"),
        ),
        (
            "echo 0 passed in 0.1s",
            ("failed", "exit 0, 0 passed: expected tests that passed"),
        ),
        ("true", ("failed", "exit 0, no summary: expected tests that passed")),
        (
            "echo FAILED a; echo 1 failed, 9 passed in 0.1s; exit 1",
            ("failed", "exit 1, 1 failed, 9 passed; FAILED a"),
        ),
    ],
)
def test_unit_tests_have_to_pass(
    script: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    """An exit code alone says nothing: pytest may have collected only."""
    result, detail = expected
    (check,) = outcome_of(tmp_path, script)["results"]
    assert check["result"] == result
    assert check["detail"].startswith(detail)


def test_the_tests_that_a_lane_leaves_out_are_there(tmp_path: Path) -> None:
    """A lane of unit tests leaves out those of the table that it is to fill."""
    outcome_of(tmp_path, f'echo "$@" > {tmp_path}/words')
    *_, option, left_out = (tmp_path / "words").read_text().split()
    assert option == "--ignore"
    assert left_out.endswith("test_compatibility.py")
    assert Path(left_out).is_file()


def test_the_callers_variables_decide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its variables for Python and pytest are left out, and those of the lane itself stay."""
    for name in ("PYTEST_ADDOPTS", "PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, "x")
    outcome_of(tmp_path, f"env > {tmp_path}/env")
    names = [
        line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()
    ]
    assert [name for name in names if name.startswith(("PYTEST", "PYTHON"))] == [
        "PYTHON_OF_LANE"
    ]


def test_rows_that_were_applied_are_kept(tmp_path: Path) -> None:
    """The check that says so has their names, one of an older report none; strays are named."""
    check = {
        "check": "apply",
        "result": "passed",
        "seconds": 1,
        "detail": "",
        "log": "x",
    }
    report = {
        "simulated": True,
        "simulation": [],
        "results": [{**check, "rows": ["p"]}, check],
    }
    text = json.dumps(report)
    script = f"echo '{text}' > {tmp_path}/told.json"
    results = outcome_of(tmp_path, script, ENGINE)["results"]
    assert [kept.get("rows") for kept in results] == [["p"], None]
    assert outcomes.other_rows({"results": results, "selected": ["p"]}) == ""
    assert outcomes.other_rows({"results": results, "selected": []}) == (
        "row p was applied, out of its range"
    )
