"""Which distribution provides an import package here, and which version it has.

Nothing of the package is executed. A distribution's records count as far as files confirm them.
"""

import ast
import base64
import enum
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder, distributions
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit

from patchkit.core.versions.requirements import FoundVersion, canonical
from patchkit.errors import VersionError

_UNKNOWN = "unknown"


class _Evidence(enum.IntEnum):
    """What a distribution's records say about the package that is found here."""

    DENIES = 0  # it has a copy of its own elsewhere
    SILENT = 1
    NAMES = 2  # it names the package
    PROVES = 3  # and what lies here is what it brought


@dataclass(frozen=True)
class _Package:
    """An import package or module that is found here; `place` is its `__init__.py` or file."""

    name: str
    place: Path


class ProviderSearch:
    """The search for who provides one package here, or else what the package says of itself.

    A distribution of the same name may be a leftover, or belong to a copy that comes later on the
    path; it counts without confirmation only where nothing else is known.
    """

    def __init__(self, name: str, path: list[str] | None) -> None:
        self.name = name
        self.path = path
        self.package = _locate(name.replace("-", "_"), path)

    def found(self) -> FoundVersion | None:
        """Return the version; None where neither package nor distribution is installed."""
        if self.package is None:
            return self._distributed(next(self._namesakes(), None))
        return self._distributed(self._provider(self.package)) or self._vouched(self.package)

    def beside(self) -> frozenset[str]:
        """Name the packages and modules that the same distribution has installed beside it."""
        dist = self._provider(self.package) if self.package else None
        record = _record_of(dist, self.package) if dist and self.package else ""
        tops = (line.partition(",")[0].partition("/") for line in record.splitlines())
        names = {top.partition(".")[0] for top, slash, _ in tops if slash or top.endswith(".py")}
        return frozenset(name for name in names if name.isidentifier())

    def _vouched(self, package: _Package) -> FoundVersion:
        stated = _stated(self.name, package)
        if stated and _says_something(stated):
            return stated
        unknown = FoundVersion(self.name, _UNKNOWN, f"{package.name}/{package.place.name}")
        evidence = ((dist, _evidence(dist, package, self.name)) for dist in self._namesakes())
        believed = (dist for dist, shown in evidence if shown is not _Evidence.DENIES)
        return self._distributed(next(believed, None)) or stated or unknown

    def _provider(self, package: _Package) -> Distribution | None:
        best, evidence = None, _Evidence.SILENT
        for dist in self._candidates():
            shown = _evidence(dist, package, self.name)
            if shown > evidence and _header(dist, "Version"):
                best, evidence = dist, shown
            if evidence is _Evidence.PROVES:
                break
        return best

    def _candidates(self) -> Iterator[Distribution]:
        # The likely ones first: mostly the first is right.
        yield from self._namesakes()
        yield from sorted(_distributions(self.path), key=lambda dist: self.name not in _name(dist))

    def _namesakes(self) -> Iterator[Distribution]:
        dists = _distributions(self.path, self.name)
        return (dist for dist in dists if _header(dist, "Version"))

    def _distributed(self, dist: Distribution | None) -> FoundVersion | None:
        if dist is None:
            return None
        package = self.package
        editable = package and not _record_of(dist, package) and _leads_to(dist, package)
        source = f"{'editable ' if editable else ''}distribution {_header(dist, 'Name')}"
        return FoundVersion(self.name, _header(dist, "Version"), source)


def _stated(name: str, package: _Package) -> FoundVersion | None:
    stated, files, within = [], [package.place], ""
    if package.place.name.startswith("__init__."):
        within = f"{package.name}/"
        files[:0] = [package.place.with_name(name) for name in ("_version.py", "version.py")]
    for file in files:
        stated += [FoundVersion(name, text, within + file.name) for text in _static_version(file)]
    return next(filter(_says_something, stated), next(iter(stated), None))


def _says_something(version: FoundVersion) -> bool:
    try:
        return bool(version.counts_as)
    except VersionError:
        return False


