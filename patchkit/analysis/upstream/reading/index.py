"""Lists the files of a project, from the simple indexes and find-links that pip is set to.

The pages of an index are those of PEP 503 or PEP 691.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from patchkit.analysis.upstream.reading.archive import SUFFIX
from patchkit.analysis.upstream.reading.cache import Cache, IndexPage
from patchkit.analysis.upstream.reading.connections import NEVER_READ
from patchkit.analysis.upstream.reading.masking import shown
from patchkit.analysis.upstream.reading.replies import StatusError
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.tokens import (
    has_secrets,
    tokens_of,
    with_tokens,
    without_tokens,
)
from patchkit.analysis.upstream.reading.urls import (
    joined,
    login_of,
    with_login,
    without_secrets,
)
from patchkit.analysis.upstream.reading.web import Web
from patchkit.core.plain_files import read_plain
from patchkit.core.versions.requirements import canonical
from patchkit.errors import UnreachableError, UpstreamError

MAX_PAGE = 64 << 20
"""The most bytes that a page may have."""
FRESH = 600.0
"""Seconds for which a cached page is used without asking the server; pip's limit is the same."""

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = "application/vnd.pypi.simple.v1+html"
_ACCEPT = f"{_JSON}, {_HTML};q=0.2, text/html;q=0.1"
_ABSENT = "absent"
"""Stored in the cache as the media type of a page that the server does not have."""
_GONE, _NOT_MODIFIED = (404, 410), 304
_HASH = re.compile(r"sha256=([0-9a-f]{64})")
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError)
"""Errors where a page in JSON, or an entry of it, is not as PEP 691 says."""


class Link(NamedTuple):
    """A file that an index or a find-links location offers.

    Args:
        url: Where it is; a `file:` URL if it lies on this machine.
        filename: Its name.
        version: The version in its name; '' until that is read.
        sha256: Its hash; None where the index does not say.
        is_yanked: Whether it is yanked: withdrawn by its author (PEP 592).
        requires_python: The versions of Python that it is for, such as `>=3.10`; '' for any.
    """

    url: str
    filename: str
    version: str = ""
    sha256: str | None = None
    is_yanked: bool = False
    requires_python: str = ""


