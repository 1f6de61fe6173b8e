"""Reads `[tool.patchkit]` of a project's `pyproject.toml` into one frozen value."""

import os
import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from patchkit.core.plain_files import open_plain
from patchkit.core.versions.requirements import check_requirement
from patchkit.errors import RequirementError, SettingsError, UpstreamError, near

_FILE = "pyproject.toml"
_MAX_BYTES = 1 << 20
"""Bytes that the file may have."""
_MAX_DOTS = 5_000
"""Dots that a line of it may have."""
_MISNAMED = re.compile(
    rb"^[ \t]*(\[[ \t]*(?:tools?[ \t]*\.[ \t]*)?[\"']?patch[-_]?kits?[\"']?[ \t]*\])",
    re.I | re.M,
)
"""Matches the line that begins a table named like `[tool.patchkit]`, as `[tool.patch-kit]`."""
# Of each setting that is a list: the pattern of an entry, and what is expected. An entry of
# `releases` is only parsed later; here a number alone, as in `releases = ["0.32"]`, is refused.
_LISTS = {
    "packs": (r"[^\W\d]\w*(\.[^\W\d]\w*)*", "a list of modules, such as ['my_pack']"),
    "releases": (
        r"(?![\d.]+$).*\S.*",
        "a list of requirements, such as ['vllm>=0.20,<0.34']",
    ),
    "ignore": (r"PK\d{1,3}", "a list of codes or prefixes, such as ['PK304']"),
    "accept": (
        r"PK\d{3} \S+",
        "a list of 'CODE TARGET' or 'CODE PATCH', such as ['PK104 vllm.config:VllmConfig']",
    ),
}


@dataclass(frozen=True)
class Project:
    """Settings of a project for every command; command-line options override them.

    The names of the fields, except `file`, are the keys of `[tool.patchkit]`.

    Args:
        file: The `pyproject.toml` that they are from; None where there is none.
        packs: The modules of the project's packs.
        releases: Requirements that say which releases are checked.
        lock: The file of the project's lock.
        ignore: The codes of findings to leave out, or prefixes of codes.
        accept: Findings to leave out, each as a code and a target (or a patch).
    """

    file: Path | None = None
    packs: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    lock: str | None = None
    ignore: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: Path | None = None) -> "Project":
        """Read the nearest `pyproject.toml` that has such a section.

        Args:
            folder: Where to begin; None for the working directory.

        Returns:
            The settings, all defaults if there is no such file.

        Raises:
            SettingsError: The file is no TOML, or the section is invalid.
        """
        start = _working_folder() if folder is None else folder
        for parent in (start, *start.parents):
            file = parent / _FILE
            section = _section(file)
            if section is not None:
                return cls(file, **_checked(file, section))
        return cls()

    def folders_of(self, packs: Iterable[str]) -> list[str]:
        """Return the folders to add to `sys.path` for packs of this project that are not on it.

        Args:
            packs: The modules of the packs.
        """
        tops = _top_packages(packs)
        return self._folders_with([top for top in tops if not _is_found(top)])

    def folders_hidden(self, packs: Iterable[str]) -> list[str]:
        """Return the folders of this project's packs of which Python would import another copy.

        Put first on `sys.path`, they make it import the project's own, not one that is installed.

        Args:
            packs: The modules of the packs.
        """
        found = [top for top in _top_packages(packs) if _is_found(top)]
        return self._folders_with([top for top in found if not self._is_own(top)])

    def packs_here(self) -> list[str]:
        """Return the packages of this project that assign `PATCHES`: `pack` or `package.pack`."""
        packs: dict[str, None] = {}
        for folder in self.folders:
            for pattern in ("*/__init__.py", "*/*/__init__.py"):
                for file in sorted(folder.glob(pattern)):
                    parts = file.parent.relative_to(folder).parts
                    is_module = all(map(str.isidentifier, parts))
                    # patchkit's own packs are read anyway.
                    if is_module and parts[0] != "patchkit" and holds_rows(file):
                        packs[".".join(parts)] = None
        return list(packs)

    def _folders_with(self, tops: Collection[str]) -> list[str]:
        """Return the folders of this project that contain one of some top-level packages."""
        folders = dict.fromkeys((_working_folder(), *self.folders))
        return [str(folder) for folder in folders if _holds_any(folder, tops)]

    def _is_own(self, top: str) -> bool:
        """Whether the package that Python finds lies in a folder of this project.

        True also for a module that code has put into `sys.modules` without a spec, as no folder on
        `sys.path` would replace it.
        """
        try:
            spec = find_spec(top)
        except (ValueError, ImportError):
            return True
        locations = spec.submodule_search_locations if spec else None
        parents = {Path(location).resolve().parent for location in locations or ()}
        folders = (_working_folder(), *self.folders)
        try:
            return not parents.isdisjoint(folder.resolve() for folder in folders)
        except OSError:  # the working directory was deleted
            return True

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders where a project may keep its packages: its root, and `src` in it."""
        root = self.file.parent if self.file else _working_folder()
        return root, root / "src"


def entry_points_of(project: Project, group: str) -> list[str]:
    """Return what the entry points of a project lead to, installed or not.

    Args:
        project: The project; one without a `pyproject.toml` has none.
        group: The group of the entry points.

    Raises:
        SettingsError: The file is no TOML.
    """
    if project.file is None:
        return []
    tables: Any = parse_toml(project.file, project.file.read_bytes())
    for key in ("project", "entry-points", group):
        tables = tables.get(key, {})
        if not isinstance(tables, dict):
            return []
    return [str(value) for value in tables.values()]


def holds_rows(file: Path) -> bool:
    """Whether a file assigns `PATCHES`, with or without an annotation, by its text.

    Args:
        file: The file; one that cannot be read assigns nothing.
    """
    if not os.path.isfile(file):  # noqa: PTH113 - a Path may raise
        return False  # a pipe would be waited for
    try:
        source = file.read_bytes()
    except OSError:
        return False
    return re.search(rb"^PATCHES\b.*=", source, re.MULTILINE) is not None


def misnamed_section(folder: Path | None = None) -> str:
    """Find a table of the nearest `pyproject.toml` that is almost, but not, `[tool.patchkit]`.

    Args:
        folder: Where to begin; None for the working directory.

    Returns:
        What to say about it; '' where there is none, or the project has its settings.
    """
    start = _working_folder() if folder is None else folder
    if Project.read(start).file is not None:
        return ""
    for parent in (start, *start.parents):
        file = parent / _FILE
        source = _content(file)
        if source is None:
            continue
        table = _MISNAMED.search(source)
        if table is None:
            return ""
        return f"{file}: found {table[1].decode()}, expected [tool.patchkit]: it is not read"
    return ""


def _working_folder() -> Path:
    """Return the working directory; an empty path if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def _top_packages(packs: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in packs}


