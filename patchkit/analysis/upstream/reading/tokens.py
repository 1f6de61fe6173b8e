"""Keeps the tokens in an index's URL out of the cache: a mark stands there for each of them."""

import re
from collections.abc import Sequence

from patchkit.analysis.upstream.reading.urls import (
    address_of,
    is_usual,
    without_secrets,
)

_WEB = re.compile(r"https?://", re.IGNORECASE)
_LINK_WITH_LOGIN = re.compile(rb"https?:\\?/\\?/[^/\s\"'<>?#]*@", re.IGNORECASE)
"""Finds a login in a link, also of a page in JSON, which may escape a slash."""
_LINK_WITH_QUERY = re.compile(rb"\.(?:whl|gz|zip)\?([^\s\"'<>#]*)", re.IGNORECASE)
"""Finds the query of a link."""
_EDGE = b"\0"
"""Begins and ends a mark, which stands in the cache for a token."""
_MARK = re.compile(rb"\0\d+\0")


def tokens_of(url: str) -> list[str]:
    """Return the parts of a URL that may be tokens: those for which `shown` has `…`.

    Of what follows a `?`, names and values are parts of their own.

    Args:
        url: The URL, or a path, which has none.
    """
    public = without_secrets(url)
    if not _WEB.match(public):
        return []
    _, _, path, query = address_of(public)
    parts = [part for part in path if not is_usual(part)]
    parts += re.split(r"[&=;#?]", "".join(query))
    return [part for part in parts if part]


def without_tokens(text: bytes, tokens: Sequence[str]) -> bytes:
    """Return a text for the cache, with a mark in place of each token.

    Args:
        text: The text.
        tokens: The tokens.
    """
    marks = {}
    for number, token in enumerate(tokens):
        marks[_bytes(token)] = _mark(number)
    marks[_EDGE] = _mark(len(tokens))  # then no other text looks like a mark

    def mark_of(match: re.Match[bytes]) -> bytes:
        return marks[match[0]]

    # All in one pass, as a later token may be a part of the marks of earlier ones.
    longest_first = sorted(marks, key=len, reverse=True)
    pattern = b"|".join(map(re.escape, longest_first))
    return re.sub(pattern, mark_of, text)


def with_tokens(text: bytes, tokens: Sequence[str]) -> bytes:
    """Return the text of which `without_tokens` has made another one.

    Args:
        text: What it has made.
        tokens: The tokens that it was given.
    """
    marked = {}
    for number, token in enumerate(tokens):
        marked[_mark(number)] = _bytes(token)
    marked[_mark(len(tokens))] = _EDGE

    def original_of(match: re.Match[bytes]) -> bytes:
        text = match[0]
        return marked.get(text, text)

    return _MARK.sub(original_of, text)


def _bytes(token: str) -> bytes:
    return token.encode("utf-8", "surrogateescape")


def _mark(number: int) -> bytes:
    digits = str(number).encode()
    return _EDGE + digits + _EDGE


def has_secrets(page: bytes) -> bool:
    """Whether a link of a page has a login, or a query with a value.

    Args:
        page: The page, in HTML or JSON.
    """
    if _LINK_WITH_LOGIN.search(page):
        return True
    for match in _LINK_WITH_QUERY.finditer(page):
        query = match[1]
        if b"=" in query:
            return True
    return False
