"""URLs, as messages show them too, and what servers answer in place of a file."""

from urllib.parse import urljoin, urlsplit

from patchkit.errors import UpstreamError

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
    """Make a link whole; '' where it is no URL."""
    try:
        whole = urljoin(base, url)
        _ = urlsplit(whole).port  # raises where it is none
    except ValueError:
        return ""
    return whole


class StatusError(UpstreamError):
    """A server answers that it does not give what was asked for."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(f"{host_of(url)} answers {status}{_REASONS.get(status, '')}")
        self.status = status


class NoRangesError(UpstreamError):
    """A server sends files whole or not at all."""
