"""A release that a test writes down: module sources by name."""

from __future__ import annotations

import zlib
from textwrap import dedent
from typing import TYPE_CHECKING

from patchkit.analysis.upstream.reading.files import ContentMark
from patchkit.analysis.upstream.resolving.resolve import Resolution, Resolver
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable


class Memory:
    """A source of modules that live in memory only.

    Args:
        modules: their sources, by dotted name; packages end in a dot.
    """

    name = "memory 1.0"
    version = "1.0"

    def __init__(self, modules: dict[str, str]) -> None:
        self.read_paths: list[str] = []
        self._files = {
            _path(name): dedent(text).encode() for name, text in modules.items()
        }

    def read(self, path: str) -> bytes | None:
        self.read_paths.append(path)
        return self._files.get(path)

    def has(self, path: str) -> bool:
        return path in self._files

    def paths(self) -> frozenset[str]:
        return frozenset(self._files)

    def mark(self, path: str) -> ContentMark | None:
        content = self._files.get(path)
        if content is None:
            return None
        return ContentMark(len(content), zlib.crc32(content))

    def prefetch(self, paths: Iterable[str]) -> None:
        return None


def release(source: str = "", **modules: str) -> Resolver:
    """A release of `up`: its `up/__init__.py`, and modules below it (`a__b` for `up.a.b`)."""
    return Resolver(
        Memory({"up.": source, **{_dotted(key): text for key, text in modules.items()}})
    )


def resolve(source: str, qualname: str, **modules: str) -> Resolution:
    """Resolve a name in `up/__init__.py`."""
    return release(source, **modules).resolve(Target("up", qualname))


def _dotted(key: str) -> str:
    """The module that a keyword stands for."""
    return "up." + key.replace("__", ".")


def _path(name: str) -> str:
    """The path of a module's file; a name that ends in a dot is a package's."""
    if name.endswith("."):
        return name[:-1].replace(".", "/") + "/__init__.py"
    return name.replace(".", "/") + ".py"
