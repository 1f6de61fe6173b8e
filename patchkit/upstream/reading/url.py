"""URLs as messages show them."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit


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
