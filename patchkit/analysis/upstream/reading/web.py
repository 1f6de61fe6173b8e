"""Fetches files and pages over HTTP: whole, or parts of a file."""

import contextlib
import hashlib
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from urllib3 import BaseHTTPResponse

from patchkit.analysis.upstream.reading.archive import MAX_DOWNLOAD, Span
from patchkit.analysis.upstream.reading.connections import Connections
from patchkit.analysis.upstream.reading.masking import shown
from patchkit.analysis.upstream.reading.parallel import CONNECTIONS
from patchkit.analysis.upstream.reading.replies import NoRangesError, StatusError
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.urls import host_of
from patchkit.errors import UpstreamError

_PATIENCE = 300.0
"""Seconds for a page, or a part of a file; whole files may take longer."""
_PIECE = 1 << 16
"""Bytes that are read at a time, if the server sends as many."""
_GAP = 32 << 10
"""Spans that lie at most so many bytes apart are fetched by one request, the gap included."""
_PLAIN = {"Accept-Encoding": "identity"}
"""Asks for the bytes of a file as they are, not compressed for the way."""
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_OK = 200
_PARTIAL = 206
_NOT_MODIFIED = 304
_NO_SUFFIX_RANGES = (400, 416, 501)
"""Status codes of servers that do not know ranges from the end of a file, as `bytes=-100`."""


class Reply(NamedTuple):
    """The answer of a server, after redirects.

    Args:
        status: The status code.
        url: The URL that has answered.
        headers: Its headers, by lower-case name.
        body: The content; empty unless the status is the expected one, 200 or 206.
    """

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


class Web:
    """Fetches the pages of indexes and the files that they list.

    Its methods raise UnreachableError where no server answers or it is offline, StatusError where
    the status is an error, and UpstreamError where the content is not what it should be.

    Args:
        settings: pip's settings.
        offline: Whether to send no requests.
    """

    def __init__(self, settings: PipSettings, *, offline: bool = False) -> None:
        self._connections = Connections(settings, offline=offline)
        self.workers = ThreadPoolExecutor(CONNECTIONS, "patchkit-web")

    def close(self, *, at_once: bool = False) -> None:
        """Close all connections.

        Args:
            at_once: Whether not to wait for what is being fetched.
        """
        self.workers.shutdown(wait=not at_once, cancel_futures=True)
        self._connections.close()

    def get(self, url: str, headers: Mapping[str, str], limit: int) -> Reply:
        """Fetch a page.

        Args:
            url: Its URL.
            headers: Headers of the request.
            limit: How many bytes it may have.

        Returns:
            The reply, of status 200 or 304.

        Raises:
            StatusError: The server answers with another status.
            UpstreamError: The page is larger.
        """
        reply = self.ask("GET", url, headers, limit)
        if reply.status not in (_OK, _NOT_MODIFIED):
            raise StatusError(url, reply.status)
        if len(reply.body) > limit:  # `ask` reads one byte more, so that this shows
            raise UpstreamError(f"{shown(url)} has more than {limit:,} bytes")
        return reply

    def content(self, url: str) -> "RemoteContent":
        """Return the file at `url`, of which nothing is fetched yet."""
        return RemoteContent(self, url)

    @contextlib.contextmanager
    def download(self, url: str, sha256: str | None) -> Iterator[Path]:
        """Fetch a whole file to a temporary directory, which is deleted when the context ends.

        Args:
            url: The URL of the file.
            sha256: The hash that it should have; None where none is known.

        Yields:
            The file.

        Raises:
            UpstreamError: The file has another hash, or cannot be written.
        """
        try:
            temporary = tempfile.TemporaryDirectory(prefix="patchkit-")
        except OSError as error:  # full, read-only, or there is none
            raise UpstreamError(
                f"no temporary directory can be made for it: {error.strerror or error}"
            ) from error
        with temporary as directory:
            file = Path(directory, "file")  # the name in the URL may be any, or a token
            try:
                actual = self._save(url, file)
            except OSError as error:
                raise UpstreamError(
                    f"it cannot be written to {directory}: {error.strerror or error}"
                ) from error
            if sha256 and actual != sha256:
                raise UpstreamError(
                    f"it is not the file of the index: found SHA-256 {actual}, expected {sha256}"
                )
            yield file

    def ask(
        self, method: str, url: str, headers: Mapping[str, str], limit: int
    ) -> Reply:
        """Send a request, and accept any status.

        Args:
            method: The HTTP method, such as `GET`.
            url: The URL.
            headers: Headers of the request; `Range` asks for a part.
            limit: How many bytes to read; one more is read, if there are more, to show that.

        Returns:
            The reply; its body is read only if the status is 200, or 206 for a part.

        Raises:
            UpstreamError: It takes minutes, though the server never stops.
        """
        expected = _PARTIAL if "Range" in headers else _OK
        with self._connections.answer(method, url, headers) as (response, final_url):
            body = bytearray()
            began = time.monotonic()
            if response.status == expected:
                for piece in self._pieces(response, final_url):
                    body += piece
                    if len(body) > limit:
                        break
                    if time.monotonic() - began > _PATIENCE:
                        reason = f"takes more than {_PATIENCE:.0f} s"
                        raise UpstreamError(f"{shown(final_url)} {reason}")
            lower = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, final_url, lower, bytes(body[: limit + 1]))

    def _pieces(self, response: BaseHTTPResponse, url: str) -> Iterator[bytes]:
        """Yield the content of a response, as it comes.

        Raises:
            UnreachableError: The server sends next to nothing, so that the end would never come.
        """
        # It returns what is there, and waits only for the first byte; urllib3 2.0 has only `read`.
        read = getattr(response, "read1", response.read)
        while True:
            piece = read(_PIECE)
            self._connections.received(response, url, len(piece))
            if not piece:
                return
            yield piece

    def _save(self, url: str, path: Path) -> str:
        """Write what is at a URL to a file; return its SHA-256."""
        digest = hashlib.sha256()
        size = 0
        with (
            self._connections.answer("GET", url, _PLAIN) as (response, final_url),
            path.open("wb") as file,
        ):
            if response.status != _OK:
                raise StatusError(final_url, response.status)
            for piece in self._pieces(response, final_url):
                size += len(piece)
                if size > MAX_DOWNLOAD:
                    raise UpstreamError(f"it has more than {MAX_DOWNLOAD:,} bytes")
                digest.update(piece)
                file.write(piece)
        return digest.hexdigest()


