"""Which files a project has: simple indexes (PEP 503 and 691) and find-links, as pip is set."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from patchkit.analysis.upstream.reading.archive import SUFFIX
from patchkit.analysis.upstream.reading.cache import Cache, IndexPage
from patchkit.analysis.upstream.reading.replies import StatusError, joined, without_secrets
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.web import Web
from patchkit.core.versions.requirements import canonical
from patchkit.errors import UnreachableError, UpstreamError

MAX_PAGE = 64 << 20
FRESH = 600.0  # seconds for which a page is believed without asking, as pip does at most

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = "application/vnd.pypi.simple.v1+html"
_ACCEPT = f"{_JSON}, {_HTML};q=0.2, text/html;q=0.1"
_ABSENT = "absent"
_HASH = re.compile(r"sha256=([0-9a-f]{64})")


class Link(NamedTuple):
    """One file that can be had, at a URL of `file:` where it lies on this machine."""

    url: str
    filename: str
    version: str
    sha256: str | None = None  # None where the index does not say
    is_yanked: bool = False  # whether its author has taken it back (PEP 592)


@dataclass(frozen=True)
class Index:
    """All the places where pip would look for a project; pages that were fetched are kept."""

    settings: PipSettings
    web: Web
    cache: Cache
    notice: Callable[[str], None]  # told which place could not be asked

    def links(self, project: str) -> list[Link]:
        """List a project's files, of one name the first; raises UpstreamError where none is."""
        found: dict[str, Link] = {}
        faults = []
        indexes = [f"{index}/{canonical(project)}/" for index in self.settings.indexes]
        for place in (*self.settings.find_links, *indexes):
            try:
                for link in self._linked(place):
                    name, version = parse_filename(link.filename) or ("", "")
                    if version and canonical(name) == canonical(project):
                        found.setdefault(link.filename, link._replace(version=version))
            except UpstreamError as error:
                faults.append(f"{without_secrets(place)}: {error}")
        if not found:
            raise UpstreamError(self._not_found(project, faults))
        for fault in faults:
            self.notice(fault)
        return list(found.values())

    def _linked(self, place: str) -> Iterable[Link]:
        if local := local_path(place):
            return _local_links(local)
        page = self._page(place)
        return _links(page) if page else ()

    def _page(self, url: str) -> IndexPage | None:
        """A page, from the cache while it is fresh or nobody answers; None where there is none."""
        kept = self.cache.page(url)
        if kept is None or not 0 <= time.time() - kept.fetched < FRESH:
            kept = self._asked(url, kept)
        return None if kept.kind == _ABSENT else kept

    def _asked(self, url: str, kept: IndexPage | None) -> IndexPage:
        try:
            page = self._fetched(url, kept)
        except StatusError as error:
            if error.status not in (404, 410):
                raise
            page = IndexPage(url, _ABSENT, "", time.time(), b"")
        except UnreachableError as error:
            if kept is None:
                raise
            day = time.strftime("%Y-%m-%d %H:%M", time.localtime(kept.fetched))
            self.notice(f"{without_secrets(url)}: {error}; its page of {day} is used")
            return kept
        self.cache.keep_page(url, page)
        return page

    def _fetched(self, url: str, kept: IndexPage | None) -> IndexPage:
        condition = {"If-None-Match": kept.etag} if kept and kept.etag else {}
        reply = self.web.get(url, {"Accept": _ACCEPT, **condition}, MAX_PAGE)
        if reply.status == 304 and kept:
            return kept._replace(fetched=time.time())
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (_JSON, _HTML, "text/html"):
            raise UpstreamError(f"found a page of type {kind!r}, expected an index's")
        return IndexPage(reply.url, kind, reply.headers.get("etag", ""), time.time(), reply.body)

    def _not_found(self, project: str, faults: list[str]) -> str:
        if faults:
            return f"no release of {project} was found: {'; '.join(faults)}"
        places = map(without_secrets, (*self.settings.find_links, *self.settings.indexes))
        looked = ", ".join(places) or "nowhere: pip's settings name no place"
        return f"no release of {project} was found; looked at {looked}"


def local_path(place: str) -> Path | None:
    """Say where a URL or path lies on this machine; None where it does not."""
    parts = urlsplit(place)
    if parts.scheme in ("http", "https"):
        return None
    return Path(unquote(parts.path) if parts.scheme == "file" else place)


def _local_links(place: Path) -> Iterable[Link]:
    """Of a page, what it links to; of a directory, what its page links to, or else its files."""
    page = place / "index.html" if place.is_dir() else place
    try:
        if place.is_dir() and not page.exists():
            return [Link(file.absolute().as_uri(), file.name, "") for file in place.iterdir()]
        body = page.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise UpstreamError(error.strerror or str(error)) from error
    return _links(IndexPage(page.absolute().as_uri(), "text/html", "", 0.0, body))


def _links(page: IndexPage) -> Iterator[Link]:
    found = _of_json(page) if page.kind == _JSON else _of_html(page)
    # A page from elsewhere has no say in which files of this machine are read.
    schemes = ("https", "http", "file") if page.url.startswith("file:") else ("https", "http")
    return (link for link in found if urlsplit(link.url).scheme in schemes)


def _of_json(page: IndexPage) -> list[Link]:
    found = []
    try:
        for file in json.loads(page.body)["files"]:
            sha256 = _HASH.fullmatch(f"sha256={file.get('hashes', {}).get('sha256', '')}")
            # Yanked is true, or the reason as text, be it empty.
            yanked = file.get("yanked", False) is not False
            url, name = joined(page.url, file["url"]), str(file["filename"])
            found.append(Link(url, name, "", sha256 and sha256[1], yanked))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UpstreamError(f"its page is none of an index ({error!r})") from error
    return found


def _of_html(page: IndexPage) -> Iterator[Link]:
    parser = _Anchors()
    parser.feed(page.body.decode("utf-8", "replace"))
    for attributes in parser.found:
        url, _, fragment = joined(page.url, attributes.get("href") or "").partition("#")
        filename = unquote(urlsplit(url).path.rpartition("/")[2])
        sha256 = _HASH.search(fragment)
        yield Link(url, filename, "", sha256 and sha256[1], "data-yanked" in attributes)


class _Anchors(HTMLParser):
    """What a page links to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "a" and attributes.get("href"):
            self.found.append(attributes)


def parse_filename(filename: str) -> tuple[str, str] | None:
    """Read project and version in a file's name; None where it is no archive that is read."""
    if filename.endswith(".whl"):
        parts = filename.split("-")
        return (parts[0], parts[1]) if len(parts) in (5, 6) else None
    name, _, version = filename.removesuffix(SUFFIX).rpartition("-")
    return (name, version) if name and filename.endswith(SUFFIX) else None