def _holds_any(folder: Path, packages: Iterable[str]) -> bool:
    # A Path may raise, as for a name that is too long.
    return any(os.path.isdir(folder / name) for name in packages)  # noqa: PTH112


def _is_found(name: str) -> bool:
    """Whether Python finds a top-level package, by its path or in `sys.modules`."""
    try:
        return find_spec(name) is not None
    except (ValueError, ImportError):
        return True  # code has put the module into `sys.modules`, without a spec


def _section(file: Path) -> object:
    """Return `[tool.patchkit]` of a file; None if the file is not there, or has no such table."""
    source = _content(file)
    if source is None or b"patchkit" not in source:  # most files need not be parsed
        return None
    tools = parse_toml(file, source).get("tool")
    if not isinstance(tools, dict):
        return None
    section: object = tools.get("patchkit")
    return section


def _content(file: Path) -> bytes | None:
    """Return the content of a file; None if it is not there, or no regular file, such as a pipe."""
    try:
        with open_plain(file) as stream:
            # None: it is no regular file, whatever is said of it.
            content = stream.read(_MAX_BYTES + 1) or b""
    except (OSError, UpstreamError):
        return None
    if len(content) > _MAX_BYTES:
        size = file.stat().st_size
        raise SettingsError(
            f"{file}: found {size:,} bytes, expected at most {_MAX_BYTES:,}"
        )
    return content


def parse_toml(file: Path, source: bytes) -> dict[str, Any]:
    """Parse a TOML file.

    Args:
        file: The file, for errors.
        source: The content of the file.

    Returns:
        The tables by name.

    Raises:
        SettingsError: It is no TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - only where there is a file to read
    else:
        import tomli as tomllib  # noqa: PLC0415
    dots = max((line.count(b".") for line in source.splitlines()), default=0)
    if (
        dots > _MAX_DOTS
    ):  # as a dotted key, they take a time that grows with their square
        raise SettingsError(
            f"{file}: found {dots:,} dots in a line, expected at most {_MAX_DOTS:,}"
        )
    try:
        table: dict[str, Any] = tomllib.loads(source.decode())
    except (ValueError, RecursionError) as error:
        # ValueError is the base of UnicodeDecodeError and TOMLDecodeError.
        raise SettingsError(f"{file}: found no TOML, {error}") from error
    return table


def _checked(file: Path, section: object) -> dict[str, Any]:
    """Return the settings of a section by name, for `Project`.

    Raises:
        SettingsError: A setting is unknown or invalid.
    """
    if not isinstance(section, dict):
        raise SettingsError(
            f"{file}, tool.patchkit: found {section!r}, expected a table"
        )
    keys = [field.name for field in fields(Project) if field.name != "file"]
    for key in section:
        if key not in keys:
            hint = near(key, keys) or f", expected one of {', '.join(keys)}"
            raise SettingsError(
                f"{file}, [tool.patchkit] found the unknown key {key!r}{hint}"
            )
    return {key: _setting(file, key, value) for key, value in section.items()}


def _setting(file: Path, key: str, value: object) -> object:
    """Check one setting, and return it as `Project` has it; SettingsError if it is invalid."""
    if key == "lock":
        return _lock(file, value)
    pattern, expected = _LISTS[key]
    if not isinstance(value, list):
        _refuse(file, key, value, expected)
    for text in value:
        if not isinstance(text, str) or not re.fullmatch(pattern, text):
            _refuse(file, key, text, expected)
        if key == "releases":
            _check_release(file, text)
    return tuple(value)


def _check_release(file: Path, text: str) -> None:
    """Refuse an entry of `releases` that is no requirement."""
    try:
        check_requirement(text)
    except RequirementError as error:
        raise SettingsError(f"{file}, [tool.patchkit] releases: {error}") from error


def _lock(file: Path, value: object) -> str:
    """Return the lock's file, which is written relative to the folder of `pyproject.toml`.

    If the working directory is that folder, the path stays as it is written, for messages.
    """
    if not isinstance(value, str) or not value:
        _refuse(file, "lock", value, "a file")
    path = file.parent / value
    if path == _working_folder() / value:
        return value
    return str(path)


def _refuse(file: Path, key: str, value: object, expected: str) -> NoReturn:
    raise SettingsError(
        f"{file}, [tool.patchkit] {key}: found {value!r}, expected {expected}"
    )
