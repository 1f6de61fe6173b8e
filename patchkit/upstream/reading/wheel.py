"""A wheel: its table of contents first, then only the files that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.archive import MAX_ALL, check_size, is_python, unpack
from patchkit.upstream.reading.archived import Archived
from patchkit.upstream.reading.cache import Cache
from patchkit.upstream.reading.content import LocalContent
from patchkit.upstream.reading.replies import NoRangesError
from patchkit.upstream.reading.window import read_listing

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from patchkit.upstream.reading.archive import Listing
    from patchkit.upstream.reading.content import Content
    from patchkit.upstream.reading.source import ReleaseSource


class WheelReader:
    """
    Reads a wheel wherever it lies.

    Args:
        content: its bytes.
        download: brings it here whole where its server knows no parts, as the error says.

    """

    def __init__(
        self,
        content: Content,
        download: Callable[[NoRangesError], AbstractContextManager[Path]] | None = None,
    ) -> None:
        self._content = content
        self._download = download

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its Python files; they come along where it comes whole."""
        try:
            return read_listing(self._content), {}
        except NoRangesError as error:
            return self._whole(error)

    def fetch(self, members: Listing) -> dict[str, bytes]:
        """Read files of its listing; all others come along where it comes whole."""
        for path, member in members.items():
            check_size(path, max(member.size, member.packed))
        spans = [member.span for member in members.values() if member.span]
        try:
            pieces = self._content.fetch(spans)
        except NoRangesError as error:
            return self._whole(error)[1]
        several = zip(members.items(), pieces, strict=True)
        return {path: unpack(path, member, piece) for (path, member), piece in several}

    def _whole(self, error: NoRangesError) -> tuple[Listing, dict[str, bytes]]:
        assert self._download is not None  # a file on this machine has parts
        with self._download(error) as file:
            local = WheelReader(LocalContent(file))
            listing, _ = local.listing()
            members = {path: member for path, member in listing.items() if is_python(path)}
            size = sum(member.size for member in members.values())
            if size > MAX_ALL:
                limit = f"archives of up to {MAX_ALL:,} are read"
                raise UpstreamError(f"its Python files have {size:,} bytes; {limit}")
            return listing, local.fetch(members)


def open_wheel(file: Path) -> ReleaseSource:
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
    reader, shelf = WheelReader(LocalContent(file)), Cache(None).shelf("")
    return Archived(f"wheel {file.name}", parts[1], str(file), reader, shelf)
