"""The lanes of `lanes.toml` as `make matrix` runs them, and digests of what their results say."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from folders import REPOSITORY
from recipes import RECIPES, Recipe

from patchkit.analysis.check.lanes import read_lanes, typed
from patchkit.analysis.check.packages import allows
from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.core.rows.canonical import canonical
from patchkit.errors import SettingsError, near
from patchkit.registry import OWN_PACKS, read_pack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from patchkit.analysis.check.lanes import Lane
    from patchkit.core.rows.declaration import Change, Row

FILE = REPOSITORY / "lanes.toml"
CODE = ("conformance", "simnpu")
"""Examples whose code decides what a lane's result says."""
FOLDERS_BESIDE = ("analysis", "authoring", "cli", "runtime/testing")
"""Folders of patchkit that no process of an engine runs."""
PACKS = ("data_llm", "platform", "worker")
"""Folders of patchkit of which `rows_digest` holds what a lane runs."""

CHECKS = {
    "engine": (
        "check",
        "apply",
        "engine",
        "flagship",
        "ray-v1",
        "ray-v2",
        "status",
        "outsider",
    ),
    "import": ("check", "apply"),
    "unit": ("unit",),
}
"""By what a lane runs, its checks."""
_FIELDS: Mapping[str, tuple[type[Any], str]] = {
    "releases": (dict, "a table"),
    "python": (str, "a version such as '3.11'"),
    "environment": (str, "the name of a recipe of lab/environments.py"),
    "runs": (str, f"one of {', '.join(CHECKS)}"),
    "without": (dict, "a table of checks with reasons"),
    "notes": (str, "a text"),
    "reason": (str, "why it cannot run"),
    "proof": (str, "what shows that it cannot run"),
}
_PROSE = {"why", "upstream", "sunset"}


@dataclass(frozen=True)
class Plan:
    """One lane.

    Args:
        name: as in `LANES=name,…`.
        releases: by distribution.
        python: of the environment.
        environment: a recipe.
        runs: a key of CHECKS; '' for a lane that cannot run.
        without: checks that are left out, with reasons.
        notes: what a reader of the table has to know.
        reason: why it cannot run, '' where it can.
        proof: what shows that.
    """

    name: str
    releases: Mapping[str, str]
    python: str = ""
    environment: str = ""
    runs: str = ""
    without: Mapping[str, str] | None = None
    notes: str = ""
    reason: str = ""
    proof: str = ""

    @property
    def checks(self) -> list[str]:
        """The checks that it runs."""
        return [
            one for one in CHECKS.get(self.runs, ()) if one not in (self.without or {})
        ]

    @property
    def words(self) -> str:
        """Its releases: `vllm 0.32.0, ray 2.60.0`; its Python where it has none."""
        releases = [f"{name} {release}" for name, release in self.releases.items()]
        return ", ".join(releases) or f"Python {self.python}"


def read_plans(file: Path = FILE) -> list[Plan]:
    """Read the lanes; SettingsError names file and field, what was found and expected."""
    return [_plan(file, lane) for lane in read_lanes(file).lanes]


def _plan(file: Path, lane: Lane) -> Plan:
    field, table = f"lanes.{lane.name}", dict(lane.table)
    for key, value in table.items():
        if key not in _FIELDS:
            hint = near(key, _FIELDS) or f", expected one of {', '.join(_FIELDS)}"
            raise SettingsError(f"{file}, {field}: found the unknown key {key!r}{hint}")
        kind, expected = _FIELDS[key]
        typed(file, f"{field}.{key}", value, kind, expected)
    needed = ("proof",) if lane.reason else ("python", "environment", "runs")
    for key in needed:
        typed(file, f"{field}.{key}", table.get(key), *_FIELDS[key])
    plan = Plan(
        lane.name, lane.releases, **{k: v for k, v in table.items() if k != "releases"}
    )
    if not plan.reason:
        _check_choices(file, field, plan)
    return plan


def _check_choices(file: Path, field: str, plan: Plan) -> None:
    _among(file, f"{field}.runs", plan.runs, CHECKS)
    for check in plan.without or {}:
        _among(file, f"{field}.without", check, CHECKS[plan.runs])


def _among(file: Path, field: str, found: str, known: Iterable[str]) -> None:
    if found not in known:
        expected = f"expected one of {', '.join(known)}"
        raise SettingsError(f"{file}, {field}: found {found!r}, {expected}")


def choose(
    plans: Sequence[Plan], names: Collection[str], file: Path = FILE
) -> list[Plan]:
    """Return the lanes that are named, all that can run where none is; SettingsError for others."""
    known = {plan.name: plan for plan in plans}
    for name in names:
        if name not in known:
            raise SettingsError(
                f"LANES: found {name!r}, expected some of {', '.join(known)}"
            )
        if known[name].reason:
            raise SettingsError(
                f"LANES: found {name}, which cannot run: {known[name].reason}"
            )
    chosen = [
        plan for plan in plans if (plan.name in names if names else not plan.reason)
    ]
    for plan in chosen:
        _among(file, f"lanes.{plan.name}.environment", plan.environment, RECIPES)
    return chosen


def only(plan: Plan, checks: Iterable[str]) -> Plan:
    """Leave out all checks of a lane but some; SettingsError for one that it has not."""
    for check in checks:
        if check not in plan.checks:
            expected = f"expected some of {', '.join(plan.checks)}"
            raise SettingsError(f"--checks: found {check!r} of {plan.name}, {expected}")
    rest = {check: "not asked for" for check in plan.checks if check not in checks}
    return replace(plan, without={**(plan.without or {}), **rest})


