"""Reads from the metadata of a pile which release it is for, and which functions others call."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile
from zipfile import Path as PathInZip

from patchkit.authoring.scaffold.plan import INIT
from patchkit.core.engines.entry_points import installed_engines
from patchkit.core.plain_files import read_plain
from patchkit.core.rows.project import parse_toml
from patchkit.core.versions.distributions import readable_distributions
from patchkit.core.versions.installed_packages import distributions_by_package
from patchkit.core.versions.requirements import canonical, parse_requirement
from patchkit.errors import RequirementError, ScaffoldError, UpstreamError

_MAX_BYTES = 16 << 20
"""Bytes that a file of metadata may have."""
_UNREADABLE = (
    BadZipFile,
    NotImplementedError,  # a way to compress that Python does not know
    RuntimeError,  # encrypted
    OSError,
    EOFError,
    ValueError,  # also of what is not UTF-8
    TypeError,  # of entry points
    zlib.error,
)


class PileMetadata(NamedTuple):
    """What the metadata of a pile says.

    Args:
        requirements: What it requires.
        calls: The functions that others call, as `module:name`, each with its group.
    """

    requirements: Sequence[str] = ()
    calls: Sequence[tuple[str, str]] = ()

    def pinned(self, package: str) -> str | None:
        """Return the requirement that names one release of a package; None where there is none.

        Args:
            package: The name of the package's distribution.
        """
        for text in self.requirements:
            try:
                requirement = parse_requirement(text)
            except RequirementError:
                continue
            if canonical(requirement.name) != canonical(package):
                continue
            for clause in requirement.specifier:
                if clause.operator in ("==", "===") and "*" not in clause.version:
                    return f"{package}=={clause.version}"
        return None


def metadata_of(pile: str) -> PileMetadata:
    """Read the metadata of a pile; it is empty where there is none.

    Args:
        pile: A folder, a wheel, or the name of an installed package.

    Returns:
        What it says.

    Raises:
        SettingsError: The `pyproject.toml` of the folder is no TOML.
        ScaffoldError: The metadata of the wheel cannot be read.
    """
    path = Path(pile)
    if path.is_dir():
        return _of_project(path.resolve())
    if pile.endswith(".whl") and path.is_file():
        return _of_wheel(path)
    names = distributions_by_package().get(pile)
    if not names:
        return PileMetadata()
    return _of_distribution(next(readable_distributions(name=names[0])))


def _of_wheel(wheel: Path) -> PileMetadata:
    """Read the metadata of a wheel."""
    try:
        with ZipFile(wheel) as archive:
            for member in archive.infolist():
                is_metadata = ".dist-info/" in member.filename
                if is_metadata and member.file_size > _MAX_BYTES:
                    raise ScaffoldError(
                        f"{wheel}: {member.filename}: found {member.file_size:,} bytes, "
                        f"expected at most {_MAX_BYTES:,}"
                    )
            for folder in PathInZip(archive).iterdir():
                if folder.name.endswith(".dist-info"):
                    # A path in an archive has the methods that are used of a path.
                    return _of_distribution(PathDistribution(folder))
    except _UNREADABLE as error:
        raise ScaffoldError(
            f"{wheel}: found metadata that cannot be read, {error}"
        ) from error
    return PileMetadata()


def _of_distribution(distribution: Distribution) -> PileMetadata:
    """Read the metadata of a distribution."""
    groups = _plugin_groups()
    calls = [
        (entry.value, entry.group)
        for entry in distribution.entry_points
        if entry.group in groups
    ]
    return PileMetadata(tuple(distribution.requires or ()), _functions(calls))


def _of_project(folder: Path) -> PileMetadata:
    """Read the metadata of the project that a folder is, or is a package of."""
    # The package may lie in `src`, or in the project itself.
    for project in (folder, *folder.parents[:2]):
        file = project / "pyproject.toml"
        if file.is_file():
            metadata = _of_toml(file)
            # The project may have other packages beside this one, whose functions are not its own.
            calls = [
                (call, group)
                for call, group in metadata.calls
                if _has_module(folder, call.partition(":")[0])
            ]
            return metadata._replace(calls=calls)
    return PileMetadata()


def _has_module(folder: Path, module: str) -> bool:
    """Return whether a module belongs to a folder.

    Args:
        folder: The folder of a package, of packages, or of a project.
        module: The full name of the module.
    """
    if not (folder / INIT).is_file():
        return True  # it may have any package, also in `src`
    return module.partition(".")[0] == folder.name


def _of_toml(file: Path) -> PileMetadata:
    """Read the table `project` of a `pyproject.toml`.

    Raises:
        ScaffoldError: The file cannot be read, or a field is of another type.
    """
    try:
        content = read_plain(file, _MAX_BYTES)
    except (OSError, UpstreamError) as error:
        raise ScaffoldError(f"{file}: cannot be read ({error})") from error
    project = _table_in(parse_toml(file, content), "project", file)
    requirements = project.get("dependencies", [])
    if not isinstance(requirements, list):
        raise ScaffoldError(
            f"{file}: project.dependencies: found {requirements!r:.60}, expected a list"
        )
    groups = _table_in(project, "entry-points", file)
    calls = [
        (str(value), group)
        for group in _plugin_groups()
        for value in _table_in(groups, group, file).values()
    ]
    return PileMetadata(tuple(map(str, requirements)), _functions(calls))


def _table_in(tables: Mapping[str, Any], name: str, file: Path) -> Mapping[str, Any]:
    """Return a table of a file; an empty one where it has none of that name."""
    table = tables.get(name, {})
    if not isinstance(table, dict):
        raise ScaffoldError(f"{file}: {name}: found {table!r:.60}, expected a table")
    return table


def _plugin_groups() -> list[str]:
    """Name the groups of entry points whose functions engines call as they start."""
    return [group for engine in installed_engines() for group in engine.plugin_groups]


def _functions(calls: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep the entry points that name functions, without their extras."""
    functions = list[tuple[str, str]]()
    for value, group in calls:
        name = value.partition("[")[0].strip().replace(" ", "")
        if ":" in name:
            functions.append((name, group))
    return functions
