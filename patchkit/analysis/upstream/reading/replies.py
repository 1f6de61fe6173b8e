"""Handles URLs, and defines the errors for what servers answer in place of a file."""

from urllib.parse import urljoin, urlsplit

from patchkit.errors import UpstreamError

_LOGIN = "; a name and password belong in the index's URL or in ~/.netrc"
_REASONS = {
    401: _LOGIN,
    403: _LOGIN,
    404: ": not found",
    410: ": no longer available",
    416: ": it is shorter than before; it has changed, or is truncated",
}


def host_of(url: str) -> str:
    """Return the host and port of a `url`, without name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def without_secrets(url: str) -> str:
    """Return a `url` for a message: without the user's name and password."""
    return urlsplit(url)._replace(netloc=host_of(url)).geturl()


def joined(base: str, url: str) -> str:
    """Return the absolute URL of a link.

    Args:
        base: The URL of the page that has the link.
        url: The link, as it is written there.

    Returns:
        The absolute URL; '' where the link is no URL.
    """
    try:
        absolute = urljoin(base, url)
        _ = urlsplit(absolute).port  # reading the port checks the host and the port
    except ValueError:
        return ""
    return absolute


class StatusError(UpstreamError):
    """A server answers with the status of an error.

    Args:
        url: The URL that was requested.
        status: The status code.
    """

    def __init__(self, url: str, status: int) -> None:
        super().__init__(f"{host_of(url)} answers {status}{_REASONS.get(status, '')}")
        self.status = status


class NoRangesError(UpstreamError):
    """A server sends only whole files: it does not know the header `Range`."""
