"""Indexes, servers and files that are not as they should be, over real sockets."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from urllib3.util import connection

from analysis.upstream import archives
from analysis.upstream.server import Shop, serving
from analysis.upstream.shops import WHEEL, Customer, age, prefetch, stock
from patchkit.analysis.upstream.reading.cache import IndexPage
from patchkit.analysis.upstream.reading.parallel import CONNECTIONS
from patchkit.analysis.upstream.reading.releases import find_releases
from patchkit.analysis.upstream.reading.tokens import (
    tokens_of,
    with_tokens,
    without_tokens,
)
from patchkit.errors import RequirementError, UpstreamError

if TYPE_CHECKING:
    import socket
    from pathlib import Path


@pytest.mark.usefixtures("buyer")  # no proxy of this machine
def test_without_a_network_an_old_page_is_used_and_reported(
    tmp_path: Path,
) -> None:
    """If nobody answers, the old page and kept files are used, and the user is told."""
    customer = Customer(Shop(), tmp_path / "cache")
    stock(customer, "1.0", "1.1")
    with serving(customer.shop), customer.library() as library:
        find_releases("up", library)[0].source.read("up/version.py")
        age(library, f"{customer.shop.url}/simple/up/")
    with customer.library(retries=0) as library:
        old, new = find_releases("up", library)
        assert old.source.read("up/version.py") == b"1.0"
        with pytest.raises(
            UpstreamError, match=r"up 1\.1: .* does not answer .*refused"
        ):
            new.source.read("up/version.py")
    [notice] = customer.notices
    assert re.search(
        r"/simple/up/: .* does not answer .*; its page of 1970-.* is used", notice
    )


BROKEN = {
    "gone": "answers 404",
    "gone-midway": "answers 404",
    "cut": "stops in the middle",
    "long": "calls them",
    "other": "when asked for",
    "changed": "it changed",
    "broken": "answers 500",
    "loop": "redirects more than",
    "elsewhere": "expected a URL of http",
}


@pytest.mark.parametrize("behaviour", BROKEN)
def test_one_bad_wheel_is_one_error(buyer: Customer, behaviour: str) -> None:
    """The error names release, file and reason; the releases around it are read."""
    stock(buyer, "1.0", "1.1", "1.2")
    buyer.shop.behaviours[WHEEL.format("1.1")] = behaviour
    with buyer.library(retries=0) as library:
        releases = find_releases("up", library)
        errors = prefetch(releases, ["up/version.py", "up/m3.py"])
        assert releases[0].source.read("up/m3.py") == b"x = 3\n"
        assert releases[2].source.read("up/m3.py") == b"x = 3\n"
    assert list(errors) == ["1.1"]
    text = str(errors["1.1"])
    assert text.startswith(f"up 1.1: {WHEEL.format('1.1')}: ")
    assert BROKEN[behaviour] in text
    assert "\n" not in text


def test_each_malicious_wheel_is_one_error(buyer: Customer) -> None:
    """A file that is no wheel, and one with a name that leads out, are one error each."""
    stock(buyer, "1.0", "1.1")
    buyer.shop.files[WHEEL.format("1.2")] = b"PK no"
    wheel = archives.wheel({"uuuuuuuuu.py": b""})
    buyer.shop.files[WHEEL.format("1.3")] = archives.renamed(
        wheel, "uuuuuuuuu.py", "../../evi.py"
    )
    with buyer.library() as library:
        errors = prefetch(find_releases("up", library), ["up/m0.py"])
    assert list(errors) == ["1.2", "1.3"]


@pytest.mark.parametrize("behaviour", ["whole", "no-tail", "moved", "busy"])
@pytest.mark.parametrize("has_hashes", [True, False])
def test_servers_without_ranges_or_with_detours_are_read(
    buyer: Customer, behaviour: str, has_hashes: bool
) -> None:
    """A wheel is read without ranges, or tail ranges, and after a redirect or a busy reply."""
    stock(buyer, "1.0")
    buyer.shop.has_hashes = has_hashes
    buyer.shop.behaviours[""] = behaviour
    with buyer.library() as library:
        [release] = find_releases("up", library)
        assert release.source.read("up/m3.py") == b"x = 3\n"
        assert release.source.read("up/version.py") == b"1.0"


def test_a_whole_file_is_compared_with_the_index(buyer: Customer) -> None:
    """A file that comes whole and is not the one whose hash the index states is an error."""
    stock(buyer, "1.0")
    buyer.shop.behaviours[""] = "whole"
    with buyer.library() as library:
        [release] = find_releases("up", library)
        buyer.shop.files[WHEEL.format("1.0")] = archives.wheel()
        with pytest.raises(UpstreamError, match="not the file of the index"):
            release.source.paths()


def test_an_index_that_fails_is_reported_and_the_others_count(buyer: Customer) -> None:
    """As with pip, the user is told of the index, and gets the releases of the others."""
    stock(buyer, "1.0")
    indexes = (f"{buyer.shop.url}/simple", "http://127.0.0.1:9/simple")
    with buyer.library(indexes=indexes) as library:
        assert len(find_releases("up", library)) == 1
    assert any("127.0.0.1:9" in line for line in buyer.notices)


def test_a_host_that_is_down_is_asked_once(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty releases on a dead host are forty errors at once, not forty waits."""
    stock(buyer, *(f"1.{number}" for number in range(40)))
    attempts: list[object] = []
    connect = connection.create_connection

    def counting(
        address: tuple[str, int], *args: object, **options: object
    ) -> socket.socket:
        attempts.append(address)
        return connect(address, *args, **options)

    with buyer.library(retries=0) as library:
        releases = find_releases("up", library)
        for release in releases:
            url = "http://127.0.0.1:9/" + release.link.filename
            release.link = release.link._replace(url=url)
        monkeypatch.setattr(connection, "create_connection", counting)
        errors = prefetch(releases, ["up/m0.py"])
    assert len(errors) == 40
    assert all("does not answer" in str(error) for error in errors.values())
    assert len(attempts) <= CONNECTIONS