@dataclass(frozen=True)
class Index:
    """All indexes and find-links where pip would look for a project.

    Args:
        settings: pip's settings, which name them.
        web: Fetches their pages.
        cache: Stores fetched pages.
        notice: Called with a sentence for the user about each that cannot be reached.
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
            UpstreamError: No file is found.
        """
        links: dict[str, Link] = {}
        faults = []
        wanted = canonical(project)
        # Each location, and the one of the settings that it belongs to.
        places = [(location, location) for location in self.settings.find_links]
        places += [(f"{index}/{wanted}/", index) for index in self.settings.indexes]
        for location, root in places:
            place = shown(root)
            if location != root:
                place = f"{place}/{wanted}/"
            try:
                for link in self._links_at(location, root, place):
                    name_and_version = parse_filename(link.filename)
                    if name_and_version is None:
                        continue  # neither a wheel nor a source distribution
                    name, version = name_and_version
                    if version and canonical(name) == wanted:
                        released = link._replace(version=version)
                        links.setdefault(link.filename, released)
            except UpstreamError as error:
                faults.append(f"{place}: {error}")
        if not links:
            raise UpstreamError(self._not_found(project, faults))
        for fault in faults:
            self.notice(fault)
        return list(links.values())

    def _links_at(self, location: str, root: str, place: str) -> Iterable[Link]:
        """List all files at one location, a URL or a path, of whichever project they are.

        Args:
            location: The location.
            root: What the settings name for it: the same, or the index of a project's page.
            place: The location, as it is shown to the user.

        Raises:
            UpstreamError: It cannot be read, or what the settings name is not there.
        """
        path = local_path(location)
        if path:
            _check_exists(root)
            return _local_links(path)
        page = self._page(location, place)
        if page is None:
            return ()
        return _links_of(page)

    def _page(self, url: str, place: str) -> IndexPage | None:
        """Return a page, from the cache while it is fresh; None if the server has no such page.

        The cache gets no name and password, neither those of the URL nor those in the page, and no
        part of the URL that may be a token.
        """
        public_url = without_secrets(url)
        # Of the whole URL: the page may be read for another of the settings, too.
        tokens = tokens_of(public_url)
        page = self.cache.page(public_url)
        if page:
            page = page.changed(with_tokens, tokens)
        if public_url != url:
            # An earlier version of patchkit has stored it with name and password.
            self.cache.forget_page(url)
        # A page from the future is not fresh: the clock has been set back.
        if page is None or not 0 <= time.time() - page.fetched < FRESH:
            page = self._renewed(url, page, place, tokens)
        if page.kind == _ABSENT:
            return None
        return page._replace(url=with_login(page.url, url))

    def _renewed(
        self, url: str, cached: IndexPage | None, place: str, tokens: Sequence[str]
    ) -> IndexPage:
        """Fetch a page and store it without tokens; return the cached one if nobody answers.

        The user is told of the latter by `place`, the URL without its secrets.
        """
        try:
            page = self._fetch(url, cached)
        except StatusError as error:
            if error.status not in _GONE:
                raise
            page = IndexPage(url, _ABSENT, fetched=time.time())
        except UnreachableError as error:
            if cached is None:
                raise
            day = time.strftime("%Y-%m-%d %H:%M", time.localtime(cached.fetched))
            reason = str(error).removesuffix(NEVER_READ)
            self.notice(f"{place}: {reason}; its page of {day} is used")
            return cached
        body = page.body
        # The cache gets no name and password; the server may have put them into links.
        login = login_of(url)
        if login:
            written = f"{login}@".encode("utf-8", "surrogateescape")
            body = body.replace(written, b"")
        page = page._replace(url=without_secrets(page.url), body=body)
        public_url = without_secrets(url)
        # What the server has chosen is needed for the links, and not to be stored.
        if "?" in page.url.removeprefix(public_url) or has_secrets(body):
            self.cache.forget_page(public_url)
        else:
            self.cache.keep_page(public_url, page.changed(without_tokens, tokens))
        return page

    def _fetch(self, url: str, cached: IndexPage | None) -> IndexPage:
        """Fetch a page; a cached one is sent again only if it has changed, which its ETag tells."""
        headers = {"Accept": _ACCEPT}
        if cached and cached.etag:
            headers["If-None-Match"] = cached.etag
        reply = self.web.get(url, headers, MAX_PAGE)
        if reply.status == _NOT_MODIFIED and cached:
            return cached._replace(fetched=time.time())
        content_type = reply.headers.get("content-type", "")
        kind = content_type.partition(";")[0].strip().lower()
        if kind not in (_JSON, _HTML, "text/html"):
            raise UpstreamError(f"found a page of type {kind!r}, expected an index's")
        etag = reply.headers.get("etag", "")
        return IndexPage(reply.url, kind, etag, fetched=time.time(), body=reply.body)

    def _not_found(self, project: str, faults: list[str]) -> str:
        """Say that no file was found, and why; without faults, where it was looked for."""
        if faults:
            reasons = "; ".join(faults)
            return f"no release of {project} was found: {reasons}"
        locations = (*self.settings.find_links, *self.settings.indexes)
        places = ", ".join(map(shown, locations))
        if not places:
            places = "nowhere: pip's settings name no place"
        return f"no release of {project} was found; looked at {places}"


def local_path(location: str) -> Path | None:
    """Return the path that a location stands for, if it is on this machine.

    Args:
        location: A path, or a URL.

    Returns:
        The path; None for a URL of another machine.
    """
    parts = urlsplit(location)
    if parts.scheme in ("http", "https"):
        return None
    if parts.scheme == "file":
        return Path(os.fsdecode(unquote_to_bytes(parts.path)))
    return Path(location)


def _check_exists(location: str) -> None:
    """Raise UpstreamError if a location of the settings is on this machine, and not there."""
    path = local_path(location)
    # `os.path`: unlike a `Path`, it raises no error for a folder that may not be read.
    if path and not os.path.lexists(path):
        raise UpstreamError(
            f"found no file or folder {shown(location)}, expected one, or a URL of "
            "http or https"
        )


