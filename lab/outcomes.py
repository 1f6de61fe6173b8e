"""Run the checks of a lane in its environment, and read what they found."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import children
from folders import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from lanes import Plan

_RESULT = ("check", "result", "seconds", "detail")
_OWN_TESTS = REPOSITORY / "tests" / "unit" / "lab" / "test_compatibility.py"
"""These hold the table to the results of the lanes, which are not there yet."""
_FOREIGN = ("PYTHON", "PYTEST_")
"""Variables that decide what a Python or a pytest does, whoever started `make matrix`."""


@dataclass(frozen=True)
class Asked:
    """How the checks of a lane are run.

    Args:
        python: of the lane's environment.
        variables: that its processes need.
        told: where conformance checks write their report.
        log: where all output goes.
        limit: seconds.
        tell: hears each line.
    """

    python: Path
    variables: Mapping[str, str]
    told: Path
    log: Path
    limit: float
    tell: Callable[[str], None]


def results(plan: Plan, asked: Asked) -> dict[str, Any]:
    """Run the checks of a lane; return what they found."""
    asked.told.unlink(missing_ok=True)
    command = _unit(asked.python) if plan.runs == "unit" else _conformance(plan, asked)
    kept = {
        name: one for name, one in os.environ.items() if not name.startswith(_FOREIGN)
    }
    environ = {**kept, **asked.variables}
    status = children.run(command, environ, asked.log, asked.limit, asked.tell)
    if plan.runs == "unit":
        return {
            "results": [_of_pytest(status, asked.log.read_text("utf-8", "replace"))]
        }
    ended = f"its {asked.limit:.0f} s were over" if status is None else f"exit {status}"
    return _of_conformance(status, ended, asked.told)


def failed(check: str, detail: str) -> dict[str, Any]:
    """Return the result of a check that failed."""
    return {"check": check, "result": "failed", "seconds": 0, "detail": detail}


def _conformance(plan: Plan, asked: Asked) -> list[str]:
    command = [str(asked.python), "-m", "patchkit_conformance", "--simulated"]
    return [*command, "--json", str(asked.told), "--checks", ",".join(plan.checks)]


def _unit(python: Path) -> list[str]:
    tests = REPOSITORY / "tests" / "unit"
    options = ["-q", "-n", "2", "--dist", "worksteal", "--ignore", str(_OWN_TESTS)]
    return [str(python), "-m", "pytest", str(tests), *options]


def _of_pytest(status: int | None, log: str) -> dict[str, Any]:
    summaries = re.findall(r"^(?:=+ )?(\d+ .*) in [\d.]+s", log, re.MULTILINE)
    detail = summaries[-1] if summaries else "no summary"
    if status != 0:
        red = re.findall(r"^(?:FAILED|ERROR) .*", log, re.MULTILINE)
        return failed("unit", "; ".join([f"exit {status}, {detail}", *red[:3]]))
    if not re.search(r"\b[1-9]\d* passed", detail):
        return failed("unit", f"exit 0, {detail}: expected tests that passed")
    return {"check": "unit", "result": "passed", "seconds": 0, "detail": detail}


def _of_conformance(status: int | None, ended: str, told: Path) -> dict[str, Any]:
    try:
        found = json.loads(told.read_text("utf-8"))
    except (OSError, ValueError):
        return {"results": [failed("conformance", f"no report, {ended}: see its log")]}
    kept = {key: found[key] for key in ("simulated", "simulation")}
    kept["results"] = [_kept(one) for one in found["results"]]
    if status != 0 and not any(one["result"] == "failed" for one in kept["results"]):
        kept["results"].append(failed("conformance", ended))
    return kept


def _kept(one: Mapping[str, Any]) -> dict[str, Any]:
    rows = {"rows": one["rows"]} if one.get("rows") else {}
    return {name: one[name] for name in _RESULT} | rows


# -- rows: those that a lane is in the range of are those that acted in it -------------------------


def lost_rows(why: Mapping[str, str]) -> str:
    """Say which rows the lane was in the range of in its last kept result, and no longer is."""
    told = "; ".join(
        f"row {name} is out: {words or 'it is gone'}" for name, words in why.items()
    )
    meant = "if that is meant, take it from `selected` in docs/compatibility.json"
    return f"{told}; {meant}" if told else ""


def other_rows(found: Mapping[str, Any]) -> str:
    """Say which rows were applied and not expected, or expected and not applied; '' for none."""
    for one in found["results"]:
        if one["result"] == "passed" and "rows" in one:
            return "; ".join(_apart(one["rows"], found["selected"]))
    return ""


def _apart(applied: Sequence[str], selected: Sequence[str]) -> list[str]:
    left = [f"row {name} was not applied" for name in selected if name not in applied]
    more = [
        f"row {name} was applied, out of its range"
        for name in applied
        if name not in selected
    ]
    return [*left, *more]
