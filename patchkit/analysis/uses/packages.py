"""Packages that know nothing of patchkit: installed, in a folder, in a wheel, or on the index."""

import hashlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from patchkit.analysis.upstream.reading.files import ROOTS, ReleaseSource, parse
from patchkit.analysis.upstream.reading.releases import Library, find_releases, open_archive
from patchkit.analysis.upstream.reading.tree import Tree, open_installed
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree, module_name
from patchkit.errors import UpstreamError

_ARCHIVES = (".whl", ".tar.gz", ".zip")


def open_package(named: str, library: Library) -> tuple[str, ReleaseSource]:
    """Open a folder, an archive, `name==version` of the index, or what is installed; name it."""
    place = Path(named)
    if place.is_dir():
        return place.resolve().name, _folder(place)
    if place.is_file() or named.endswith(_ARCHIVES):
        if not place.is_file():
            raise UpstreamError(f"found no file {named!r}, expected a wheel")
        return place.name.partition("-")[0], open_archive(place)
    if "=" in named:
        if not (found := find_releases(named, library)):
            raise UpstreamError(f"found no release that {named!r} allows, expected one")
        return found[-1].project, found[-1].source
    try:
        return named, open_installed(named)
    except UpstreamError as error:
        expected = "expected one that is, a folder, a wheel, or a release such as name==1.0"
        raise UpstreamError(f"{error}, {expected}") from error


def _folder(place: Path) -> ReleaseSource:
    if (place / "__init__.py").is_file():
        return Tree(str(place), None, place.resolve().parent, place.resolve().name)
    root = next(one for one in (*(place / name for name in ROOTS[1:]), place) if one.is_dir())
    tops = {file.relative_to(root).parts[0] for file in root.glob("*/**/*.py")}
    tops |= {file.stem for file in root.glob("*.py")}
    return Tree(str(place), None, root, *(top for top in tops if not top.startswith(".")))


def _python(source: ReleaseSource) -> list[str]:
    return sorted(path for path in source.paths() if path.endswith(".py"))


def content_hash(source: ReleaseSource) -> str:
    """Tell the Python files of a package from others, without reading them where that is known."""
    whole = hashlib.sha256()
    for path in _python(source):
        mark = source.mark(path) or hashlib.sha256(source.read(path) or b"").hexdigest()
        whole.update(f"{path}\0{mark}\0".encode())
    return whole.hexdigest()


def modules_of(source: ReleaseSource, words: Collection[str]) -> Iterator[ModuleTree]:
    """Parse the modules of a package that have one of some words, one after another."""
    source.prefetch(paths := _python(source))
    several = re.compile(rf"\b({'|'.join(words)})\b".encode())
    for path in paths:
        text = source.read(path) or b""
        if several.search(text):  # to parse a file takes its time
            tree, fault = parse(text)
            is_package = path.endswith("__init__.py")
            yield ModuleTree(module_name(path), path, is_package, tree, text, fault)
