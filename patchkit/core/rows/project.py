"""`[tool.patchkit]` of a project's `pyproject.toml`, read once into one frozen value."""

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from patchkit.core.versions.requirements import check_requirement
from patchkit.errors import RequirementError, SettingsError, near

_FILE = "pyproject.toml"
_LISTS = {
    "packs": (r"[^\W\d]\w*(\.[^\W\d]\w*)*", "a list of modules, such as ['my_pack']"),
    "releases": (r"(?![\d.]+$).*\S.*", "a list of requirements, such as ['vllm>=0.20,<0.34']"),
    "ignore": (r"PK\d{3}", "a list of codes, such as ['PK304']"),
    "accept": (r"PK\d{3} \S+", "a list of 'CODE TARGET', such as ['PK104 vllm.config:VllmConfig']"),
}


@dataclass(frozen=True)
class Project:
    """Settings of a project for every command; command-line options override them."""

    file: Path | None = None
    packs: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    lock: str | None = None
    ignore: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()  # of each a code and a target (or a patch)

    @classmethod
    def read(cls, folder: Path | None = None) -> "Project":
        """Read the nearest `pyproject.toml` with such a section; SettingsError if it is invalid."""
        start = _here() if folder is None else folder
        for place in (start, *start.parents):
            if (table := _table(place / _FILE)) is not None:
                return cls(place / _FILE, **_checked(place / _FILE, table))
        return cls()

    def folders_of(self, packs: Iterable[str]) -> list[str]:
        """List the folders of this project with packs that Python does not find by itself."""
        missing = [top for top in {name.partition(".")[0] for name in packs} if not _is_found(top)]
        return self._with(missing)

    def folders_hidden(self, packs: Iterable[str]) -> list[str]:
        """List the folders with packs of which Python finds another copy, an installed one."""
        tops = {name.partition(".")[0] for name in packs}
        return self._with([top for top in tops if _is_found(top) and not self._is_here(top)])

    def _with(self, tops: Collection[str]) -> list[str]:
        places = dict.fromkeys((_here(), *self.folders))
        return [str(place) for place in places if any((place / top).is_dir() for top in tops)]

    def _is_here(self, top: str) -> bool:
        try:
            spec = find_spec(top)
        except (ValueError, ImportError):
            return True  # as for `_is_found`
        places = spec.submodule_search_locations if spec else None
        found = {Path(place).resolve().parent for place in places or ()}
        return not found.isdisjoint(place.resolve() for place in (_here(), *self.folders))

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders with modules of the project that need not be installed."""
        root = self.file.parent if self.file else _here()
        return root, root / "src"


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was deleted
        return Path()


def _is_found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ValueError, ImportError):  # a module that put itself there by hand has no spec
        return True


def _table(file: Path) -> object:
    try:
        source = file.read_bytes()
    except OSError:
        return None
    if b"patchkit" not in source:
        return None
    tools = parse_toml(file, source).get("tool")
    return tools.get("patchkit") if isinstance(tools, dict) else None


def parse_toml(file: Path, source: bytes) -> dict[str, Any]:
    """Read TOML; SettingsError where it is none."""
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - only where there is a file to read
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        table: dict[str, Any] = tomllib.loads(source.decode())
    except ValueError as error:  # UnicodeDecodeError and TOMLDecodeError are
        raise SettingsError(f"{file}: found no TOML, {error}") from error
    return table


def _checked(file: Path, table: object) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SettingsError(f"{file}, tool.patchkit: found {table!r}, expected a table")
    known = [field.name for field in fields(Project) if field.name != "file"]
    for key in table:
        if key not in known:
            hint = near(key, known) or f", expected one of {', '.join(known)}"
            raise SettingsError(f"{file}, [tool.patchkit] found the unknown key {key!r}{hint}")
    return dict(_values(file, table))


def _values(file: Path, table: dict[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if key == "lock":
            yield key, _lock(file, value)
            continue
        form, expected = _LISTS[key]
        if not isinstance(value, list):
            _refuse(file, key, value, expected)
        for text in value:
            if not isinstance(text, str) or not re.fullmatch(form, text):
                _refuse(file, key, text, expected)
            if key == "releases":
                try:
                    check_requirement(text)
                except RequirementError as error:
                    raise SettingsError(f"{file}, [tool.patchkit] releases: {error}") from error
        yield key, tuple(value)


def _lock(file: Path, value: object) -> str:
    if not isinstance(value, str) or not value:
        _refuse(file, "lock", value, "a file")
    place = file.parent / value
    return value if place == _here() / value else str(place)


def _refuse(file: Path, key: str, found: object, expected: str) -> NoReturn:
    raise SettingsError(f"{file}, [tool.patchkit] {key}: found {found!r}, expected {expected}")
