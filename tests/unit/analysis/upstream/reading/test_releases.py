"""From a requirement to files, over real sockets."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from support.odd_places import ending_in, pipe

from analysis.upstream import archives
from analysis.upstream.shops import (
    WHEEL,
    Customer,
    age,
    found_versions,
    prefetch,
    stock,
)
from patchkit.analysis.upstream.reading.index import local_path
from patchkit.analysis.upstream.reading.parallel import for_each
from patchkit.analysis.upstream.reading.releases import find_releases
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from patchkit.analysis.upstream.reading.releases import Release


@pytest.mark.parametrize(("spec", "expected"), [
    ("up", ["0.9.0", "0.10.0", "0.10.0.post1", "0.11.0"]),
    ("up>=0.10", ["0.10.0", "0.10.0.post1", "0.11.0"]),
    ("up>0.9,<0.11", ["0.10.0", "0.10.0.post1"]),
    ("up==0.10.0", ["0.10.0"]),
    ("UP == 0.10.*", ["0.10.0", "0.10.0.post1"]),
    ("up>=1", []),
    ("up==0.12.0rc1", ["0.12.0rc1"]),
    ("up>=0.12.0rc1", ["0.12.0rc1", "0.12.0rc2"]),
    ("up>=0.11.0.dev1", ["0.11.0", "0.12.0rc1", "0.12.0rc2"]),
    ("up==0.8.0", ["0.8.0"]),
])  # fmt: skip
def test_finds_the_releases_that_a_requirement_allows(
    buyer: Customer, spec: str, expected: list[str]
) -> None:
    """In version order; pre-releases if a bound names one, yanked ones if named exactly."""
    stock(
        buyer,
        "0.10.0",
        "0.9.0",
        "0.11.0",
        "0.10.0.post1",
        "0.12.0rc2",
        "0.12.0rc1",
        "0.8.0",
    )
    stock(buyer, "nonsense", "0.1.dev5")
    buyer.shop.yanked.add(WHEEL.format("0.8.0"))
    assert found_versions(buyer, spec) == expected


def test_html_and_json_pages_give_the_same_links(buyer: Customer) -> None:
    """PEP 503's HTML and PEP 691's JSON give the same files, hashes and yanks."""
    stock(buyer, "1.0", "1.1")
    buyer.shop.yanked.add(WHEEL.format("1.1"))
    pages = []
    for is_json in (False, True):
        buyer.shop.is_json = is_json
        buyer.place = buyer.place.with_name(f"cache-{is_json}")
        with buyer.library() as library:
            pages.append(library.index.links("up"))
    assert pages[0] == pages[1]
    assert [link.is_yanked for link in pages[0]] == [False, True]
    assert all(link.sha256 for link in pages[0])


def test_only_the_parts_that_are_needed_are_downloaded(buyer: Customer) -> None:
    """Of a wheel of megabytes only some kilobytes are downloaded, in three requests."""
    files = archives.spread(count=8, gap=1 << 20)
    buyer.shop.files[WHEEL.format("1.0")] = archives.wheel(files, method=0)
    with buyer.library() as library:
        [release] = find_releases("up", library)
        release.source.prefetch(["up/m1.py", "up/m6.py", "up/other.py"])
        assert release.source.read("up/m1.py") == b"x = 1\n"
        assert release.source.read("up/m6.py") == b"x = 6\n"
        assert release.source.read("up/other.py") is None
        assert buyer.shop.sent < 100_000
    assert len(buyer.shop.requests_of(WHEEL.format("1.0"))) == 3


def test_many_requests_share_eight_connections(buyer: Customer) -> None:
    """More than eighty requests for forty releases use at most eight connections."""
    stock(buyer, *(f"1.{number}" for number in range(40)))
    with buyer.library() as library:
        assert not prefetch(find_releases("up", library), ["up/version.py", "up/m3.py"])
    assert len(buyer.shop.asked) > 80
    assert len(buyer.shop.clients) <= 8


def test_a_second_process_sends_no_request(buyer: Customer) -> None:
    """Pages, files, and which files are absent are in the cache once they were read."""
    stock(buyer, "1.0", "1.1")
    for _ in range(2):
        with buyer.library() as library:
            releases = find_releases("up", library)
            prefetch(releases, ["up/version.py", "up/none.py"])
            versions = [release.source.read("up/version.py") for release in releases]
            assert versions == [b"1.0", b"1.1"]
            has_none = [release.source.has("up/none.py") for release in releases]
            assert has_none == [False, False]
        requests = list(buyer.shop.asked)
        buyer.shop.asked.clear()
    assert requests == []


def test_offline_has_what_is_kept(buyer: Customer) -> None:
    """Offline, what was read before can be read; anything else is one clear error per release."""
    stock(buyer, "1.0", "1.1")
    with buyer.library() as library:
        find_releases("up", library)[0].source.read("up/version.py")
        age(library, f"{buyer.shop.url}/simple/up/")
    buyer.shop.asked.clear()
    with buyer.library(offline=True) as library:
        old, new = find_releases("up", library)
        assert old.source.read("up/version.py") == b"1.0"
        with pytest.raises(
            UpstreamError, match=r"up 1\.1: up-1\.1-.*offline.*not in the cache"
        ):
            new.source.read("up/version.py")
        with pytest.raises(UpstreamError, match=r"no release of other.*offline"):
            find_releases("other", library)
    assert buyer.shop.asked == []
    [notice] = buyer.notices
    assert re.search(
        r"/simple/up/: patchkit is offline; its page of 1970-.* is used$", notice
    )


def test_an_old_page_is_requested_again_with_its_tag(buyer: Customer) -> None:
    """An old page is requested with its ETag; if it is unchanged, its content is not sent again."""
    stock(buyer, "1.0")
    buyer.shop.etag = '"first"'
    assert found_versions(buyer, "up") == ["1.0"]
    stock(buyer, "1.1")
    assert found_versions(buyer, "up") == ["1.0"]
    with buyer.library() as library:
        age(library, f"{buyer.shop.url}/simple/up/")
    sent = buyer.shop.sent
    assert found_versions(buyer, "up") == ["1.0"]
    assert buyer.shop.sent == sent
    with buyer.library() as library:
        age(library, f"{buyer.shop.url}/simple/up/")
    buyer.shop.etag = '"second"'
    assert found_versions(buyer, "up") == ["1.0", "1.1"]


def test_a_wheel_that_comes_whole_is_downloaded_once(
    buyer: Customer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python files are kept, the user is told once, and no temporary file is left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    stock(buyer, "1.0")
    buyer.shop.behaviours[""] = "whole"
    for _ in range(2):
        with buyer.library() as library:
            [release] = find_releases("up", library)
            assert release.source.read("up/m3.py") == b"x = 3\n"
            assert release.source.read("up/m0.py") == b"x = 0\n"
            assert list(temporary.iterdir()) == []
    requests = buyer.shop.requests_of(".whl")
    without_range = [request for request in requests if "bytes" not in request]
    assert len(without_range) == 1
    notices = [notice for notice in buyer.notices if "whole" in notice]
    assert len(notices) == 1


def test_a_wheel_that_comes_whole_has_a_limit(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel that comes whole is an error if its Python files together exceed the limit."""
    monkeypatch.setattr("patchkit.analysis.upstream.reading.wheel.MAX_ALL", 1)
    stock(buyer, "1.0")
    buyer.shop.behaviours[""] = "whole"
    with buyer.library() as library:
        [release] = find_releases("up", library)
        with pytest.raises(
            UpstreamError, match=r"up 1\.0: .*its Python files have .* bytes"
        ):
            release.source.paths()


