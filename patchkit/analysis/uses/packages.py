"""Opens packages whose uses of upstream are read: a folder, a wheel, a release, or installed."""

import hashlib
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from patchkit.analysis.upstream.reading.files import ROOTS, ReleaseSource, parse
from patchkit.analysis.upstream.reading.releases import (
    Library,
    find_releases,
    open_archive,
)
from patchkit.analysis.upstream.reading.tree import Tree, open_installed
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree, module_name
from patchkit.core.versions.installed_packages import package_of_distribution
from patchkit.errors import UpstreamError

_ARCHIVES = (".whl", ".tar.gz", ".zip")


def open_package(name: str, library: Library) -> tuple[str, ReleaseSource]:
    """Open a package.

    Args:
        name: A folder, an archive, `name==version` on the index, or the name of an installed
            package.
        library: Reads releases from the index.

    Returns:
        The name of the package, and its files.

    Raises:
        UpstreamError: There is no such package, or it cannot be read.
    """
    path = Path(name)
    # `os.path`: unlike a `Path`, it raises no error for a name that is too long.
    if os.path.isdir(path):  # noqa: PTH112 - a Path may raise
        try:
            return path.resolve().name, _open_folder(path)
        except OSError as error:  # such as of a file in `/proc`
            place = f"{name}: {error.filename}"
            raise UpstreamError(f"{place}: {error.strerror or error}") from error
    if os.path.isfile(path) or name.endswith(_ARCHIVES):  # noqa: PTH113 - a Path may raise
        if not os.path.isfile(path):  # noqa: PTH113 - a Path may raise
            raise UpstreamError(f"found no file {name!r}, expected a wheel")
        if name.endswith(".py"):
            raise UpstreamError(
                f"found the single file {name!r}, expected a wheel, or the folder that it lies in"
            )
        # The file is called `NAME-VERSION…`.
        return path.name.partition("-")[0], open_archive(path)
    if os.sep in name and "=" not in name:
        raise UpstreamError(f"found no folder {name!r}, expected one, or a wheel")
    if "=" in name:
        releases = find_releases(name, library)
        if not releases:
            raise UpstreamError(
                f"found no release that {name!r} allows, expected one at least on the index"
            )
        return releases[-1].project, releases[-1].source  # the newest
    try:
        return name, open_installed(package_of_distribution(name))
    except UpstreamError as error:
        expected = (
            "expected an installed package, a folder, a wheel, or a release such as "
            "name==1.0"
        )
        raise UpstreamError(f"{error}, {expected}") from error


def _open_folder(folder: Path) -> ReleaseSource:
    """Open the folder of an import package, or the folder of a project, with all its packages.

    Its version is None: a folder does not tell that.
    """
    if (folder / "__init__.py").is_file() or _is_namespace_package(folder):
        return Tree(str(folder), None, folder.resolve().parent, folder.resolve().name)
    root = _import_root(folder)
    # The import packages: modules of one file, and folders with a Python file anywhere in them.
    tops = {file.stem for file in root.glob("*.py")}
    for file in root.glob("*/**/*.py"):
        tops.add(file.relative_to(root).parts[0])
    visible = [top for top in tops if not top.startswith(".")]
    return Tree(str(folder), None, root, *visible)


def _is_namespace_package(folder: Path) -> bool:
    """Whether a folder without `__init__.py` is a package, as its own modules import it."""
    name = folder.resolve().name
    of_package = rf"^\s*(?:from|import) {re.escape(name)}\b"
    pattern = re.compile(rf"(?m){of_package}|^from \.")
    for file in folder.glob("*.py"):
        if not file.is_file():
            continue  # such as a pipe, which would be read for ever
        if pattern.search(file.read_text("utf-8", errors="replace")):
            return True
    return False


def _import_root(project: Path) -> Path:
    """Return the folder that contains a project's packages: `src`, or the project's own folder."""
    for name in ROOTS[1:]:  # ROOTS[0] is "", the project's own folder: the last resort
        root = project / name
        if root.is_dir():
            return root
    return project


def _python(source: ReleaseSource) -> list[str]:
    """List the Python files of a package, sorted."""
    return sorted(path for path in source.paths() if path.endswith(".py"))


def content_hash(source: ReleaseSource) -> str:
    """Return a hash of the Python files of a package, as the key under which its uses are stored.

    Args:
        source: The files of the package. Where it knows the mark of a file, its size and checksum,
            the mark is hashed, and the file is not read.
    """
    digest = hashlib.sha256()
    for path in _python(source):
        content = (
            source.mark(path) or hashlib.sha256(source.read(path) or b"").hexdigest()
        )
        text = f"{path}\0{content}\0"
        # Names of files may be any bytes, which Python reads as surrogates.
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def modules_of(source: ReleaseSource, names: Collection[str]) -> Iterator[ModuleTree]:
    """Parse the modules of a package that mention one of some names, or `sys.modules`.

    Args:
        source: The files of the package.
        names: The names; other files are not parsed, as parsing takes long.

    Yields:
        One module after another, in the order of their paths.
    """
    paths = _python(source)
    source.prefetch(paths)
    # One of them as a word. A function that puts modules into `sys.modules` need name none.
    mention = re.compile(rf"\b({'|'.join(names)}|sys\.modules)\b".encode())
    for path in paths:
        text = source.read(path) or b""
        if mention.search(text):
            tree, fault = parse(text)
            is_package = path.endswith("__init__.py")
            yield ModuleTree(module_name(path), path, is_package, tree, text, fault)
