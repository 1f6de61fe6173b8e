"""URLs taken apart: the host, the login, and what is left for the request."""

from __future__ import annotations

from urllib.parse import unquote, urljoin, urlsplit

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.settings import without_secrets


def check_url(url: str) -> None:
    """
    Refuse what is no URL.

    Raises:
        UpstreamError: it is none.

    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UpstreamError(f"found {url!r}, which is no URL ({error})") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UpstreamError(f"found {without_secrets(url)!r}, expected a URL of http or https")


def redirected(url: str, location: str) -> str:
    """
    Return the URL that a redirect leads to.

    Raises:
        UpstreamError: it leads to none.

    """
    try:
        found = urljoin(url, location)
        check_url(found)
    except (ValueError, UpstreamError) as error:
        raise UpstreamError(f"{host_of(url)} redirects to nowhere: {error}") from error
    return found


def host_of(url: str) -> str:
    """Return host and port, without name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def bare(url: str) -> str:
    """Return what is asked for: no name, no password, no fragment."""
    return without_secrets(url).partition("#")[0]


def user_of(url: str) -> str | None:
    """Return name and password, as the URL has them before its host."""
    user = urlsplit(url).netloc.rpartition("@")[0]
    return unquote(user) or None
