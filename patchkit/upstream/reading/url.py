"""URLs as messages show them."""

from __future__ import annotations

from urllib.parse import urlsplit


def host_of(url: str) -> str:
    """Return host and port, without name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def without_secrets(url: str) -> str:
    """A URL for a message: without the user's name and password."""
    return urlsplit(url)._replace(netloc=host_of(url)).geturl()
