"""What servers answer in place of a file."""

from patchkit.analysis.upstream.reading.urls import host_of
from patchkit.errors import UpstreamError

_LOGIN = "; a name and password belong in the index's URL or in ~/.netrc"
_REASONS = {
    401: _LOGIN,
    403: _LOGIN,
    404: ": not found",
    410: ": no longer available",
    416: ": it is shorter than before; it has changed, or is truncated",
}


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
