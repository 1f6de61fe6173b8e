"""From a requirement to files, over real sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.upstream import archives
from analysis.upstream.shops import WHEEL, Customer
from patchkit.analysis.upstream.reading.index import local_path
from patchkit.analysis.upstream.reading.parallel import for_each
from patchkit.analysis.upstream.reading.releases import find_releases
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.analysis.upstream.reading.releases import Release

from analysis.upstream.shops import age, found, prefetch, stock


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
def test_which_releases(buyer: Customer, spec: str, expected: list[str]) -> None:
    """In their order; pre-releases where the bounds name one, yanked ones where named exactly."""
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
    assert found(buyer, spec) == expected


def test_pages_in_both_languages_say_the_same(buyer: Customer) -> None:
    """PEP 503's HTML and PEP 691's JSON: the same files, hashes and yanks."""
    stock(buyer, "1.0", "1.1")
    buyer.shop.yanked.add(WHEEL.format("1.1"))
    pages = []
    for buyer.shop.is_json in (False, True):
        buyer.place = buyer.place.with_name(f"cache-{buyer.shop.is_json}")
        with buyer.library() as library:
            pages.append(library.index.links("up"))
    assert pages[0] == pages[1]
    assert [link.is_yanked for link in pages[0]] == [False, True]
    assert all(link.sha256 for link in pages[0])


@pytest.mark.parametrize(("files", "chosen"), [
    (["up-1.0.tar.gz", "up-1.0-cp312-cp312-linux_x86_64.whl"], 1),
    (["up-1.0-cp312-cp312-linux_x86_64.whl", "up-1.0-py3-none-any.whl"], 1),
    (["up-1.0-cp39-abi3-linux_x86_64.whl", "up-1.0-cp312-abi3-linux_x86_64.whl"], 1),
    (["up-1.0-cp312-abi3-macosx_11_0_arm64.whl", "up-1.0-cp39-abi3-linux_x86_64.whl"], 1),
    (["up-1.0+cu12-py3-none-any.whl", "up-1.0-cp39-abi3-linux_x86_64.whl"], 1),
    (["up-1.0+cu12-py3-none-any.whl", "up-1.0.zip"], 0),
])  # fmt: skip
def test_which_file_stands_for_a_release(
    buyer: Customer, files: list[str], chosen: int
) -> None:
    """The same on every machine, whatever order the index has."""
    for order in (files, files[::-1]):
        buyer.shop.files = dict.fromkeys(order, b"")
        buyer.place = buyer.place.with_name(f"cache-{order[0]}")
        with buyer.library() as library:
            [release] = find_releases("up", library)
        assert (release.link.filename, release.version) == (files[chosen], "1.0")


def test_only_what_is_asked_for_is_moved(buyer: Customer) -> None:
    """A wheel of megabytes, of which some kilobytes move; neighbours come together."""
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


def test_connections_are_kept(buyer: Customer) -> None:
    """Hundreds of requests, and no more connections than may be open at a time."""
    stock(buyer, *(f"1.{number}" for number in range(40)))
    with buyer.library() as library:
        assert not prefetch(find_releases("up", library), ["up/version.py", "up/m3.py"])
    assert len(buyer.shop.asked) > 80
    assert len(buyer.shop.clients) <= 8


def test_a_second_process_asks_nothing(buyer: Customer) -> None:
    """What was read once is kept: pages for a while, files for good, absence too."""
    stock(buyer, "1.0", "1.1")
    for _ in range(2):
        with buyer.library() as library:
            releases = find_releases("up", library)
            prefetch(releases, ["up/version.py", "up/none.py"])
            assert [one.source.read("up/version.py") for one in releases] == [
                b"1.0",
                b"1.1",
            ]
            assert [one.source.has("up/none.py") for one in releases] == [False, False]
        asked, buyer.shop.asked = buyer.shop.asked, []
    assert asked == []


def test_offline_has_what_is_kept(buyer: Customer) -> None:
    """Without the network, what was read can be read; the rest is one clear error a release."""
    stock(buyer, "1.0", "1.1")
    with buyer.library() as library:
        find_releases("up", library)[0].source.read("up/version.py")
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


def test_an_old_page_is_asked_for_again(buyer: Customer) -> None:
    """With its tag where it has one: an unchanged page does not move twice."""
    stock(buyer, "1.0")
    buyer.shop.etag = '"first"'
    assert found(buyer, "up") == ["1.0"]
    stock(buyer, "1.1")
    assert found(buyer, "up") == ["1.0"]
    with buyer.library() as library:
        age(library, f"{buyer.shop.url}/simple/up/")
    sent = buyer.shop.sent
    assert found(buyer, "up") == ["1.0"]
    assert buyer.shop.sent == sent
    with buyer.library() as library:
        age(library, f"{buyer.shop.url}/simple/up/")
    buyer.shop.etag = '"second"'
    assert found(buyer, "up") == ["1.0", "1.1"]


def test_a_wheel_that_comes_whole_comes_once(
    buyer: Customer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its Python is kept, and the user told; the file itself goes at once."""
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
    whole = [line for line in buyer.shop.requests_of(".whl") if "bytes" not in line]
    assert len(whole) == 1
    assert len([line for line in buyer.notices if "whole" in line]) == 1


def test_a_wheel_that_comes_whole_has_a_limit(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python files have one together."""
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
    """They come whole, once, and are kept."""
    buyer.shop.files["up-1.0.tar.gz"] = archives.sdist()
    for _ in range(2):
        with buyer.library() as library:
            [release] = find_releases("up", library)
            assert release.source.read("up/core.py") == archives.FILES["up/core.py"]
    assert len(buyer.shop.requests_of("tar.gz")) == 1


def test_a_file_without_hash_that_is_replaced_is_read_anew(buyer: Customer) -> None:
    """Where the index says no hash, nothing is kept."""
    buyer.shop.has_hashes = False
    for content in (b"1", b"22"):
        buyer.shop.files[WHEEL.format("1.0")] = archives.wheel({"up/a.py": content})
        with buyer.library() as library:
            [release] = find_releases("up", library)
            assert release.source.read("up/a.py") == content


def test_indexes_and_links_together(buyer: Customer, tmp_path: Path) -> None:
    """Extra indexes, directories, local indexes: every place adds releases."""
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
        assert [one.version for one in releases] == ["1.0", "1.1", "1.2"]
        assert not prefetch(releases, ["up/core.py"])
        assert [one.source.has("up/core.py") for one in releases] == [False, True, True]
    assert [local_path(one.link.url) is None for one in releases] == [
        True,
        False,
        False,
    ]
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
        assert [one.version for one in find_releases("up", library)] == ["1.0", "9.9"]
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
def test_names_and_passwords(buyer: Customer, tmp_path: Path, where: str) -> None:
    """They come from the index's URL or `.netrc`, and are in no message."""
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


def test_progress_is_told_of_every_release(buyer: Customer) -> None:
    """Done goes up by one to the total, errors included, in the caller's own thread."""
    stock(buyer, *(f"1.{number}" for number in range(5)))
    buyer.shop.behaviours[WHEEL.format("1.3")] = "gone"
    told: list[tuple[int, int, str]] = []
    with buyer.library() as library:
        for_each(
            find_releases("up", library),
            lambda release: release.source.prefetch(["up/m0.py"]),
            lambda done, total, label: told.append((done, total, label)),
        )
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in told} == {5}
    assert {label for _, _, label in told} == {f"up 1.{number}" for number in range(5)}


def test_work_on_each_keeps_the_order(buyer: Customer) -> None:
    """Results and errors stand where their releases do; other exceptions are the caller's."""
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
