"""A file on the index: parts of it, or all where its server knows no parts."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.content import LocalContent
from patchkit.upstream.reading.replies import NoRangesError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchkit.upstream.reading.archive import Span
    from patchkit.upstream.reading.web import Web

_TAIL = 64 << 10
_GAP = 32 << 10
"""Bytes that are fetched and thrown away sooner than asking once more."""


class RemoteContent:
    """
    The bytes of a file on the index.

    Args:
        web: fetches them.
        url: the file's.
        sha256: what its bytes have, None where that is not known.
        notice: told that the file has to be fetched whole.

    """

    def __init__(
        self, web: Web, url: str, sha256: str | None, notice: Callable[[str], None]
    ) -> None:
        self._web = web
        self._url = url
        self._sha256 = sha256
        self._notice = notice
        self._lock = threading.RLock()
        self._total: int | None = None
        self._tail = b""
        self._whole: LocalContent | None = None
        self._downloads = contextlib.ExitStack()

    @property
    def is_whole(self) -> bool:
        """Whether it had to be fetched whole."""
        return self._whole is not None

    def size(self) -> int:
        """How many bytes there are."""
        with self._lock:
            if self._whole is None and self._total is None:
                try:
                    self._tail, self._total = self._web.tail(self._url, _TAIL)
                except NoRangesError as error:
                    self._fetch_whole(error)
            return self._whole.size() if self._whole else self._total or 0

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Read the spans, in their order, each in full."""
        with self._lock:
            if self._whole is None:
                try:
                    return self._parts(spans)
                except NoRangesError as error:
                    self._fetch_whole(error)
            assert self._whole is not None
            return self._whole.fetch(spans)

    def close(self) -> None:
        """Remove the file, if it had to be fetched whole."""
        with self._lock:
            self._whole = None
            self._downloads.close()

    def _parts(self, spans: Sequence[Span]) -> list[bytes]:
        known_from = None if self._total is None else self._total - len(self._tail)
        needed = [span for span in spans if known_from is None or span[0] < known_from]
        pieces = dict(zip(joined := list(_joined(needed)), self._fetched(joined), strict=True))
        if known_from is not None and self._total is not None:
            pieces[known_from, self._total] = self._tail
        return [_cut(pieces, span) for span in spans]

    def _fetched(self, spans: list[Span]) -> Iterator[bytes]:
        for data, total in self._web.spans(self._url, spans) if spans else ():
            if total != (self._total or total):
                raise UpstreamError("it has changed while it was read")
            self._total = total
            yield data

    def _fetch_whole(self, error: UpstreamError) -> None:
        self._notice(f"{error}; fetching {self._url.rpartition('/')[2]} whole")
        download = self._web.download(self._url, self._sha256)
        self._whole = LocalContent(self._downloads.enter_context(download))


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    """Join what lies near each other."""
    current: Span | None = None
    for start, end in sorted(spans):
        if current and start - current[1] <= _GAP:
            current = (current[0], max(current[1], end))
            continue
        if current:
            yield current
        current = (start, end)
    if current:
        yield current


def _cut(pieces: dict[Span, bytes], span: Span) -> bytes:
    start, end = span
    for (first, last), data in pieces.items():
        if first <= start and end <= last:
            return data[start - first : end - first]
    raise UpstreamError("it has changed while it was read")
