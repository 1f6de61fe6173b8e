"""One release's Python files, read where they lie; of extension modules, that they are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_FILE = 16 << 20  # bytes of one Python file; the largest of vLLM, torch and Ray have 1 MB
ROOTS = ("", "src/", "python/")
"""Where in its tree a project keeps its import packages, in this order; the last is Ray's."""

_EXTENSION = re.compile(r"((?:[^/]+/)*[^\W\d]\w*)(?:\.[^/]+)?\.(?:so|pyd)")


class ContentMark(NamedTuple):
    """What tells a file's content from another without reading it: bytes, and their CRC-32."""

    size: int
    checksum: int

    def __str__(self) -> str:
        return f"{self.size:x} {self.checksum:08x}"


class ReleaseSource(Protocol):
    """
    One release of an upstream package, as files below its import packages.

    Paths are posix and relative to site-packages: `vllm/v1/engine/core.py`. Each method may raise
    UpstreamError: the release, or this file of it, cannot be read.
    """

    @property
    def name(self) -> str:
        """For messages: `vllm 0.32.0`, `the tree at …`, `wheel FILE`."""

    @property
    def version(self) -> str | None:
        """As released, such as `0.32.0`; None where unknown."""

    def read(self, path: str) -> bytes | None:
        """One Python file; None where there is no such file."""

    def has(self, path: str) -> bool:
        """Whether there is such a file."""

    def paths(self) -> frozenset[str]:
        """Every `.py`, `.pyi` and extension module (`.so`, `.pyd`) below the import packages."""

    def mark(self, path: str) -> ContentMark | None:
        """Tell a file's content from another; None without file, or where only reading tells."""

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch several at once, those that exist; may do nothing."""


def is_python(path: str) -> bool:
    """Whether a path is a source file or a stub."""
    return path.endswith((".py", ".pyi"))


def compiled(path: str) -> str | None:
    """Return the path, without suffix, of the module that an extension file is; None for others."""
    match = _EXTENSION.fullmatch(path) if path.endswith((".so", ".pyd")) else None
    return match[1] if match else None


def is_listed(path: str) -> bool:
    """Whether a path is one that an import may lead to."""
    return is_python(path) or compiled(path) is not None


def check_size(path: str, size: int) -> None:
    """Refuse, with an UpstreamError, a file that is too large to be source."""
    if size > MAX_FILE:
        raise UpstreamError(
            f"{path} in it has {size:,} bytes; Python files of up to {MAX_FILE:,} are read"
        )
