"""Tells `doctor` where an installation is not what it seems: versions, edited files, packs."""

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from patchkit.analysis.check.coverage import package_of
from patchkit.cli.report.here import HealthLine
from patchkit.cli.report.words import count
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project, entry_points_of
from patchkit.core.versions.distributions import ProviderSearch
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import FoundVersion, canonical
from patchkit.errors import UpstreamError, VersionError
from patchkit.registry import GROUP

_SECONDS = 1.0
"""Within which installed files are compared; those that hold targets are compared in any case."""
_NAMED = 5
"""How many edited files are named."""


def contradicted(version: FoundVersion) -> str:
    """Say that another version is installed than a variable names.

    Args:
        version: The version that is believed.

    Returns:
        Words for a message; '' where nothing else is installed, or nobody can tell.
    """
    if version.source not in ("VLLM_VERSION", "PATCHKIT_VERSIONS"):
        return ""
    installed = Versions().find(version.name)
    if installed is None:
        return ""
    with suppress(VersionError):  # such a version is why the variable is set
        if installed.counts_as != version.counts_as:
            return (
                f"but {installed.version} is installed ({installed.source}); unset "
                f"{version.source}, or install {version.version}"
            )
    return ""


def edited_files(rows: Collection[Row]) -> Iterator[HealthLine]:
    """Compare the files of the distributions that rows change with what was installed.

    Args:
        rows: The rows.

    Yields:
        A line for each distribution that is installed.
    """
    deadline = time.monotonic() + _SECONDS
    names: set[str] = set()
    for package in _changed_packages(rows):
        provider = ProviderSearch(canonical(package), None).distribution()
        if provider is not None and provider.name not in names:
            names.add(provider.name)
            yield _compared(provider.name, rows, deadline)


def _changed_packages(rows: Iterable[Row]) -> list[str]:
    """Return the packages that rows change something in, each once."""
    packages: dict[str, None] = {}
    for row in rows:
        for change in row.patch.changes:
            if change.inside_module:
                packages[package_of(change)] = None
    return list(packages)


def _compared(name: str, rows: Iterable[Row], deadline: float) -> HealthLine:
    from patchkit.authoring.adopt.installation import EditedInstallation  # noqa: PLC0415 - for doctor alone

    try:
        comparison = EditedInstallation(name).compare(_files_of(rows), deadline)
    except UpstreamError:
        message = "not compared with what was installed: its RECORD has no hashes, as if editable"
        return HealthLine("files", "note", name, message)
    files = count(comparison.compared, "file")
    if comparison.edited:
        named = ", ".join(comparison.edited[:_NAMED])
        further = len(comparison.edited) - _NAMED
        if further > 0:
            named += f" and {further} more"
        message = (
            f"edited since they were installed: {named}; 'patchkit adopt --installed {name} --into "
            "PACK' makes rows of that"
        )
        return HealthLine("files", "warn", name, message)
    message = f"{files} as installed"
    if comparison.compared < comparison.total:
        message += f", {comparison.total - comparison.compared} not compared for time"
    return HealthLine("files", "ok", name, message)


def _files_of(rows: Iterable[Row]) -> list[str]:
    """Name the files that the targets of rows may be in."""
    files: dict[str, None] = {}
    for row in rows:
        for change in row.patch.changes:
            path = change.place.module.replace(".", "/")
            files[f"{path}.py"] = None
            files[f"{path}/__init__.py"] = None
    return list(files)


def ways_of_pack(pack: str) -> str:
    """Say which ways in read a pack that is not installed, and what makes all of them read it.

    Args:
        pack: The module of the pack, which the project names.

    Returns:
        The words for a message.
    """
    if pack in entry_points_of(Project.read(), GROUP):
        mend = "'pip install -e .' installs it"
    else:
        name = pack.partition(".")[0]
        mend = (
            f'install it with the entry point {name} = "{pack}" in the group {GROUP}, or set '
            f"PATCHKIT_PATCHES={pack}"
        )
    return (
        "not installed: only 'patchkit run' here and these commands read it, 'import "
        f"patchkit.auto', the vLLM plugin and the bootstrap do not; {mend}"
    )


def unread_pack(pack: str) -> HealthLine:
    """Tell of a package of this folder that holds PATCHES, and that nothing names.

    Args:
        pack: Its module.

    Returns:
        The line.
    """
    message = (
        "holds PATCHES, and nothing reads it: it is not installed, nor in packs of "
        f"[tool.patchkit]; 'patchkit run --patches {pack} -- COMMAND' reads it once"
    )
    return HealthLine("packs", "warn", pack, message)
