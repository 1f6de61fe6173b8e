"""The bytes of an archive: of a file on this machine, or of parts of one on the index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from patchkit.upstream.reading.web import Web

Span = tuple[int, int]
"""From this byte of a file up to, not including, that one."""

_GAP = 32 << 10
"""Bytes that are fetched and thrown away sooner than asking once more."""


class Content(Protocol):
    """The bytes of an archive, wherever it lies."""

    def tail(self, size: int) -> tuple[bytes, int]:
        """
        Read the last bytes, all where there are fewer, and tell how many there are in all.

        Raises:
            NoRangesError: the file can only be had whole.
            UpstreamError: they cannot be had.

        """

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """
        Read the spans, in their order, each in full.

        Raises:
            NoRangesError: the file can only be had whole.
            UpstreamError: they cannot be had.

        """


class LocalContent:
    """
    A file on this machine.

    Args:
        file: where it lies.

    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def tail(self, size: int) -> tuple[bytes, int]:
        """Read the last bytes, and tell how many there are in all."""
        try:
            total = self._file.stat().st_size
        except OSError as error:
            raise UpstreamError(error.strerror or str(error)) from error
        return self.fetch([(max(0, total - size), total)])[0], total

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Read the spans, in their order, each in full."""
        try:
            with self._file.open("rb") as file:
                pieces = [os.pread(file.fileno(), end - start, start) for start, end in spans]
        except OSError as error:
            raise UpstreamError(error.strerror or str(error)) from error
        if any(len(piece) != end - start for piece, (start, end) in zip(pieces, spans)):  # noqa: B905 - one each
            raise UpstreamError("it is cut off")
        return pieces


class RemoteContent:
    """
    A file on the index.

    Args:
        web: fetches its parts.
        url: the file's.

    """

    def __init__(self, web: Web, url: str) -> None:
        self._web = web
        self._url = url
        self._total: int | None = None

    def tail(self, size: int) -> tuple[bytes, int]:
        """Fetch the last bytes, and tell how many there are in all."""
        data, self._total = self._web.tail(self._url, size)
        return data, self._total

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Fetch the spans, those that lie near each other at once."""
        joined = list(_joined(spans))
        pieces: dict[Span, bytes] = {}
        for span, (data, total) in zip(joined, self._web.spans(self._url, joined), strict=True):
            if total != (self._total or total):
                raise UpstreamError("it has changed while it was read")
            self._total, pieces[span] = total, data
        return [_cut(pieces, span) for span in spans]


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
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
    around = next(piece for piece in pieces if piece[0] <= start and end <= piece[1])
    return pieces[around][start - around[0] : end - around[0]]