def _local_links(path: Path) -> Iterable[Link]:
    """List what a page on this machine links to; of a directory without a page, list its files.

    Args:
        path: An HTML file; or a directory, whose page is its `index.html`.
    """
    page = path
    try:
        is_directory = path.is_dir()
        if is_directory:
            page = path / "index.html"
        if is_directory and not page.exists():
            return [
                Link(file.absolute().as_uri(), file.name) for file in path.iterdir()
            ]
        body = read_plain(page, MAX_PAGE)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise UpstreamError(error.strerror or str(error)) from error
    return _links_of(IndexPage(page.absolute().as_uri(), "text/html", body=body))


def _links_of(page: IndexPage) -> Iterator[Link]:
    """List what a page links to; only a page on this machine may link to files on it."""
    schemes = {"https", "http"}
    if page.url.startswith("file:"):
        schemes.add("file")
    links = _links_of_json(page) if page.kind == _JSON else _links_of_html(page)
    return (link for link in links if urlsplit(link.url).scheme in schemes)


def _links_of_json(page: IndexPage) -> Iterable[Link]:
    """List what a page in JSON links to (PEP 691); an entry that is malformed is left out."""
    links = []
    fault: Exception | None = None
    try:
        for file in json.loads(page.body)["files"]:
            try:
                links.append(_link_of_json(page, file))
            except _MALFORMED as error:
                fault = error
    except (*_MALFORMED, RecursionError) as error:
        fault = error
    if fault and not links:
        # The error may quote the page, and so the tokens in its links.
        is_text = not isinstance(fault, UnicodeDecodeError)
        reason = repr(fault)[:200] if is_text else "it is not UTF-8"
        raise UpstreamError(f"not an index page ({reason})") from fault
    return links


def _link_of_json(page: IndexPage, file: Any) -> Link:
    """Read one entry of the `files` of a page; a malformed one raises any of `_MALFORMED`."""
    digest = file.get("hashes", {}).get("sha256", "")
    # Checked in the form that links in HTML have: only 64 hexadecimal digits count as a hash.
    match = _HASH.fullmatch(f"sha256={digest}")
    # `yanked` is a bool, or the reason as text, which may be empty.
    is_yanked = file.get("yanked", False) is not False
    url = joined(page.url, file["url"])
    sha256 = _first_group(match)
    return Link(
        url,
        str(file["filename"]),
        sha256=sha256,
        is_yanked=is_yanked,
        requires_python=str(file.get("requires-python") or ""),
    )


def _links_of_html(page: IndexPage) -> Iterator[Link]:
    """List what a page in HTML links to (PEP 503): `<a href="…#sha256=…" data-yanked>`."""
    parser = _AnchorParser()
    try:
        parser.feed(page.body.decode("utf-8", "replace"))
    except AssertionError as error:  # as for `<![x[`, which it quotes: maybe a token
        raise UpstreamError("not an index page (markup that is no HTML)") from error
    for attributes in parser.anchors:
        address = attributes.get("href") or ""
        url, _, fragment = joined(page.url, address).partition("#")
        path = urlsplit(url).path
        filename = unquote(path.rpartition("/")[2])
        sha256 = _first_group(_HASH.search(fragment))
        yield Link(
            url,
            filename,
            sha256=sha256,
            is_yanked="data-yanked" in attributes,
            requires_python=attributes.get("data-requires-python") or "",
        )


def _first_group(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    return match[1]


class _AnchorParser(HTMLParser):
    """Collects the attributes of each `<a>` of a page that has an `href`."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add the attributes of a tag that is a link; `HTMLParser` calls this for each tag."""
        attributes = dict(attrs)
        if tag == "a" and attributes.get("href"):
            self.anchors.append(attributes)


def parse_filename(filename: str) -> tuple[str, str] | None:
    """Read the project and the version in the name of a wheel or source distribution.

    Args:
        filename: The name of a file.

    Returns:
        Both as they are written there; None for any other file.
    """
    if not filename.isprintable():
        return None  # nobody could read it in a report
    if filename.endswith(".whl"):
        # `vllm-0.32.0-cp310-abi3-linux_x86_64.whl`; a build number may follow the version.
        parts = filename.split("-")
        if len(parts) in (5, 6):
            return parts[0], parts[1]
        return None
    if not filename.endswith(SUFFIX):
        return None
    name, _, version = filename.removesuffix(SUFFIX).rpartition("-")
    if not name:
        return None
    return name, version