@dataclass
class RemoteContent:
    """The content of a file on the web, read in parts.

    Its methods raise NoRangesError where the server sends only whole files, and what `Web` raises.

    Args:
        web: What fetches it.
        url: Where it is.
    """

    web: Web
    url: str
    _total: int | None = field(default=None, init=False)

    def tail(self, size: int) -> tuple[bytes, int]:
        """Fetch the last bytes of the file.

        Args:
            size: How many bytes, if there are as many.

        Returns:
            The bytes, and the size of the whole file.

        Raises:
            NoRangesError: The server does not serve parts from the end of a file.
        """

        def span_at_end(total: int) -> Span:
            """Return the span of the last `size` bytes, or of all, in a file of `total` bytes."""
            return max(0, total - size), total

        try:
            data, self._total = self._part(f"-{size}", size, span_at_end)
        except StatusError as error:
            if error.status not in _NO_SUFFIX_RANGES:
                raise
            message = (
                f"{host_of(self.url)} does not count ranges from the end of a file"
            )
            raise NoRangesError(message) from error
        return data, self._total

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Fetch parts of the file, those that lie near each other by one request.

        Args:
            spans: The parts.

        Returns:
            The bytes of each.

        Raises:
            UpstreamError: The file has changed since another part was fetched.
        """
        wide_spans = _joined(spans)  # one for each request, with the gaps in it
        replies = self.web.workers.map(self._span, wide_spans)
        pieces: list[_Piece] = []
        for (start, _), (data, total) in zip(wide_spans, replies, strict=True):
            if self._total and total != self._total:
                raise UpstreamError("it changed while it was being read")
            self._total = total
            pieces.append(_Piece(start, data))
        return [_cut(pieces, span) for span in spans]

    def _span(self, span: Span) -> tuple[bytes, int]:
        start, end = span
        return self._part(f"{start}-{end - 1}", end - start, lambda _: span)

    def _part(
        self, part: str, size: int, span_of: Callable[[int], Span]
    ) -> tuple[bytes, int]:
        """Fetch a part, and check that the reply is this part.

        Args:
            part: The part, as the header `Range` has it: `0-99`, or `-100` for the last bytes.
            size: How many bytes it has at most.
            span_of: Returns the span that the part must be, from the size of the whole file.

        Returns:
            The bytes of the part, and the size of the whole file.
        """
        reply = self.web.ask(
            "GET", self.url, {"Range": f"bytes={part}", **_PLAIN}, size
        )
        host = host_of(self.url)
        if reply.status == _OK:
            raise NoRangesError(f"{host} does not serve parts of files")
        if reply.status != _PARTIAL:
            raise StatusError(self.url, reply.status)
        match = _CONTENT_RANGE.fullmatch(reply.headers.get("content-range", ""))
        if not match:
            raise NoRangesError(f"{host} does not say which part of the file it sends")
        start, last, total = map(int, match.groups())
        end = last + 1
        length = end - start
        if len(reply.body) != length:
            raise UpstreamError(
                f"{host} sends {len(reply.body):,} bytes and calls them {length:,}"
            )
        expected_start, expected_end = span_of(total)
        if (start, end) != (expected_start, expected_end):
            message = f"sends bytes {start}-{end} of it when asked for"
            raise UpstreamError(f"{host} {message} {expected_start}-{expected_end}")
        return reply.body, total


class _Piece(NamedTuple):
    """Bytes of a file, and where in it they begin."""

    start: int
    data: bytes


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Join spans that lie near each other, for one request; the first one in the file is first."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start - joined[-1][1] <= _GAP:
            first_start, first_end = joined.pop()
            joined.append((first_start, max(first_end, end)))
        else:
            joined.append((start, end))
    return joined


def _cut(pieces: Sequence[_Piece], span: Span) -> bytes:
    """Return the bytes of a span from the piece that it lies in."""
    start, end = span
    for piece in pieces:
        if piece.start <= start and end <= piece.start + len(piece.data):
            return piece.data[start - piece.start : end - piece.start]
    raise AssertionError(span)  # `_joined` has put each span into one of the pieces