def _locate(package: str, path: list[str] | None) -> _Package | None:
    """Find the file that an import of the package would run.

    A folder without `__init__.py` does not count: mostly it is a checkout in the working directory.
    """
    specs: Iterable[ModuleSpec | None] = [PathFinder.find_spec(package, path)]
    if path is None:
        specs = chain(specs, _ask_other_finders(package))
    origins = (str(spec.origin) for spec in specs if spec is not None and spec.has_location)
    origin = next(origins, None)
    return None if origin is None else _Package(package, Path(origin).absolute())


def _ask_other_finders(package: str) -> Iterator[ModuleSpec | None]:  # of editable installs
    for finder in list(sys.meta_path):
        home = getattr(finder, "__module__", "")
        if not home.startswith(("_frozen_importlib", "patchkit.")):
            with suppress(Exception):  # a stranger's finder that fails finds nothing
                yield finder.find_spec(package, None)


def _distributions(path: list[str] | None, name: str | None = None) -> Iterator[Distribution]:
    where = {} if path is None else {"path": path}
    return iter(distributions(context=DistributionFinder.Context(name=name, **where)))


def _evidence(dist: Distribution, package: _Package, name: str) -> _Evidence:
    root = _root(dist)
    if record := _record_of(dist, package):
        return _Evidence.PROVES if _is_unchanged(record, root, package) else _Evidence.NAMES
    listed = _read(dist, "top_level.txt").split()
    if _leads_to(dist, package):
        if name == _name(dist) or package.name in listed:
            return _Evidence.PROVES
        return _Evidence.SILENT if listed else _Evidence.NAMES
    record = _read(dist, "RECORD")
    if package.name in listed and not record and root in package.place.parents[:2]:
        return _Evidence.NAMES
    if _source_tree(dist) or _line(record, f"{package.name}/__init__.py"):
        return _Evidence.DENIES
    return _Evidence.SILENT


def _root(dist: Distribution) -> Path:
    return Path(str(dist.locate_file(""))).absolute()


def _record_of(dist: Distribution, package: _Package) -> str:
    root = _root(dist)
    if not package.place.is_relative_to(root):
        return ""
    record = _read(dist, "RECORD")
    return record if _line(record, package.place.relative_to(root).as_posix()) else ""


def _line(record: str, file: str) -> str:
    """Return the line of RECORD about a file; vLLM's has 3,300 lines, so none is parsed."""
    start = f"\n{record}".find(f"\n{file},")
    return "" if start < 0 else record[start:].partition("\n")[0]


def _is_unchanged(record: str, root: Path, package: _Package) -> bool:
    for file in (package.place.with_name("_version.py"), package.place):
        line = _line(record, file.relative_to(root).as_posix())
        digest = re.search(r",sha256=([^,]+),", line)
        if digest and file.is_file():
            actual = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
            return actual.decode().rstrip("=") == digest[1]
    return False


def _leads_to(dist: Distribution, package: _Package) -> bool:
    """Whether it is editable, and its source is here; deeper in its tree is anybody's package."""
    if (tree := _source_tree(dist)) is None:
        return False
    return package.place.parent.parent.resolve() in (tree.resolve(), tree.resolve() / "src")


def _source_tree(dist: Distribution) -> Path | None:
    """Return the source folder of an editable distribution (PEP 610)."""
    try:
        origin = json.loads(_read(dist, "direct_url.json") or "{}")
        editable = origin.get("dir_info", {}).get("editable") is True
        return Path(unquote(urlsplit(origin["url"]).path)) if editable else None
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


def _read(dist: Distribution, file: str) -> str:
    try:
        return dist.read_text(file) or ""
    except (OSError, UnicodeDecodeError):
        return ""


def _name(dist: Distribution) -> str:
    return canonical(_header(dist, "Name"))


def _header(dist: Distribution, field: str) -> str:
    text = _read(dist, "METADATA") or _read(dist, "PKG-INFO") or _read(dist, "")
    match = re.search(rf"^{field}:[ \t]*(\S+)", text, re.MULTILINE)
    return match[1] if match else ""


def _static_version(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in _statements(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            if names & {"__version__", "version"} and isinstance(node.value.value, str):
                yield node.value.value


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield child
            yield from _statements(child)