def names_in(text: str) -> list[str]:
    """Read names with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


# -- digests: prose, comments, docstrings and rows for other releases do not count ----------------


def all_rows() -> list[Row]:
    """Read the rows that lanes run: those of the packs that are on unless switched off."""
    return [row for pack in OWN_PACKS for row in read_pack(pack)]


def selected(plan: Plan, rows: Iterable[Row]) -> list[str]:
    """Name the rows whose range a lane is in, as far as its releases decide that; none without."""
    return [row.name for row in rows if plan.releases and _outside(plan, row) is None]


def why_outside(plan: Plan, name: str, rows: Iterable[Row]) -> str:
    """Say which bound of a row a lane is outside of; '' where it is inside, or there is no row."""
    reasons = (_outside(plan, row) for row in rows if row.name == name)
    return next(filter(None, reasons), "")


def _outside(plan: Plan, row: Row) -> str | None:
    parts = (row.patch.requires, *(change.requires for change in row.patch.changes))
    unmet = [_unmet(plan, texts) for texts in parts]
    return unmet[0] or (unmet[1] if all(unmet[1:]) else None)


def _unmet(plan: Plan, texts: Iterable[str]) -> str | None:
    for text in texts:
        for project, release in plan.releases.items():
            if not allows([text], project, release):
                return f"{project} {release} is outside {text}"
    return None


def rows_digest(plan: Plan, rows: Sequence[Row]) -> str:
    """Hash what the rows that a lane is in the range of declare and do."""
    names = set(selected(plan, rows))
    return _hash(
        text for row in rows if row.name in names for text in _texts(plan, row)
    )


def _texts(plan: Plan, row: Row) -> Iterator[str]:
    left_out = {*_PROSE, "changes", "requires"}
    if vars(row.patch).get("verify") is None:
        left_out.add("verify")  # newer than some results
    yield canonical(
        {key: one for key, one in vars(row.patch).items() if key not in left_out}
    )
    yield from map(
        _change, (c for c in row.patch.changes if _unmet(plan, c.requires) is None)
    )
    if row.patch.body is not None:
        yield from (f"{name} {source}" for name, source in _sources(row.body).items())


def _change(change: Change) -> str:
    fields = {key: one for key, one in vars(change).items() if key != "requires"}
    if not fields.get("sets"):
        fields.pop("sets", None)  # newer than some results
    return f"{change.kind} {canonical(fields)}"


def _sources(body: str) -> dict[str, str]:
    """Hash a body, and the modules of its package that it imports."""
    package, found, left = body.rpartition(".")[0], dict[str, str](), [body]
    while left:
        name = left.pop()
        tree = ast.parse(_file(name).read_text("utf-8"))
        found[name] = of_nodes([tree])
        near_by = [one for one in _imported(tree, package) if one not in found]
        left += [one for one in near_by if _file(one).exists()]
    return dict(sorted(found.items()))


def _file(module: str) -> Path:
    *outer, last = module.split(".")
    folder = next(iter(sys.modules[".".join(outer)].__path__))
    return Path(folder) / f"{last}.py"


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            yield from (f"{package}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                [node.module] if node.module.rpartition(".")[0] == package else []
            )


def lane_digest(plan: Plan) -> str:
    """Hash what decides how a lane is run, in the file."""
    return _hash(
        [canonical({key: one for key, one in vars(plan).items() if key != "notes"})]
    )


def code_digest(plan: Plan) -> str:
    """Hash the recipe of a lane's environment, and the code that it runs."""
    recipe = RECIPES.get(plan.environment, Recipe(()))
    words = re.sub(r" at 0x\w+", "", repr(recipe)).replace(str(REPOSITORY), "")
    code = _unit_files() if plan.runs == "unit" else _engine_files()
    return _hash([words, *map(_meaning, [*_recipe_files(recipe), *code])])


def _recipe_files(recipe: Recipe) -> Iterator[Path]:
    for layer in recipe.layers:
        yield from layer.watched
        if layer.build is not None:
            yield from _files(Path(inspect.getfile(layer.build)).parent, "*.py")


def _engine_files() -> Iterator[Path]:
    """Yield what runs in the processes of an engine; rows count by themselves."""
    package = REPOSITORY / "patchkit"
    left_out = [package / folder for folder in (*FOLDERS_BESIDE, *PACKS)]
    for file in _files(package, "*.py"):
        if not any(file.is_relative_to(folder) for folder in left_out):
            yield file
    for name in CODE:
        yield from _files(REPOSITORY / "examples" / name, "*.py")


def _unit_files() -> Iterator[Path]:
    yield REPOSITORY / "pyproject.toml"
    for folder in ("patchkit", "tests/unit"):
        yield from _files(REPOSITORY / folder, "*")


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    for file in sorted(folder.rglob(pattern)):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file


def _meaning(file: Path) -> str:
    content = file.read_bytes() if file.exists() else b""
    return _meaning_of(file.name, content)


@functools.cache
def _meaning_of(name: str, content: bytes) -> str:
    """Hash a file: Python by what it says, all else byte for byte."""
    if name.endswith(".py"):
        return f"{name} {of_nodes([ast.parse(content)])}"
    return f"{name} {hashlib.sha256(content).hexdigest()}"


def digests(plan: Plan, rows: Sequence[Row]) -> dict[str, Any]:
    """Hash all that a lane's result depends on."""
    return {
        "rows": rows_digest(plan, rows),
        "lane": lane_digest(plan),
        "code": code_digest(plan),
    }


def _hash(texts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(text.encode() + b"\0")
    return whole.hexdigest()[:16]