def test_an_unknown_project_is_an_error(buyer: Customer) -> None:
    """A project that no index has is an error that lists the indexes."""
    with (
        buyer.library() as library,
        pytest.raises(
            UpstreamError,
            match=f"no release of up was found; looked at {buyer.shop.url}",
        ),
    ):
        find_releases("up", library)


def test_an_invalid_requirement_is_an_error(buyer: Customer) -> None:
    """A text that is no requirement is a RequirementError."""
    with buyer.library() as library, pytest.raises(RequirementError):
        find_releases("up>=?", library)


@pytest.mark.parametrize("is_json", [False, True])
def test_a_malformed_link_is_left_out(buyer: Customer, is_json: bool) -> None:
    """A page with one malformed link still gives the releases of its other links."""
    stock(buyer, "1.0", "1.1")
    buyer.shop.is_json = is_json
    with buyer.library() as library:
        library.index.links("up")
        url = f"{buyer.shop.url}/simple/up/"
        kept = library.cache.page(url)
        assert kept is not None
        page = kept.changed(with_tokens, tokens_of(url))
        folder = b"/files/" if is_json else b"../../files/"
        link = folder + WHEEL.format("1.1").encode()
        broken = page._replace(body=page.body.replace(link, b"http://[x"))
        library.cache.keep_page(url, broken.changed(without_tokens, tokens_of(url)))
        releases = find_releases("up", library)
        assert [release.version for release in releases] == ["1.0"]


@pytest.mark.parametrize(
    "entry",
    ["7", "null", "{}", '{"url": "a.whl"}', '{"filename": "a.whl", "url": [1]}'],
)
def test_a_malformed_entry_is_left_out(buyer: Customer, entry: str) -> None:
    """A page in JSON with one entry that is none still gives its other releases."""
    stock(buyer, "1.0")
    buyer.shop.is_json = True
    with buyer.library() as library:
        library.index.links("up")
        url = f"{buyer.shop.url}/simple/up/"
        page = library.cache.page(url)
        assert page is not None
        body = page.body.replace(b'"files": [', f'"files": [{entry}, '.encode())
        assert body != page.body
        library.cache.keep_page(url, page._replace(body=body))
        releases = find_releases("up", library)
        assert [release.version for release in releases] == ["1.0"]


@pytest.mark.parametrize("markup", ["<![cret[", "<![>", "<![<!["])
def test_markup_that_python_does_not_read_is_an_error(
    buyer: Customer, markup: str
) -> None:
    """It names the page, as links may have been lost, and quotes nothing, as they have tokens."""
    url = f"{buyer.shop.url}/simple/up/"
    with buyer.library() as library:
        page = IndexPage(url, "text/html", "", time.time(), markup.encode())
        library.cache.keep_page(url, page)
        fault = rf"{url}: not an index page \(markup that is no HTML\)"
        with pytest.raises(UpstreamError, match=fault) as caught:
            find_releases("up", library)
    assert "cret" not in str(caught.value)


def test_a_page_that_is_no_text_is_not_quoted(buyer: Customer) -> None:
    """Its links may have tokens."""
    url = f"{buyer.shop.url}/simple/up/"
    body = b'{"files": [{"url": "/x?token=cret"}], "a": "\xff"}'
    with buyer.library() as library:
        content_type = "application/vnd.pypi.simple.v1+json"
        page = IndexPage(url, content_type, "", time.time(), body)
        library.cache.keep_page(url, page)
        with pytest.raises(UpstreamError, match="not UTF-8") as caught:
            find_releases("up", library)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'{"files": [1]}', b"no json", b"[" * 99_999]
)
def test_a_malformed_json_page_is_an_error(buyer: Customer, body: bytes) -> None:
    """What claims to be an index's JSON and is not is one error that names the page."""
    url = f"{buyer.shop.url}/simple/up/"
    with buyer.library() as library:
        content_type = "application/vnd.pypi.simple.v1+json"
        page = IndexPage(url, content_type, "", time.time(), body)
        library.cache.keep_page(url, page)
        with pytest.raises(UpstreamError, match=f"{url}: not an index page"):
            find_releases("up", library)
