"""`patchkit doctor`: is anything in the way?"""

import os
import site
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from itertools import groupby
from pathlib import Path

import click

from patchkit.cli import options
from patchkit.cli.commands.run import WAY_IN
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.doctor import print_doctor
from patchkit.cli.report.here import HealthLine
from patchkit.cli.report.words import count
from patchkit.core.lock.files import Locks
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.errors import LockError, PatchkitError, VersionError, near
from patchkit.ray import NEXT_VARIABLE
from patchkit.registry import (
    OWN_PACKS,
    Registry,
    installed_packs,
    installed_processes,
    packs_for,
    read_pack,
)
from patchkit.runtime.bootstrap.install import ABSENT, FOREIGN, INSTALLED, look
from patchkit.runtime.process.roles import PARENT_VARIABLE, ROLE_VARIABLE
from patchkit.settings import VARIABLES, Settings


@click.command("doctor")
@options.patches_option
@options.format_option
def command(packs: tuple[str, ...], form: str) -> int:
    """Look for what keeps patches from being applied.

    Versions, packs, conflicts, locks, settings, ways in. Exit code 1 means that there is
    something to look at, marked warn or bad.

    \b
    Examples:
      patchkit doctor
      patchkit run -- patchkit doctor       as a process that `run` starts sees it
      patchkit doctor --format json | jq '.checks[] | select(.mark == "bad")'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    lines = list(_health(options.selection_of(Settings.read()), os.environ, packs))
    findings = sum(line.mark in {"warn", "bad"} for line in lines)
    if form == "json":
        click.echo(to_json({"checks": [line._asdict() for line in lines], "findings": findings}))
    else:
        print_doctor(lines)
    return 1 if findings else 0


def _health(
    selection: Selection, environ: Mapping[str, str], extra: Collection[str]
) -> Iterator[HealthLine]:
    rows: list[Row] = []
    packs = list(_packs(selection.settings, extra, rows))
    try:
        registry = Registry(rows, installed_processes())
    except PatchkitError as error:
        registry = Registry()
        packs.append(HealthLine("packs", "bad", "all together", str(error)))
    yield HealthLine("python", "note", sys.version.split()[0], sys.executable)
    for name in dict.fromkeys(("vllm", *options.required_distributions(rows))):
        yield _version(selection.versions, name)
    yield from packs
    yield from _selected(registry, selection)
    yield from _reviews(registry, selection)
    yield from _settings(environ, selection.settings, {row.name for row in rows})
    yield from ways_in(environ)


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
    for name in packs_for(settings, extra):
        try:
            read = read_pack(name)
        except PatchkitError as error:
            yield HealthLine("packs", "bad", name, str(error))
            continue
        rows += read
        message = f"{count(len(read), 'patch')}, {_origin(name, settings)}"
        yield HealthLine("packs", "ok", name, message)


def _origin(name: str, settings: Settings) -> str:
    if name in OWN_PACKS:
        return "patchkit's own"
    if name in installed_packs():
        return "installed"
    if name in settings.packs:
        return "from PATCHKIT_PATCHES"
    return "from pyproject.toml" if name in Project.read().packs else "from --patches"


def _selected(registry: Registry, selection: Selection) -> Iterator[HealthLine]:
    selected = [row for row in registry if options.reason(selection.reason_to_skip, row) is None]
    share = f"{len(selected)} of {count(len(registry), 'patch')}"
    yield HealthLine("patches", "note", "selected", share)
    names = {row.name for row in selected}
    for row in selected:
        for other in names & set(row.patch.conflicts):
            message = f"conflicts with {other}, which is selected too: PATCHKIT_DISABLE one of them"
            yield HealthLine("patches", "bad", row.name, message)
    for name, message in options.without_process(registry, selection):
        yield HealthLine("patches", "warn", name, message)


def _reviews(rows: Iterable[Row], selection: Selection) -> Iterator[HealthLine]:
    anyway = replace(selection, settings=replace(selection.settings, on_drift="warn"))
    due = [row for row in rows if options.reason(anyway.reason_to_skip, row) is None]
    locks = Locks(selection.settings.lock)
    for pack, group in groupby(sorted(due, key=lambda row: row.pack), lambda row: row.pack):
        try:
            yield from _reviews_of_pack(pack, list(group), locks, selection)
        except LockError as error:
            yield HealthLine("locks", "bad", pack, str(error))


def _reviews_of_pack(
    pack: str, rows: Collection[Row], locks: Locks, selection: Selection
) -> Iterator[HealthLine]:
    files = [locks.file(row) for row in rows if locks.of(row) is not None]
    if len(files) < len(rows):
        yield HealthLine("locks", "note", pack, "none: changes of their targets are not noticed")
        return
    differences = {row.name: selection.unreviewed(row) for row in rows}
    fine = sum(not words for words in differences.values())
    mark = "ok" if fine == len(rows) else "note"
    share = f"{fine} of {count(len(rows), 'patch')}"
    yield HealthLine("locks", mark, pack, f"{share} unchanged since review, {files[-1]}")
    for name, words in differences.items():
        if words:
            yield HealthLine("locks", "warn", name, words)


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


_way = partial(HealthLine, "ways in")
_PLUGINS = ("vllm.platform_plugins", "vllm.general_plugins")


def ways_in(
    environ: Mapping[str, str], folders: Iterable[str] | None = None
) -> Iterator[HealthLine]:
    """Say which ways in are active; `.pth` files count in `folders`, else in this Python's."""
    places = _site_folders() if folders is None else folders
    looks = ((folder, look(Path(folder)).state) for folder in places)
    bootstrap = next((one for one in looks if one[1] not in {ABSENT, FOREIGN}), None)
    under_run = WAY_IN in environ.get("PYTHONPATH", "").split(os.pathsep)
    switch = environ.get("PATCHKIT", "").strip()
    if switch == "0":
        yield _way("warn", "PATCHKIT=0", "patchkit does nothing, by whichever way it comes")
    elif switch == "1" and bootstrap is None and not under_run:
        yield _way("warn", "PATCHKIT=1", "arms nothing by itself: there is no bootstrap here")
    yield _plugin(environ.get("VLLM_PLUGINS"))
    if under_run:
        yield _way("ok", "patchkit run", "active: this process was started by it")
    else:
        yield _way("note", "patchkit run", "not active: this process was not started by it")
    yield _bootstrap(bootstrap, switch)


def _bootstrap(found: tuple[str, str] | None, switch: str) -> HealthLine:
    if found is None:
        return _way("note", "bootstrap", "not installed")
    folder, state = found
    if state != INSTALLED:
        message = f"{state}: 'patchkit bootstrap install' puts it right, in {folder}"
        return _way("warn", "bootstrap", message)
    if switch == "1":
        return _way("ok", "bootstrap", f"active, in {folder}")
    return _way("note", "bootstrap", f"installed, waits for PATCHKIT=1, in {folder}")


def _plugin(allowed: str | None) -> HealthLine:
    found = (entry for group in _PLUGINS for entry in entry_points(group=group))
    names = sorted({entry.name for entry in found if entry.value.startswith("patchkit.")})
    if not names:
        return _way("note", "vLLM plugin", "not installed here")
    left_out = [name for name in names if allowed is not None and name not in allowed.split(",")]
    if left_out:
        message = f"VLLM_PLUGINS={allowed} leaves out {', '.join(left_out)}: vLLM will not load it"
        return _way("warn", "vLLM plugin", message)
    return _way("ok", "vLLM plugin", "installed: active in every vLLM process")


def _site_folders() -> list[str]:
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [folder for folder in (*site.getsitepackages(), *user) if folder in sys.path]
