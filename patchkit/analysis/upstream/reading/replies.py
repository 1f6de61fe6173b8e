"""Handles URLs, and defines the errors for what servers answer in place of a file."""

import re
from collections.abc import Sequence
from typing import NamedTuple
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


_WEB = re.compile(r"https?://", re.IGNORECASE)
_URL = re.compile(r"(?!file:)(?:[a-z][a-z0-9+.-]*://|https?:)", re.IGNORECASE)
"""Matches the beginning of what is meant to be a URL, of any scheme but that of files."""
_BLANK = re.compile(r"(\S*)(\s*)(.*)", re.DOTALL)
_USUAL = re.compile(
    r"|\+?simple|pypi|root|api|whl|index|index\.html|packages|repository|artifactory"
    r"|cpu|cu\d+|rocm[\d.]*|xpu|nightly|test|stable|release|v\d"
)
"""Parts of the paths of indexes that are no secrets."""
_LINK_WITH_LOGIN = re.compile(rb"https?:\\?/\\?/[^/\s\"'<>?#]*@", re.IGNORECASE)
"""Finds a login in a link, also of a page in JSON, which may escape a slash."""
_LINK_WITH_QUERY = re.compile(rb"\.(?:whl|gz|zip)\?([^\s\"'<>#]*)", re.IGNORECASE)
"""Finds the query of a link."""
_EDGE = b"\0"
"""Begins and ends a mark, which stands in the cache for a token."""
_MARK = re.compile(rb"\0\d+\0")


class _Parts(NamedTuple):
    """A URL, divided at the name and password; both are '' if it has none."""

    before: str
    login: str
    after: str


_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?/+")
"""Matches the scheme of a URL and the slashes; of `name:password@host` nothing."""
_PATH = re.compile(r"/(?!/)|\.|~|file:(?://)?/(?!/)")
"""Matches the beginning of a path, in which an `@` says nothing."""


def without_secrets(url: str) -> str:
    """Return a `url` for a message or a cache: without the user's name and password.

    It may be malformed, or have no scheme, as in `name:password@host/simple`: then all before the
    last `@` is left out.

    Args:
        url: The URL, or a path.
    """
    parts = _divided(url)
    return parts.before + parts.after


def shown(url: str) -> str:
    """Return a URL for a message: `…` stands for each part of it that may be a secret.

    Some indexes have a token in the path, or behind the `?`. So of the path only words remain that
    the addresses of indexes usually have.

    Args:
        url: The URL, or a path, which is shown as it is.
    """
    public = without_secrets(url)
    if not _URL.match(public):
        return public
    beginning, slash, rest = public.partition("/")
    if not rest.startswith("/"):  # `http:host/…`, where a slash is missing
        return f"{beginning}{slash}…" if rest else public
    scheme, host, path, query = _address(public)
    segments = [part if _USUAL.fullmatch(part) else "…" for part in path]
    return "/".join((f"{scheme}//{host}", *segments)) + ("?…" if query else "")


def _address(url: str) -> tuple[str, str, list[str], list[str]]:
    """Divide a URL of the web: scheme, host, the parts of the path, and what follows, if any."""
    address, *more = re.split(r"[?#]", url, maxsplit=1)
    scheme, host, *path = re.split(r"(?<!/)/(?!/)|(?<=\w:)//", address)
    return scheme, host, path, more


def tokens_of(url: str) -> list[str]:
    """Return the parts of a URL that may be tokens: those for which `shown` has `…`.

    Of what follows a `?`, names and values are parts of their own.

    Args:
        url: The URL, or a path, which has none.
    """
    public = without_secrets(url)
    if not _WEB.match(public):
        return []
    _, _, path, query = _address(public)
    unusual = [part for part in path if not _USUAL.fullmatch(part)]
    words = re.split(r"[&=;#?]", "".join(query))
    return [part for part in (*unusual, *words) if part]


def without_tokens(text: bytes, tokens: Sequence[str]) -> bytes:
    """Return a text for the cache, with a mark in place of each token.

    Args:
        text: The text.
        tokens: The tokens.
    """
    marks = {_bytes(token): _mark(number) for number, token in enumerate(tokens)}
    marks[_EDGE] = _mark(len(tokens))  # then no other text looks like a mark
    # All in one pass, as a later token may be a part of the marks of earlier ones.
    longest_first = sorted(marks, key=len, reverse=True)
    pattern = b"|".join(map(re.escape, longest_first))
    return re.sub(pattern, lambda match: marks[match[0]], text)


