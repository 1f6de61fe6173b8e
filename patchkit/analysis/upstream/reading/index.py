"""Lists the files of a project, from the simple indexes and find-links that pip is set to.

The pages of an index are those of PEP 503 or PEP 691.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from patchkit.analysis.upstream.reading.archive import SUFFIX
from patchkit.analysis.upstream.reading.cache import Cache, IndexPage
from patchkit.analysis.upstream.reading.replies import (
    StatusError,
    joined,
    without_secrets,
)
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.web import Web
from patchkit.core.versions.requirements import canonical
from patchkit.errors import UnreachableError, UpstreamError

MAX_PAGE = 64 << 20
"""Bytes of a page."""
FRESH = 600.0
"""Seconds for which a page is believed without asking, as pip does at most."""

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = "application/vnd.pypi.simple.v1+html"
_ACCEPT = f"{_JSON}, {_HTML};q=0.2, text/html;q=0.1"
_ABSENT = "absent"
"""The media type with which the cache notes that there is no page."""
_GONE = (404, 410)
_NOT_MODIFIED = 304
_HASH = re.compile(r"sha256=([0-9a-f]{64})")


class Link(NamedTuple):
    """A file that can be had.

    Args:
        url: Where it is, a URL of `file:` where it lies on this machine.
        filename: Its name.
        version: The version in its name; '' where nobody has read that yet.
        sha256: Its hash; None where the index does not say.
        is_yanked: Whether its author has taken it back (PEP 592).
    """

    url: str
    filename: str
    version: str
    sha256: str | None = None
    is_yanked: bool = False


@dataclass(frozen=True)
class Index:
    """All indexes and find-links where pip would look for a project.

    Args:
        settings: pip's settings, which name them.
        web: What fetches their pages.
        cache: Where fetched pages are stored.
        notice: Called with a sentence about each that could not be asked.
    """

    settings: PipSettings
    web: Web
    cache: Cache
    notice: Callable[[str], None]

    def links(self, project: str) -> list[Link]:
        """List the files of a project.

        Args:
            project: Its name, in any spelling.

        Returns:
            The files; of several with the same name only the first.

        Raises:
            UpstreamError: There is none.
        """
        links: dict[str, Link] = {}
        faults = []
        indexes = [f"{index}/{canonical(project)}/" for index in self.settings.indexes]
        for location in (*self.settings.find_links, *indexes):
            try:
                for link in self._links_at(location):
                    name, version = parse_filename(link.filename) or ("", "")
                    if version and canonical(name) == canonical(project):
                        links.setdefault(link.filename, link._replace(version=version))
            except UpstreamError as error:
                faults.append(f"{without_secrets(location)}: {error}")
        if not links:
            raise UpstreamError(self._not_found(project, faults))
        for fault in faults:
            self.notice(fault)
        return list(links.values())

    def _links_at(self, location: str) -> Iterable[Link]:
        path = local_path(location)
        if path:
            return _local_links(path)
        page = self._page(location)
        if page is None:
            return ()
        return _links_of(page)

    def _page(self, url: str) -> IndexPage | None:
        """Return a page, from the cache while it is fresh or nobody answers; None for no page."""
        page = self.cache.page(url)
        if page is None or not 0 <= time.time() - page.fetched < FRESH:
            page = self._renewed(url, page)
        if page.kind == _ABSENT:
            return None
        return page

    def _renewed(self, url: str, cached: IndexPage | None) -> IndexPage:
        """Fetch a page and store it; return the cached one where nobody answers."""
        try:
            page = self._fetch(url, cached)
        except StatusError as error:
            if error.status not in _GONE:
                raise
            page = IndexPage(url, _ABSENT, "", time.time(), b"")
        except UnreachableError as error:
            if cached is None:
                raise
            day = time.strftime("%Y-%m-%d %H:%M", time.localtime(cached.fetched))
            self.notice(f"{without_secrets(url)}: {error}; its page of {day} is used")
            return cached
        self.cache.keep_page(url, page)
        return page

    def _fetch(self, url: str, cached: IndexPage | None) -> IndexPage:
        headers = {"Accept": _ACCEPT}
        if cached and cached.etag:
            headers["If-None-Match"] = cached.etag
        reply = self.web.get(url, headers, MAX_PAGE)
        if reply.status == _NOT_MODIFIED and cached:
            return cached._replace(fetched=time.time())
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (_JSON, _HTML, "text/html"):
            raise UpstreamError(f"found a page of type {kind!r}, expected an index's")
        return IndexPage(
            reply.url, kind, reply.headers.get("etag", ""), time.time(), reply.body
        )

    def _not_found(self, project: str, faults: list[str]) -> str:
        if faults:
            return f"no release of {project} was found: {'; '.join(faults)}"
        locations = (*self.settings.find_links, *self.settings.indexes)
        shown = ", ".join(map(without_secrets, locations))
        if not shown:
            shown = "nowhere: pip's settings name no place"
        return f"no release of {project} was found; looked at {shown}"


def local_path(location: str) -> Path | None:
    """Return the path of something on this machine.

    Args:
        location: A path, or a URL.

    Returns:
        The path; None for a URL of another machine.
    """
    parts = urlsplit(location)
    if parts.scheme in ("http", "https"):
        return None
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(location)


def _local_links(path: Path) -> Iterable[Link]:
    """Of a page, what it links to; of a directory, what its page links to, or else its files."""
    page = path
    try:
        is_directory = path.is_dir()
        if is_directory:
            page = path / "index.html"
        if is_directory and not page.exists():
            return [
                Link(file.absolute().as_uri(), file.name, "") for file in path.iterdir()
            ]
        body = page.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise UpstreamError(error.strerror or str(error)) from error
    return _links_of(IndexPage(page.absolute().as_uri(), "text/html", "", 0.0, body))


def _links_of(page: IndexPage) -> Iterator[Link]:
    """List what a page links to; one of the web has no say in which local files are read."""
    schemes = {"https", "http"}
    if page.url.startswith("file:"):
        schemes.add("file")
    links = _links_of_json(page) if page.kind == _JSON else _links_of_html(page)
    return (link for link in links if urlsplit(link.url).scheme in schemes)


def _links_of_json(page: IndexPage) -> Iterable[Link]:
    try:
        return [_link_of_json(page, file) for file in json.loads(page.body)["files"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UpstreamError(f"not an index page ({error!r})") from error


def _link_of_json(page: IndexPage, file: Any) -> Link:
    match = _HASH.fullmatch(f"sha256={file.get('hashes', {}).get('sha256', '')}")
    # Yanked is true, or the reason as text, be it empty.
    is_yanked = file.get("yanked", False) is not False
    url = joined(page.url, file["url"])
    return Link(url, str(file["filename"]), "", _first_group(match), is_yanked)


def _links_of_html(page: IndexPage) -> Iterator[Link]:
    parser = _AnchorParser()
    parser.feed(page.body.decode("utf-8", "replace"))
    for attributes in parser.anchors:
        url, _, fragment = joined(page.url, attributes.get("href") or "").partition("#")
        filename = unquote(urlsplit(url).path.rpartition("/")[2])
        sha256 = _first_group(_HASH.search(fragment))
        yield Link(url, filename, "", sha256, "data-yanked" in attributes)


def _first_group(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    return match[1]


class _AnchorParser(HTMLParser):
    """Collects the attributes of the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "a" and attributes.get("href"):
            self.anchors.append(attributes)


def parse_filename(filename: str) -> tuple[str, str] | None:
    """Read the project and the version in the name of an archive.

    Args:
        filename: The name of a file.

    Returns:
        Both as they are written there; None for what is neither a wheel nor a source distribution
        that can be read.
    """
    if filename.endswith(".whl"):
        parts = filename.split("-")
        if len(parts) in (5, 6):  # with or without a build number
            return parts[0], parts[1]
        return None
    if not filename.endswith(SUFFIX):
        return None
    name, _, version = filename.removesuffix(SUFFIX).rpartition("-")
    if not name:
        return None
    return name, version
