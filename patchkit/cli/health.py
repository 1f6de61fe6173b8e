"""Checks for `doctor`: overridden versions, edited files, packs and engines that are amiss."""

import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from patchkit.analysis.check.packages import package_of
from patchkit.cli.report.here import HealthLine
from patchkit.cli.report.words import count
from patchkit.core.engines.engine import Engine
from patchkit.core.engines.entry_points import GROUP, own_engines
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project, entry_points_of
from patchkit.core.rows.target import Target
from patchkit.core.versions.distributions import ProviderSearch
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import FoundVersion, canonical
from patchkit.errors import UpstreamError, VersionError
from patchkit.runtime.drift import InstalledSource
from patchkit.settings import Settings

_SECONDS = 1.0
"""The time for comparing installed files; files with targets are compared even after that."""
_MOST_NAMED_FILES = 5

_NAMING = ("target", "actor", "call")
"""Ways to recognize a process that name a function or a class."""


def contradicted(version: FoundVersion) -> str:
    """Return a warning if an environment variable names another version than is installed.

    Args:
        version: The version that is used.

    Returns:
        The end of a message; '' where no other version is known to be installed.
    """
    if version.source not in ("VLLM_VERSION", "PATCHKIT_VERSIONS"):
        return ""
    # Without settings, this finds what is installed, whatever the variables name.
    installed = Versions().find(version.name)
    if installed is None:
        return ""
    # An installed version that says nothing is what the variable is for: no contradiction.
    with suppress(VersionError):
        if installed.counts_as != version.counts_as:
            return (
                f"but {installed.version} is installed ({installed.source}); unset "
                f"{version.source}, or install {version.version}"
            )
    return ""


def contradictions(settings: Settings) -> Iterator[str]:
    """Yield a warning for each version that a variable names while another one is installed.

    Args:
        settings: The settings of this process.
    """
    versions = Versions.of(settings)
    names = [name for name, _ in settings.versions]
    if settings.vllm_version:
        names.append("vllm")
    for name in names:
        version = versions.find(name)
        if version is not None:
            fault = contradicted(version)
            if fault:
                yield f"{name} {version.version} ({version.source}), {fault}"


def edited_files(rows: Collection[Row]) -> Iterator[HealthLine]:
    """Look for edited files in the installed distributions that rows change.

    Args:
        rows: The rows.

    Yields:
        A line for each distribution that is installed.
    """
    deadline = time.monotonic() + _SECONDS
    names: set[str] = set()
    for package in _changed_packages(rows):
        provider = ProviderSearch(canonical(package), None).distribution()
        # Two changed packages may be of one distribution.
        if provider is not None and provider.name not in names:
            names.add(provider.name)
            yield _compared(provider.name, rows, deadline)


def _changed_packages(rows: Iterable[Row]) -> list[str]:
    """Return the packages whose modules rows change, each once."""
    packages: dict[str, None] = {}
    for row in rows:
        for change in row.patch.parts:
            # A Provide or an import call changes no code of upstream.
            if change.inside_module:
                packages[package_of(change)] = None
    return list(packages)


def _compared(name: str, rows: Iterable[Row], deadline: float) -> HealthLine:
    """Compare the files of a distribution with its RECORD, and return the line about them.

    Args:
        name: The name of the distribution.
        rows: The rows; the files of their targets are compared first.
        deadline: When to stop comparing others, on the clock of `time.monotonic`.
    """
    from patchkit.authoring.diffs.installation import EditedInstallation  # noqa: PLC0415 - for doctor alone

    try:
        comparison = EditedInstallation(name).compare(_files_of(rows), deadline)
    except UpstreamError:
        message = "not compared with what was installed: its RECORD has no hashes, as if editable"
        return HealthLine("files", "note", name, message)
    files = count(comparison.compared, "file")
    if comparison.edited:
        names = ", ".join(comparison.edited[:_MOST_NAMED_FILES])
        unnamed_count = len(comparison.edited) - _MOST_NAMED_FILES
        if unnamed_count > 0:
            names += f" and {unnamed_count} more"
        message = (
            f"edited since they were installed: {names}; 'patchkit adopt --installed {name} --into "
            "PACK' makes rows of that"
        )
        return HealthLine("files", "warn", name, message)
    message = f"{files} as installed"
    if comparison.compared < comparison.total:
        message += f", {comparison.total - comparison.compared} not compared for time"
    return HealthLine("files", "ok", name, message)


