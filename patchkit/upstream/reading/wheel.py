"""A wheel: its table of contents first, then only the files that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.archive import check_size, unpack
from patchkit.upstream.reading.archived import Archived, MemoryShelf
from patchkit.upstream.reading.content import LocalContent
from patchkit.upstream.reading.window import read_listing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchkit.upstream.reading.archive import Content, Listing, Span
    from patchkit.upstream.reading.source import Source


class WheelReader:
    """
    Reads a wheel wherever it lies.

    Args:
        content: its bytes.

    """

    def __init__(self, content: Content) -> None:
        self._content = content

    @property
    def is_whole(self) -> bool:
        """Whether it was brought here whole."""
        return self._content.is_whole

    def listing(self) -> Listing:
        """List its Python files."""
        return read_listing(self._content)

    def fetch(self, members: Listing) -> dict[str, bytes]:
        """Read some of the files of its listing."""
        spans = dict(_spans(members))
        pieces = self._content.fetch(list(spans.values()))
        return {
            path: unpack(path, members[path], piece)
            for path, piece in zip(spans, pieces, strict=True)
        }

    def close(self) -> None:
        """Let go of what was brought here whole."""
        self._content.close()


def _spans(members: Listing) -> Iterator[tuple[str, Span]]:
    for path, member in members.items():
        assert member.span is not None  # a listing of its own has them all
        check_size(path, max(member.size, member.packed))
        yield path, member.span


def open_wheel(file: Path) -> Source:
    """
    Open a wheel file.

    Raises:
        UpstreamError: its name is none of a wheel.

    """
    parts = file.name.split("-")
    if not file.name.endswith(".whl") or len(parts) not in (5, 6):
        raise UpstreamError(
            f"found {str(file)!r}, expected a wheel such as vllm-0.32.0-py3-none-any.whl"
        )
    return Archived(
        f"wheel {file.name}", parts[1], str(file), WheelReader(LocalContent(file)), MemoryShelf()
    )
