"""`patchkit doctor`: find what keeps patches from being applied."""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import click

from patchkit.analysis.check.loading import load_faults
from patchkit.analysis.check.requiring import unrequired
from patchkit.cli import options
from patchkit.cli.health import (
    contradicted,
    edited_files,
    lost_names,
    unread_pack,
    unread_packs,
    ways_of_pack,
)
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.doctor import print_doctor
from patchkit.cli.report.here import HealthLine
from patchkit.cli.report.words import count
from patchkit.cli.ways_in import NotCarried, ways_in
from patchkit.core.engines.engine import Engine
from patchkit.core.engines.entry_points import (
    installed_engines,
    installed_packs,
    installed_processes,
)
from patchkit.core.lock.files import Locks
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.errors import LockError, PatchkitError, VersionError, near
from patchkit.ray import NEXT_VARIABLE
from patchkit.registry import (
    Registry,
    is_own_pack,
    packs_for,
    read_pack,
)
from patchkit.runtime.process.roles import PARENT_VARIABLE, ROLE_VARIABLE
from patchkit.settings import VARIABLES, Settings

_SLIP = 0.7
"""From here on, the name of a pack is taken for a slip of another."""


@click.command("doctor")
@options.patches_option
@options.format_option
def command(packs: tuple[str, ...], form: str) -> int:
    """Find out what keeps patches from being applied.

    Checks versions, packs, conflicts, locks, settings and ways in. Exit code 1 means that
    something is marked warn or bad.

    \b
    Examples:
      patchkit doctor
      patchkit run -- patchkit doctor       as a process that `run` starts sees it
      patchkit doctor --format json | jq '.checks[] | select(.mark == "bad")'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    lines = list(
        _health_lines(options.selection_of(Settings.read()), os.environ, packs)
    )
    findings = sum(line.mark in {"warn", "bad"} for line in lines)
    if form == "json":
        click.echo(
            to_json(
                {"checks": [line._asdict() for line in lines], "findings": findings}
            )
        )
    else:
        print_doctor(lines)
    return int(findings > 0)


def _health_lines(
    selection: Selection, environ: Mapping[str, str], packs: Collection[str]
) -> Iterator[HealthLine]:
    """Check everything, topic by topic, and yield the lines of the report.

    Args:
        selection: Tells which rows apply here.
        environ: The variables of this process.
        packs: The packs of the command line.
    """
    rows, lines_of_packs = _read_packs(selection.settings, packs)
    try:
        engines = installed_engines()
        processes = installed_processes(engines=engines)
        registry = Registry(rows, engines, processes)
    except PatchkitError as error:
        # With an empty registry, the other topics are still checked.
        registry = Registry()
        lines_of_packs.append(HealthLine("packs", "bad", "all together", str(error)))
    yield HealthLine("python", "note", sys.version.split()[0], sys.executable)
    distributions = options.required_distributions(rows)
    engines_here = _engines_here(registry.engines)
    for name in dict.fromkeys((*engines_here, *distributions)):
        yield _version(selection.versions, name, is_engine=name in engines_here)
    yield from lost_names(registry.engines)
    yield from lines_of_packs
    read = packs_for(selection.settings, packs)
    unread = unread_packs(read)
    yield from map(unread_pack, unread)
    yield from _bodies(rows)
    yield from edited_files(rows)
    yield from _selection_lines(registry, selection)
    yield from _reviews(registry, selection)
    yield from _settings(environ, selection.settings, {row.name for row in rows})
    origins = {name: _origin(name, selection.settings) for name in read}
    of_project = [name for name in read if origins[name] == _FROM_PROJECT]
    of_option = [name for name in read if origins[name] == _FROM_OPTION]
    # Only this command reads pyproject.toml and `--patches`: other processes get no such pack.
    not_carried = NotCarried((*of_project, *unread), tuple(of_option))
    present = [each for each in registry.engines if each.package in engines_here]
    yield from ways_in(environ, not_carried=not_carried, engines=present)


def _bodies(rows: Iterable[Row]) -> Iterator[HealthLine]:
    """Yield a line for each body that cannot be loaded, and each misspelled requirement."""
    rows = list(rows)
    for name, fault in load_faults(rows).items():
        yield HealthLine("packs", "bad", name, f"{fault}; {fault.fix}")
    for row in rows:
        for package in unrequired(row):
            if package.slip:
                yield HealthLine("packs", "bad", row.name, str(package))


def _engines_here(engines: Iterable[Engine]) -> list[str]:
    """Name the engines that are installed; the first one that patchkit knows if there is none."""
    packages = [engine.package for engine in engines]
    return list(filter(Versions().find, packages)) or packages[:1]


def _version(versions: Versions, name: str, *, is_engine: bool) -> HealthLine:
    """Return the line on the version of a distribution, and where the version comes from."""
    try:
        version = versions.find(name)
        if version is None:
            # Rows for a distribution that is not installed just do not apply.
            severity = "warn" if is_engine else "note"
            return HealthLine("versions", severity, name, "not installed")
        counts_as = version.counts_as
    except VersionError as error:
        return HealthLine("versions", "bad", name, str(error))
    text = version.version
    if counts_as != version.version:
        text += f", counts as {counts_as}"
    text += f" ({version.source})"
    contradiction = contradicted(version)
    if contradiction:
        return HealthLine("versions", "warn", name, f"{text}, {contradiction}")
    return HealthLine("versions", "ok", name, text)


def _read_packs(
    settings: Settings, packs: Collection[str]
) -> tuple[list[Row], list[HealthLine]]:
    """Read the rows of all packs, installed and named; return them with a line for each pack."""
    rows: list[Row] = []
    lines: list[HealthLine] = []
    packs_here = Project.read().packs_here()
    for name in packs_for(settings, packs):
        try:
            rows_of_pack = read_pack(name)
        except PatchkitError as error:
            message = str(error)
            if name not in packs_here:
                message += near(name, packs_here, likeness=_SLIP)
            lines.append(HealthLine("packs", "bad", name or "''", message))
            continue
        rows += rows_of_pack
        origin = _origin(name, settings)
        message = f"{count(len(rows_of_pack), 'patch')}, {origin}"
        mark = "ok"
        if origin == _FROM_PROJECT:  # read by commands here, not by every process
            mark = "warn"
            message += f", {ways_of_pack(name)}"
        lines.append(HealthLine("packs", mark, name, message))
    return rows, lines


_FROM_PROJECT = "from pyproject.toml"
_FROM_OPTION = "from --patches"


def _origin(name: str, settings: Settings) -> str:
    """Return where the name of a pack comes from, for the report."""
    if is_own_pack(name):
        return "patchkit's own"
    if name in installed_packs():
        return "installed"
    if name in settings.packs:
        return "from PATCHKIT_PATCHES"
    if name in Project.read().packs:
        return _FROM_PROJECT
    return _FROM_OPTION


def _selection_lines(registry: Registry, selection: Selection) -> Iterator[HealthLine]:
    """Yield lines on how many patches apply here, which of them conflict or have no process."""
    selected = [
        row for row in registry if options.reason(selection.reason_to_skip, row) is None
    ]
    share = f"{len(selected)} of {count(len(registry), 'patch')}"
    yield HealthLine("patches", "note", "selected", share)
    names = {row.name for row in selected}
    for row in selected:
        for name in sorted(row.patch.conflicts):
            if name in names:
                message = (
                    f"conflicts with {name}, which is selected too: PATCHKIT_DISABLE "
                    "one of them"
                )
                yield HealthLine("patches", "bad", row.name, message)
    for name, message in options.without_process(registry, selection):
        yield HealthLine("patches", "warn", name, message)


def _reviews(rows: Iterable[Row], selection: Selection) -> Iterator[HealthLine]:
    """Compare the targets of rows that apply here with their locks, pack by pack."""
    # With `on_drift="skip"`, rows whose targets changed would not apply, and not be reported here.
    settings_without_drift = replace(selection.settings, on_drift="warn")
    selection_without_drift = replace(selection, settings=settings_without_drift)
    rows_by_pack: dict[str, list[Row]] = {}
    for row in rows:
        if options.reason(selection_without_drift.reason_to_skip, row) is None:
            rows_by_pack.setdefault(row.pack, []).append(row)
    locks = Locks(selection.settings.lock)
    for pack in sorted(rows_by_pack):
        try:
            yield from _reviews_of_pack(pack, rows_by_pack[pack], locks, selection)
        except LockError as error:
            yield HealthLine("locks", "bad", pack, str(error))


def _reviews_of_pack(
    pack: str, rows: Collection[Row], locks: Locks, selection: Selection
) -> Iterator[HealthLine]:
    """Yield the line on the lock of a pack, and one for each row whose targets have changed.

    Args:
        pack: The pack.
        rows: Its rows that apply here.
        locks: The locks.
        selection: Compares targets with the lock.

    Raises:
        LockError: The lock cannot be read.
    """
    files = [locks.file(row) for row in rows if locks.of(row) is not None]
    # All rows of a pack are in one lock. But if that is a file of the user's, it may have only some
    # rows of an installed pack.
    if len(files) < len(rows):
        yield HealthLine(
            "locks", "note", pack, "none: changes of their targets are not noticed"
        )
        return
    differences = {row.name: selection.unreviewed(row) for row in rows}
    unchanged = [name for name, difference in differences.items() if not difference]
    severity = "ok" if len(unchanged) == len(rows) else "note"
    share = f"{len(unchanged)} of {count(len(rows), 'patch')}"
    yield HealthLine(
        "locks", severity, pack, f"{share} unchanged since review, {files[-1]}"
    )
    for name, difference in differences.items():
        if difference:
            yield HealthLine("locks", "warn", name, difference)


def _settings(
    environ: Mapping[str, str], settings: Settings, names: Collection[str]
) -> Iterator[HealthLine]:
    """Yield lines on the variables of patchkit that are set, and on mistakes in them.

    Args:
        environ: The variables of this process.
        settings: The settings that were read from them.
        names: The names of all patches.
    """
    variables = {*VARIABLES, ROLE_VARIABLE, PARENT_VARIABLE, NEXT_VARIABLE}
    for variable in sorted(variables & environ.keys()):
        yield HealthLine("settings", "note", variable, environ[variable])
    for variable in sorted(environ.keys() - variables):
        if variable.startswith("PATCHKIT_"):
            message = f"no setting of patchkit{near(variable, variables)}"
            yield HealthLine("settings", "warn", variable, message)
    yield from _patches_not_found("PATCHKIT_DISABLE", settings.disabled, names)
    yield from _patches_not_found("PATCHKIT_ONLY", settings.only or (), names)


def _patches_not_found(
    variable: str, patches: Iterable[str], names: Collection[str]
) -> Iterator[HealthLine]:
    """Yield a warning for each patch that a variable names, and that does not exist."""
    for patch in patches:
        if patch not in names:
            message = f"no patch is named {patch!r}{near(patch, names)}"
            yield HealthLine("settings", "warn", variable, message)
