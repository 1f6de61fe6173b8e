"""Files and pages fetched over HTTP: whole, in spans, or only asked after."""

import contextlib
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from patchkit.analysis.upstream.reading.archive import MAX_DOWNLOAD, Span
from patchkit.analysis.upstream.reading.connections import Connections
from patchkit.analysis.upstream.reading.parallel import CONNECTIONS
from patchkit.analysis.upstream.reading.replies import (
    NoRangesError,
    StatusError,
    host_of,
    without_secrets,
)
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.errors import UpstreamError

_PIECE = 1 << 20
_GAP = 32 << 10  # bytes that are fetched and thrown away sooner than asking once more
_PLAIN = {"Accept-Encoding": "identity"}
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class Reply(NamedTuple):
    """What a server has answered, after redirects; headers by lower-case name."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


class Web:
    """What the index and its files are fetched with; offline, nobody is asked.

    Its methods raise UnreachableError where nobody answers, StatusError where the server does not
    give what was asked for, and UpstreamError where something is wrong with what it gives.
    """

    def __init__(self, settings: PipSettings, *, offline: bool = False) -> None:
        self._connections = Connections(settings, offline=offline)
        self.workers = ThreadPoolExecutor(CONNECTIONS, "patchkit-web")

    def close(self) -> None:
        """Close all connections."""
        self.workers.shutdown(cancel_futures=True)
        self._connections.close()

    def get(self, url: str, headers: Mapping[str, str], limit: int) -> Reply:
        """Fetch something of so many bytes at most."""
        reply = self.ask("GET", url, headers, limit)
        if reply.status not in (200, 304):
            raise StatusError(url, reply.status)
        if len(reply.body) > limit:
            raise UpstreamError(f"{without_secrets(url)} has more than {limit:,} bytes")
        return reply

    def content(self, url: str) -> "RemoteContent":
        """Return a file, to be read in spans."""
        return RemoteContent(self, url)

    @contextlib.contextmanager
    def download(self, url: str, sha256: str | None) -> Iterator[Path]:
        """Fetch a whole file, with this hash if one is known, until the context ends."""
        with tempfile.TemporaryDirectory(prefix="patchkit-") as directory:
            place = Path(directory, urlsplit(url).path.rpartition("/")[2] or "file")
            try:
                found = self._stream(url, place)
            except OSError as error:
                raise UpstreamError(f"it cannot be written to {directory}: {error}") from error
            if sha256 and found != sha256:
                raise UpstreamError(
                    f"it is not the file of the index: found SHA-256 {found}, expected {sha256}"
                )
            yield place

    def ask(self, method: str, url: str, headers: Mapping[str, str], limit: int) -> Reply:
        """Ask for something, whatever the status of the answer; read one byte above the limit."""
        with self._connections.answer(method, url, headers) as (response, final):
            # An error's page, or a file in place of a range, is not read to its end.
            is_wanted = response.status == (206 if "Range" in headers else 200)
            body = response.read(limit + 1) if is_wanted else b""
            lower = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, final, lower, body)

    def _stream(self, url: str, place: Path) -> str:
        digest, size = hashlib.sha256(), 0
        with (
            self._connections.answer("GET", url, _PLAIN) as (response, final),
            place.open("wb") as file,
        ):
            if response.status != 200:
                raise StatusError(final, response.status)
            for piece in response.stream(_PIECE):
                size += len(piece)
                if size > MAX_DOWNLOAD:
                    raise UpstreamError(f"it has more than {MAX_DOWNLOAD:,} bytes")
                digest.update(piece)
                file.write(piece)
        return digest.hexdigest()


@dataclass
class RemoteContent:
    """A file on the index; NoRangesError where its server sends it whole only."""

    web: Web
    url: str
    _total: int | None = field(default=None, init=False)

    def tail(self, size: int) -> tuple[bytes, int]:
        """Fetch the last bytes, all where there are fewer, and tell how many there are in all."""

        def last(total: int) -> Span:
            return max(0, total - size), total

        try:
            data, self._total = self._part(f"-{size}", size, last)
        except StatusError as error:
            if error.status not in (400, 416, 501):
                raise
            message = f"{host_of(self.url)} does not count ranges from the end of a file"
            raise NoRangesError(message) from error
        return data, self._total

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Fetch the spans, those that lie near each other at once."""
        wide = _joined(spans)
        pieces: list[tuple[Span, bytes]] = []
        for span, (data, total) in zip(wide, self.web.workers.map(self._span, wide), strict=True):
            if total != (self._total or total):
                raise UpstreamError("it has changed while it was read")
            self._total = total
            pieces.append((span, data))
        return [_cut(pieces, span) for span in spans]

    def _span(self, span: Span) -> tuple[bytes, int]:
        start, end = span
        return self._part(f"{start}-{end - 1}", end - start, lambda _: span)

    def _part(self, asked: str, size: int, expected: Callable[[int], Span]) -> tuple[bytes, int]:
        """Fetch a part, and compare the span that the answer claims with what it brings."""
        reply = self.web.ask("GET", self.url, {"Range": f"bytes={asked}", **_PLAIN}, size)
        host = host_of(self.url)
        if reply.status == 200:
            raise NoRangesError(f"{host} does not serve parts of files")
        if reply.status != 206:
            raise StatusError(self.url, reply.status)
        match = _CONTENT_RANGE.fullmatch(reply.headers.get("content-range", ""))
        if not match:
            raise NoRangesError(f"{host} does not say which part of the file it sends")
        start, last, total = map(int, match.groups())
        length = last + 1 - start
        if len(reply.body) != length:
            raise UpstreamError(f"{host} sends {len(reply.body):,} bytes and calls them {length:,}")
        first, end = expected(total)
        if (start, last + 1) != (first, end):
            message = f"sends bytes {start}-{last + 1} of it when asked for {first}-{end}"
            raise UpstreamError(f"{host} {message}")
        return reply.body, total


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span[0] - joined[-1][1] <= _GAP:
            start, end = joined.pop()
            span = (start, max(end, span[1]))  # noqa: PLW2901 - the two as one
        joined.append(span)
    return joined


def _cut(pieces: list[tuple[Span, bytes]], span: Span) -> bytes:
    start, end = span
    around = ((first, data) for (first, last), data in pieces if first <= start and end <= last)
    first, data = next(around)
    return data[start - first : end - first]
