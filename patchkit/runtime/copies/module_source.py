"""Parses the source of a loaded module, if the file is still the one that was loaded."""

import ast
import sys
import warnings
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

from patchkit.runtime.changes.owners import namespace
from patchkit.runtime.copies.bindings import all_scopes


def code_of(module: ModuleType) -> ast.Module | None:
    """Parse the source of a loaded module.

    Args:
        module: The module.

    Returns:
        Its syntax tree; None if there is no source, or not the one that was loaded.
    """
    values = namespace(module)
    try:
        source = _source_of(values)
        if source is None:
            return None
        tree = _parsed(source)
    except Exception:  # noqa: BLE001 - an unknown loader may raise anything
        return None
    if not _has_made(tree, values):
        return None
    return tree


def _source_of(values: dict[str, Any]) -> str | bytes | None:
    """Read the source of a module; None if its file has changed since it was imported."""
    file = str(values.get("__file__") or "")
    spec = cast("Any", values.get("__spec__"))
    path = Path(file)
    if not file.endswith(".py") or not path.exists():
        source: str = spec.loader.get_source(spec.name)  # in a zip file
        return source.removeprefix("\ufeff")  # a byte order mark
    if not _is_as_imported(path, spec):
        return None
    return path.read_bytes()


def _parsed(source: bytes | str) -> ast.Module:
    """Parse a source without warnings: Python has shown them when it compiled the module."""
    # The filter is in effect in all threads. This name, which warnings of the parser have as their
    # module, limits it to this call.
    name = "patchkit_copies"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=name)
        return ast.parse(source, name)


def _is_as_imported(file: Path, spec: Any) -> bool:
    """Whether a file is the one that was imported, as far as its `.pyc` file shows.

    An import updates the `.pyc`, which has the time and size of the source in its first 16 bytes.

    Args:
        file: The source file.
        spec: The module's import spec. Without a `.pyc` the answer is yes.
    """
    cached_name = getattr(spec, "cached", None) or ""
    cached = Path(str(cached_name))
    if not cached.is_file():
        return True
    if type(spec.loader) is not SourceFileLoader:  # others may not update the `.pyc`
        return True
    with cached.open("rb") as opened:
        magic = opened.read(4)
        flags = opened.read(4)
        time_and_size = opened.read(8)
    if sys.dont_write_bytecode:  # then the import has not updated the `.pyc`
        return True
    if magic != MAGIC_NUMBER:
        return False
    # With other flags, the `.pyc` has a hash of the source in place of time and size.
    has_hash = flags != bytes(4)
    return has_hash or time_and_size == _time_and_size(file)


def _time_and_size(file: Path) -> bytes:
    """Return time and size of a source file as a `.pyc` has them: 32 bits of each."""
    stat = file.stat()
    # In little-endian order, the lower 32 bits of a number are its first four bytes.
    seconds = int(stat.st_mtime)
    time = seconds.to_bytes(8, "little")
    size = stat.st_size.to_bytes(8, "little")
    return time[:4] + size[:4]


def _has_made(tree: ast.Module, values: dict[str, Any]) -> bool:
    """Whether a module's functions are in a source, under their names and on the same lines.

    Args:
        tree: The parsed source.
        values: The module's attributes.

    Returns:
        True if at least one function has its place in the source; also if the module has no
        functions from its own file.
    """
    loaded = set()
    for value in tuple(values.values()):
        if type(value) is FunctionType:
            code = value.__code__
            is_own = code.co_filename == values.get("__file__")
            if is_own and code.co_name != "<lambda>":
                loaded.add((code.co_name, code.co_firstlineno))
    if not loaded:
        return True
    defined = set()
    for node in all_scopes(tree):
        # For Python, a function begins with its first decorator.
        parts = (node, *node.decorator_list)
        first_line = min(part.lineno for part in parts)
        defined.add((node.name, first_line))
    return not loaded.isdisjoint(defined)