def with_tokens(text: bytes, tokens: Sequence[str]) -> bytes:
    """Return the text of which `without_tokens` has made another one.

    Args:
        text: What it has made.
        tokens: The tokens that it was given.
    """
    marked = {_mark(number): _bytes(token) for number, token in enumerate(tokens)}
    marked[_mark(len(tokens))] = _EDGE
    return _MARK.sub(lambda match: marked.get(match[0], match[0]), text)


def _bytes(token: str) -> bytes:
    return token.encode("utf-8", "surrogateescape")


def _mark(number: int) -> bytes:
    return b"%s%d%s" % (_EDGE, number, _EDGE)


def has_secrets(page: bytes) -> bool:
    """Whether a link of a page has a login, or a query with a value.

    Args:
        page: The page, in HTML or JSON.
    """
    if _LINK_WITH_LOGIN.search(page):
        return True
    return any(b"=" in query[1] for query in _LINK_WITH_QUERY.finditer(page))


def masked(text: str) -> str:
    """Return a setting for a message: in each URL, `…` stands for what may be secret.

    Args:
        text: The setting, which may have several URLs, also malformed ones: a password may have
            blanks in it.
    """
    # Each part begins with a scheme, but for what stands before the first one.
    parts = re.split(r"(?=\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)", text)
    return "".join(map(_masked, parts))


def _masked(text: str) -> str:
    """Mask the part of a setting that begins with a URL; the blanks behind it are kept."""
    scheme, separator, rest = text.rpartition("://")
    _, _, host = rest.rpartition("@")
    words = rest.split()
    is_login = len(words) > 1 and "@" not in words[0] and host != rest
    # Without a scheme, only `name:password with blanks@host` is taken for a login.
    if is_login and (separator or ":" in words[0]):
        # If it was another URL, which has no login, it is left out as well.
        return f"{scheme}{separator}…@{_shown_word(host)}"
    return _masked_words(text)


def _shown_word(text: str) -> str:
    """Show a host and what follows it, up to a blank; then the rest."""
    word, blank, rest = _BLANK.match(text).groups()  # type: ignore[union-attr]
    return shown(f"https://{word}").removeprefix("https://") + blank + rest


def _masked_words(text: str) -> str:
    """Mask each word of a setting that is a URL."""
    words = []
    for word in re.split(r"(\s+)", text):  # the blanks are kept, as words of their own
        parts = _divided(word)
        if parts.login:
            words.append(f"{parts.before}…@{_shown_word(parts.after)}")
        elif re.match(r"https?://[^/]*:", word) and not _authority(word):
            # The port is no number, so that it may be the beginning of a password.
            words.append(re.sub(r"(?<=://).*", "…", word))
        else:
            address = word.rstrip(":")
            words.append(shown(address) + word[len(address) :])
    return "".join(words)


def with_login(url: str, origin: str) -> str:
    """Return a `url` with name and password of another one of the same host.

    Args:
        url: The URL; it stays as it is if it is of another host.
        origin: The other URL, which may have none.
    """
    login = _divided(origin).login
    if not login or host_of(url) != host_of(origin):
        return url
    return urlsplit(url)._replace(netloc=f"{login}@{host_of(url)}").geturl()


def login_of(url: str) -> str:
    """Return name and password of a `url`, as they are written there; '' if it has none."""
    return _divided(url).login


def _divided(url: str) -> _Parts:
    """Divide a URL, also a malformed one, at its name and password."""
    if "@" not in url or _PATH.match(url):
        return _Parts(url, "", "")
    authority = _authority(url)
    if authority:
        login = authority.rpartition("@")[0]
    else:
        # Malformed: all that stands between the scheme and the last `@` may be secret.
        beginning = url.rpartition("@")[0]
        login = beginning.removeprefix(_scheme(beginning))
    if not login:
        return _Parts(url, "", "")  # the `@` is in the path
    before, _, after = url.partition(f"{login}@")
    return _Parts(before, login, after)


def _authority(url: str) -> str:
    """Return the host of a URL with all that belongs to it; '' if the URL is malformed.

    What seems to be a port may be the beginning of a password that has a slash.
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
