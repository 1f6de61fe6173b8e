"""What servers are asked and what they answer: URLs, replies, and the errors of both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_LOGIN = "; a name and password belong in the index's URL or in ~/.netrc"
_REASONS = {
    401: _LOGIN,
    403: _LOGIN,
    404: ": it is not there, or not any more",
    410: ": it is not there any more",
    416: ": it is shorter than it was; it has changed, or is cut off",
}


def host_of(url: str) -> str:
    """Return host and port, without name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def without_secrets(url: str) -> str:
    """A URL for a message: without the user's name and password."""
    return urlsplit(url)._replace(netloc=host_of(url)).geturl()


def joined(base: str, url: str) -> str:
    """
    Make a link whole.

    Raises:
        ValueError: it is no URL.

    """
    whole = urljoin(base, url)
    _ = urlsplit(whole).port
    return whole


class StatusError(UpstreamError):
    """A server answers that it does not give what was asked for."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(f"{host_of(url)} answers {status}{_REASONS.get(status, '')}")
        self.status = status


class NoRangesError(UpstreamError):
    """A server sends files whole or not at all."""


class Reply(NamedTuple):
    """
    An answer.

    Args:
        status: of HTTP.
        url: what has answered, after redirects.
        headers: by lower-case name.
        body: its bytes.

    """

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


def range_of(url: str, reply: Reply) -> tuple[int, int, int]:
    """
    Read the span that an answer claims, and compare it with what it brought.

    Returns:
        Where the span begins and ends, and how many bytes the file has.

    Raises:
        NoRangesError: the server sends files whole.
        UpstreamError: it does not give them, or gives something else.

    """
    if reply.status == 200:
        raise NoRangesError(f"{host_of(url)} does not serve parts of files")
    if reply.status != 206:
        raise StatusError(url, reply.status)
    match = _CONTENT_RANGE.fullmatch(reply.headers.get("content-range", ""))
    if not match:
        raise NoRangesError(f"{host_of(url)} does not say which part of the file it sends")
    first, last, total = map(int, match.groups())
    if len(reply.body) != last + 1 - first:
        raise UpstreamError(
            f"{host_of(url)} sends {len(reply.body):,} bytes and calls them {last + 1 - first:,}"
        )
    return first, last + 1, total
