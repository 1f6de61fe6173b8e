"""One release's Python files, read where they lie; of extension modules, that they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class ContentMark(NamedTuple):
    """
    What tells a file's content from another without reading it.

    Args:
        size: in bytes.
        checksum: CRC-32.

    """

    size: int
    checksum: int

    def __str__(self) -> str:
        return f"{self.size:x} {self.checksum:08x}"


class ReleaseSource(Protocol):
    """
    One release of an upstream package, as files below its import packages.

    Paths are posix and relative to site-packages: `vllm/v1/engine/core.py`.
    """

    @property
    def name(self) -> str:
        """For messages: `vllm 0.32.0`, `the tree at …`, `wheel FILE`."""

    @property
    def version(self) -> str | None:
        """As released, such as `0.32.0`; None where unknown."""

    def read(self, path: str) -> bytes | None:
        """
        One Python file; None where there is no such file.

        Raises:
            UpstreamError: the release cannot be read.

        """

    def has(self, path: str) -> bool:
        """Whether there is such a file."""

    def paths(self) -> frozenset[str]:
        """Every `.py`, `.pyi` and extension module (`.so`, `.pyd`) below the import packages."""

    def mark(self, path: str) -> ContentMark | None:
        """Tell a file's content from another; None without file, or where only reading tells."""

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch several at once, those that exist; may do nothing."""