def test_source_distributions_serve_where_there_is_no_wheel(buyer: Customer) -> None:
    """A release without a wheel is read from its source distribution, which is downloaded once."""
    buyer.shop.files["up-1.0.tar.gz"] = archives.sdist()
    for _ in range(2):
        with buyer.library() as library:
            [release] = find_releases("up", library)
            assert release.source.read("up/core.py") == archives.FILES["up/core.py"]
    assert len(buyer.shop.requests_of("tar.gz")) == 1


def test_a_file_without_hash_that_is_replaced_is_read_anew(buyer: Customer) -> None:
    """Content of a file for which the index has no hash is not kept for the next process."""
    buyer.shop.has_hashes = False
    for content in (b"1", b"22"):
        buyer.shop.files[WHEEL.format("1.0")] = archives.wheel({"up/a.py": content})
        with buyer.library() as library:
            [release] = find_releases("up", library)
            assert release.source.read("up/a.py") == content


def test_releases_of_all_indexes_and_links_are_found(
    buyer: Customer, tmp_path: Path
) -> None:
    """Indexes on the web and on disk, and folders of find-links, each add their releases."""
    stock(buyer, "1.0")
    links = tmp_path / "links"
    links.mkdir()
    (links / WHEEL.format("1.1")).write_bytes(archives.wheel())
    (links / "up-1.2.tar.gz").write_bytes(archives.sdist())
    (links / "other-1.3.tar.gz").write_bytes(b"")
    local = tmp_path / "local/up"
    local.mkdir(parents=True)
    (local / "index.html").write_text(
        f'<a href="../../links/{WHEEL.format("1.1")}">x</a>'
    )
    indexes = (f"{buyer.shop.url}/simple", (tmp_path / "local").as_uri())
    with buyer.library(indexes=indexes, find_links=(str(links),)) as library:
        releases = find_releases("up", library)
        assert [release.version for release in releases] == ["1.0", "1.1", "1.2"]
        assert not prefetch(releases, ["up/core.py"])
        has_core = [release.source.has("up/core.py") for release in releases]
        assert has_core == [False, True, True]
    is_local = [local_path(release.link.url) is not None for release in releases]
    assert is_local == [False, True, True]
    with buyer.library(indexes=(), find_links=(links.as_uri(),)) as library:
        assert len(find_releases("up", library)) == 2


