"""Divides URLs, also malformed ones: the host, the name and password, the parts of the path."""

import re
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?/+")
"""Matches the scheme of a URL and the slashes; of `name:password@host` nothing."""
_PATH = re.compile(r"/(?!/)|\.|~|file:(?://)?/(?!/)")
"""Matches the beginning of a path, in which an `@` says nothing."""
_USUAL = re.compile(
    r"|\+?simple|pypi|root|api|whl|index|index\.html|packages|repository|artifactory"
    r"|cpu|cu\d+|rocm[\d.]*|xpu|nightly|test|stable|release|v\d"
)
"""Parts of the paths of indexes that are no secrets."""


class DividedUrl(NamedTuple):
    """A URL, divided at the name and password.

    Args:
        before: What stands before the login; the whole URL where it has none.
        login: Name and password, as they are written; '' where it has none.
        after: What follows the `@`; '' where it has no login.
    """

    before: str
    login: str
    after: str


def host_of(url: str) -> str:
    """Return the host and port of a `url`, without name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def without_secrets(url: str) -> str:
    """Return a `url` for a message or a cache: without the user's name and password.

    It may be malformed, or have no scheme, as in `name:password@host/simple`: then all before the
    last `@` is left out.

    Args:
        url: The URL, or a path.
    """
    parts = divided(url)
    return parts.before + parts.after


def with_login(url: str, origin: str) -> str:
    """Return a `url` with name and password of another one of the same host.

    Args:
        url: The URL; it stays as it is if it is of another host.
        origin: The other URL, which may have none.
    """
    login = divided(origin).login
    if not login or host_of(url) != host_of(origin):
        return url
    return urlsplit(url)._replace(netloc=f"{login}@{host_of(url)}").geturl()


def login_of(url: str) -> str:
    """Return name and password of a `url`, as they are written there; '' if it has none."""
    return divided(url).login


def divided(url: str) -> DividedUrl:
    """Divide a URL, also a malformed one, at its name and password.

    Args:
        url: The URL, or a path, which has neither.

    Returns:
        Its parts.
    """
    if "@" not in url or _PATH.match(url):
        return DividedUrl(url, "", "")
    authority = authority_of(url)
    if authority:
        login = authority.rpartition("@")[0]
    else:
        # Malformed: all that stands between the scheme and the last `@` may be secret.
        beginning = url.rpartition("@")[0]
        login = beginning.removeprefix(_scheme(beginning))
    if not login:
        return DividedUrl(url, "", "")  # the `@` is in the path
    before, _, after = url.partition(f"{login}@")
    return DividedUrl(before, login, after)


def authority_of(url: str) -> str:
    """Return the host of a URL with all that belongs to it; '' if the URL is malformed.

    What seems to be a port may be the beginning of a password that has a slash.

    Args:
        url: The URL.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # reading the port checks it
    except ValueError:
        return ""
    return parts.netloc


def _scheme(url: str) -> str:
    """Return the scheme and the slashes of a malformed URL; '' if it has no slash there."""
    match = _SCHEME.match(url)
    if match is None:
        return ""
    return match[0]


def address_of(url: str) -> tuple[str, str, list[str], list[str]]:
    """Divide a URL of the web.

    Args:
        url: The URL, without name and password.

    Returns:
        The scheme, the host, the parts of the path, and what follows it, if anything does.
    """
    address, *more = re.split(r"[?#]", url, maxsplit=1)
    scheme, host, *path = re.split(r"(?<!/)/(?!/)|(?<=\w:)//", address)
    return scheme, host, path, more


def is_usual(part: str) -> bool:
    """Whether a part of a path is a word that many indexes have in theirs, and so no secret.

    Args:
        part: The part, without slashes.
    """
    return bool(_USUAL.fullmatch(part))


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