def _files_of(rows: Iterable[Row]) -> list[str]:
    """Return the paths of files that the targets of rows may be in, as RECORD has them."""
    files: dict[str, None] = {}
    for row in rows:
        for change in row.patch.parts:
            path = change.place.module.replace(".", "/")  # a module, or a package
            files[f"{path}.py"] = None
            files[f"{path}/__init__.py"] = None
    return list(files)


def ways_of_pack(pack: str) -> str:
    """Describe which ways in read a pack that is not installed, and how to make all of them do so.

    Args:
        pack: The module of the pack, which the project's settings name.

    Returns:
        The end of a message.
    """
    if pack in entry_points_of(Project.read(), GROUP):
        fix = "'pip install -e .' installs it"
    else:
        name = pack.partition(".")[0]
        fix = (
            f'install it with the entry point {name} = "{pack}" in the group {GROUP}, or set '
            f"PATCHKIT_PATCHES={pack}"
        )
    return (
        "not installed: only 'patchkit run' here and these commands read it, 'import "
        f"patchkit.auto', the vLLM plugin and the bootstrap do not; {fix}"
    )


def unread_packs(read: Collection[str]) -> list[str]:
    """Return the packs in this folder that no setting or option names.

    A pack whose file is read by another name is none of them, as with `PYTHONPATH=config` that of
    `config/hotfix`.

    Args:
        read: The modules of the packs that are read.
    """
    # They were imported, as far as they can be.
    files = [getattr(sys.modules.get(name), "__file__", None) for name in read]
    files_read = {_resolved(file) for file in files if isinstance(file, str)}
    project = Project.read()
    unread = []
    for name in project.packs_here():
        path = Path(*name.split("."), "__init__.py")
        own_files = {folder.joinpath(path).resolve() for folder in project.folders}
        if name not in read and own_files.isdisjoint(files_read):
            unread.append(name)
    return unread


def _resolved(file: str) -> Path | None:
    """Return a path without links; None for what is none."""
    try:
        return Path(file).resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def unread_pack(pack: str) -> HealthLine:
    """Return the warning about a pack in this folder that no setting or option names.

    Args:
        pack: The module of the pack.
    """
    message = (
        "holds PATCHES, and nothing reads it: it is not installed, nor in packs of "
        f"[tool.patchkit]; 'patchkit run --patches {pack} -- COMMAND' reads it once"
    )
    return HealthLine("packs", "warn", pack, message)


def lost_names(engines: Iterable[Engine]) -> Iterator[HealthLine]:
    """Look for what added engines name, in the packages that are installed here.

    patchkit's own engines name functions of many releases, of which each release has some.

    Args:
        engines: All engines.

    Yields:
        A line for each name that leads to nothing.
    """
    own = {engine.package for engine in own_engines()}
    installed = InstalledSource()
    for engine in engines:
        if engine.package in own:
            continue
        named = [
            (f"process row {row.by} {row.what}", row.what)
            for row in engine.processes
            if row.by in _NAMING
        ]
        if engine.helper:
            named.append((f"helper {engine.helper}", engine.helper))
        for label, name in named:
            reason = _reason_absent(Target.parse(name), installed)
            if reason:
                message = f"{label}: {reason}; such a process is not recognized"
                yield HealthLine("engines", "warn", engine.name, message)


def _reason_absent(target: Target, installed: InstalledSource) -> str:
    """Say why a target is not in the package that is installed here; '' if it is, or may be."""
    try:
        facts = installed.facts(target)
    except UpstreamError:
        return ""  # the package is not installed, or cannot be read
    if facts.state != "absent":
        return ""
    return facts.reason
