"""Reads which version the files of a package state, where no distribution is known to have it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from patchkit.core.versions.requirements import FoundVersion
from patchkit.errors import VersionError

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def stated_version(name: str, package: str, place: Path) -> FoundVersion | None:
    """Return the first version that the package's files state and that names a release.

    If none names a release, the first that is stated at all; None if none is.

    Args:
        name: The normalized name of the distribution that is searched for.
        package: The name of the package.
        place: Its `__init__.py`, or its only file.
    """
    files = [place]
    folder = ""  # of the package, for the `source` of a version: `vllm/_version.py`
    if place.name.startswith("__init__."):
        folder = f"{package}/"
        names = ("_version.py", "version.py", place.name)
        files = [place.with_name(file) for file in names]
    versions: list[FoundVersion] = []
    for file in files:
        source = folder + file.name
        texts = _static_version(file)
        versions += [FoundVersion(name, text, source) for text in texts]
    if not versions:
        return None
    for version in versions:
        if names_release(version):
            return version
    return versions[0]


def names_release(version: FoundVersion) -> bool:
    """Whether a version names a release; `0.1.dev3` does not.

    Args:
        version: The version.
    """
    try:
        return bool(version.counts_as)
    except VersionError:
        return False


def _static_version(file: Path) -> Iterator[str]:
    """Yield the strings that a file assigns to `__version__` or `version`."""
    if not file.is_file():
        return  # it is not there, or a pipe, which would be waited for
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # it is not there, or nested too deep
    for node in _statements(tree):
        targets: list[ast.expr]
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        is_version = not names.isdisjoint(("__version__", "version"))
        value = node.value
        if (
            is_version
            and isinstance(value, ast.Constant)
            and isinstance(value.value, str)
        ):
            yield value.value


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those below it, at any depth, but not those in functions and classes."""
    pending = [node]  # no recursion, as a chain of `elif` may be too deep for it
    while pending:
        current = pending.pop()
        if not isinstance(current, _SCOPES):
            yield current
            pending += reversed(list(ast.iter_child_nodes(current)))