def test_a_page_from_elsewhere_has_no_say_in_local_files(
    buyer: Customer, tmp_path: Path
) -> None:
    """A link to a file of this machine is left out, unless the page is of this machine."""
    (tmp_path / "links.html").write_text(
        f'<a href="file:///{WHEEL.format("9.9")}">x</a>'
    )
    stock(buyer, "1.0")
    page = tmp_path / "links.html"
    with buyer.library(find_links=(str(page),)) as library:
        releases = find_releases("up", library)
        assert [release.version for release in releases] == ["1.0", "9.9"]
    buyer.shop.files["up-9.9.tar.gz"] = b""
    with buyer.library() as library:
        kept = library.cache.page(f"{buyer.shop.url}/simple/up/")
        assert kept is not None
        body = kept.body.replace(b"../../files/", b"file:///")
        library.cache.keep_page(
            f"{buyer.shop.url}/simple/up/", kept._replace(body=body)
        )
        with pytest.raises(UpstreamError, match="no release of up"):
            find_releases("up", library)


@pytest.mark.parametrize("where", ["url", "netrc", "nowhere"])
def test_a_login_comes_from_the_url_or_netrc(
    buyer: Customer, tmp_path: Path, where: str
) -> None:
    """A login is taken from the index's URL or from `.netrc`, and its password is in no message."""
    stock(buyer, "1.0")
    buyer.shop.user = "me:s%cret"
    host = buyer.shop.url.removeprefix("http://")
    login = "me:s%25cret@" if where == "url" else ""
    if where == "netrc":
        netrc = tmp_path / ".netrc"
        netrc.write_text("machine 127.0.0.1 login me password s%cret\n")
        netrc.chmod(0o600)
    with buyer.library(indexes=(f"http://{login}{host}/simple",)) as library:
        if where == "nowhere":
            with pytest.raises(UpstreamError, match=r"answers 401.*netrc"):
                find_releases("up", library)
            return
        [release] = find_releases("up", library)
        assert release.source.read("up/m0.py") == b"x = 0\n"
        with pytest.raises(UpstreamError) as caught:
            find_releases("other", library)
    assert "cret" not in str(caught.value)


def test_a_login_may_have_any_letters(buyer: Customer) -> None:
    """Those that Latin-1 lacks are sent as UTF-8."""
    stock(buyer, "1.0")
    buyer.shop.user = "me:s€cret"
    login = buyer.shop.url.replace("//", "//me:s%E2%82%ACcret@")
    with buyer.library(indexes=(f"{login}/simple",)) as library:
        [release] = find_releases("up", library)
        assert release.source.read("up/m0.py") == b"x = 0\n"


def _other_encoding(file: Path) -> None:
    file.write_bytes(b"machine 127.0.0.1 login m\xff password cret\n")


@pytest.mark.parametrize("put", [_other_encoding, pipe], ids=["other encoding", "pipe"])
def test_a_netrc_that_cannot_be_read_has_no_login(
    buyer: Customer, tmp_path: Path, put: Callable[[Path], None]
) -> None:
    """As with pip; it is never waited for."""
    stock(buyer, "1.0")
    put(tmp_path / ".netrc")
    started = time.monotonic()
    # It ends by an OSError, which may be taken for that of the file.
    with ending_in(60), buyer.library() as library:
        assert len(find_releases("up", library)) == 1
    assert time.monotonic() - started < 7


def test_progress_is_reported_for_every_release(buyer: Customer) -> None:
    """Each release is reported once, failed ones too, and the count goes up by one to the total."""
    stock(buyer, *(f"1.{number}" for number in range(5)))
    buyer.shop.behaviours[WHEEL.format("1.3")] = "gone"
    reports: list[tuple[int, int, str]] = []
    with buyer.library() as library:
        for_each(
            find_releases("up", library),
            lambda release: release.source.prefetch(["up/m0.py"]),
            lambda done, total, label: reports.append((done, total, label)),
        )
    assert [done for done, _, _ in reports] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in reports} == {5}
    expected_labels = {f"up 1.{number}" for number in range(5)}
    assert {label for _, _, label in reports} == expected_labels


def test_results_keep_the_order_of_the_releases(buyer: Customer) -> None:
    """A result or UpstreamError stands where its release does; any other exception is raised."""
    stock(buyer, "1.0", "1.1", "1.2")
    buyer.shop.behaviours[WHEEL.format("1.1")] = "gone"

    def version(release: Release) -> bytes | None:
        return release.source.read("up/version.py")

    def fail(release: Release) -> None:
        raise KeyError(release.version)

    with buyer.library() as library:
        releases = find_releases("up", library)
        first, second, third = for_each(releases, version)
        assert (first, third) == (b"1.0", b"1.2")
        assert isinstance(second, UpstreamError)
        with pytest.raises(KeyError):
            for_each(releases, fail)
