"""What `patchkit doctor` looks at: what is here, what is asked for, what stands in the way."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from patchkit.check.declarations import unordered
from patchkit.cli.reviews_here import reviews
from patchkit.cli.rows import distributions, reason_to_skip
from patchkit.cli.ways_in import ways_in
from patchkit.errors import PatchkitError, VersionError, near
from patchkit.process.roles import PARENT_VARIABLE, ROLE_VARIABLE
from patchkit.ray import NEXT_VARIABLE
from patchkit.registry import OWN_PACKS, Registry, installed_packs, packs_for, read_pack
from patchkit.report.here import HealthLine
from patchkit.report.words import count
from patchkit.rows.project import Project
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from patchkit.rows.declaration import Change, Row
    from patchkit.rows.selection import Selection
    from patchkit.settings import Settings
    from patchkit.versions.installed import Versions

_HEAVY = ("vllm", "torch", "ray")


def health(
    selection: Selection, environ: Mapping[str, str], extra: Collection[str] = ()
) -> list[HealthLine]:
    """Look at everything that decides on patches here; `extra` are packs of `--patches`."""
    rows: list[Row] = []
    packs = list(_packs(selection.settings, extra, rows))
    registry, order = _registry(rows)
    return [
        HealthLine("python", "note", sys.version.split()[0], sys.executable),
        *_versions(selection.versions, rows),
        *packs,
        *order,
        *_selection(registry, selection),
        *reviews(registry, selection),
        *_settings(environ, selection.settings, {row.name for row in rows}),
        *ways_in(environ),
    ]


def _versions(versions: Versions, rows: Collection[Row]) -> Iterator[HealthLine]:
    for name in dict.fromkeys(("vllm", *distributions(rows))):
        yield _version(versions, name)


def _version(versions: Versions, name: str) -> HealthLine:
    try:
        found = versions.find(name)
        if found is None:
            mark = "warn" if name == "vllm" else "note"
            return HealthLine("versions", mark, name, "not installed")
        counts_as = found.counts_as
    except VersionError as error:
        return HealthLine("versions", "bad", name, str(error))
    note = "" if counts_as == found.version else f", counts as {counts_as}"
    return HealthLine("versions", "ok", name, f"{found.version}{note} ({found.source})")


def _packs(settings: Settings, extra: Collection[str], rows: list[Row]) -> Iterator[HealthLine]:
    """Read every pack into `rows`, and say how each went."""
    for name in packs_for(settings, extra):
        there = {heavy for heavy in _HEAVY if heavy in sys.modules}
        try:
            read = read_pack(name)
        except PatchkitError as error:
            yield HealthLine("packs", "bad", name, str(error))
            continue
        rows += read
        yield HealthLine(
            "packs", "ok", name, f"{count(len(read), 'patch')}, {_origin(name, settings)}"
        )
        slow = [heavy for heavy in _HEAVY if heavy in sys.modules and heavy not in there]
        if slow:
            message = f"reading it imports {', '.join(slow)}: slow, and in every process"
            yield HealthLine("packs", "warn", name, message)


def _origin(name: str, settings: Settings) -> str:
    if name in OWN_PACKS:
        return "patchkit's own"
    if name in installed_packs():
        return "installed"
    if name in settings.packs:
        return "from PATCHKIT_PATCHES"
    return "from pyproject.toml" if name in Project.read().packs else "from --patches"


def _registry(rows: Collection[Row]) -> tuple[Registry, list[HealthLine]]:
    try:
        return Registry(rows), []
    except PatchkitError as error:
        return Registry(), [HealthLine("packs", "bad", "all together", str(error))]


def _selection(registry: Registry, selection: Selection) -> Iterator[HealthLine]:
    selected = [row for row in registry if reason_to_skip(row, selection) is None]
    yield HealthLine(
        "patches", "note", "selected", f"{len(selected)} of {count(len(registry), 'patch')}"
    )
    names = {row.name for row in selected}
    for row in selected:
        for other in names & set(row.patch.conflicts):
            message = f"conflicts with {other}, which is selected too: PATCHKIT_DISABLE one of them"
            yield HealthLine("patches", "bad", row.name, message)
    for target, inner, outer in unordered(selected, partial(_applies, selection)):
        message = f"changes {target} too, and nothing says which comes first; add it to `after`"
        yield HealthLine("patches", "warn", f"{inner}, {outer}", message)


def _applies(selection: Selection, row: Row, change: Change) -> bool:
    try:
        return selection.applies(change, row)
    except VersionError:
        return True


def _settings(
    environ: Mapping[str, str], settings: Settings, names: Collection[str]
) -> Iterator[HealthLine]:
    known = {*VARIABLES, ROLE_VARIABLE, PARENT_VARIABLE, NEXT_VARIABLE}
    for variable in sorted(name for name in environ if name in known):
        yield HealthLine("settings", "note", variable, environ[variable])
    for variable in sorted(environ):
        if variable.startswith("PATCHKIT_") and variable not in known:
            message = f"no setting of patchkit{near(variable, known)}"
            yield HealthLine("settings", "warn", variable, message)
    named = {"PATCHKIT_DISABLE": settings.disabled, "PATCHKIT_ONLY": settings.only or ()}
    for variable, words in named.items():
        for word in (word for word in words if word not in names):
            message = f"no patch is named {word!r}{near(word, names)}"
            yield HealthLine("settings", "warn", variable, message)
