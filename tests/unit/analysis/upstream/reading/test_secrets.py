"""No secret of an index is kept in the cache, or shown; a missing folder is named."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest

from analysis.upstream.shops import age, stock
from patchkit.analysis.upstream.reading.releases import find_releases
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.upstream.shops import Customer


def contents(place: Path) -> list[bytes]:
    """All that the cache holds, unpacked, with the names of its files."""
    files = [file for file in place.rglob("*") if file.is_file()]
    names = [file.name.encode() for file in files]
    return names + [zlib.decompress(file.read_bytes()[32:]) for file in files]


@pytest.mark.parametrize("is_json", [False, True])
def test_the_cache_holds_no_login(buyer: Customer, is_json: bool) -> None:
    """Pages lose the login, and files are fetched with it, from a kept page too."""
    stock(buyer, "1.0")
    buyer.shop.files["up-1-me:cret@notes.txt"] = b""  # a page that repeats the login
    buyer.shop.user = "me:cret"
    buyer.shop.is_json = is_json
    index = f"{buyer.shop.url}/simple"
    login = index.replace("//", "//me:cret@")
    public = f"{index}/up/"
    for path in ("up/m0.py", "up/m1.py"):
        with buyer.library(indexes=(login,)) as library:
            [release] = find_releases("up", library)
            assert release.source.read(path) is not None
    assert buyer.shop.requests_of("/simple/up/")
    with buyer.library(indexes=(login,)) as library:
        page = library.cache.page(public)
        assert page is not None
        # What an earlier version has kept.
        library.cache.keep_page(f"{login}/up/", page._replace(url=f"{login}/up/"))
        assert any(b"cret" in content for content in contents(buyer.place))
        find_releases("up", library)
        age(library, public)
        find_releases("up", library)
    assert not any(b"cret" in content for content in contents(buyer.place))


@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize(
    "places",
    [
        {"indexes": ("{}/t0ken/simple",)},
        {"indexes": (), "find_links": ("{}/simple/up/?key=t0ken",)},
    ],
    ids=["path", "query"],
)
def test_the_cache_holds_no_token(
    buyer: Customer, is_json: bool, places: dict[str, tuple[str, ...]]
) -> None:
    """What may be one is left out of the URL of a kept page and of its links, and put back."""
    stock(buyer, "1.0")
    buyer.shop.prefix = "/t0ken"
    buyer.shop.files["up-1-t0ken.txt"] = b""  # a page that repeats the token
    buyer.shop.is_json = is_json
    url = buyer.shop.url
    settings = {key: tuple(one.format(url) for one in of) for key, of in places.items()}
    for path in ("up/m0.py", "up/m1.py"):
        with buyer.library(**settings) as library:
            [release] = find_releases("up", library)
            assert release.link.url.startswith(url)
            assert release.source.read(path) is not None
    assert len(buyer.shop.requests_of("/simple/up/")) == 1  # then it is kept
    assert not any(b"t0ken" in content for content in contents(buyer.place))


@pytest.mark.parametrize("key", ["indexes", "find_links"])
def test_one_page_serves_an_index_and_a_link_to_its_page(
    buyer: Customer, key: str
) -> None:
    """A page that is kept for one of them is read for the other."""
    stock(buyer, "1.0")
    index = f"{buyer.shop.url}/simple"
    settings = {
        "indexes": {"indexes": (index,)},
        "find_links": {"indexes": (), "find_links": (f"{index}/up/",)},
    }
    other = {"indexes": "find_links", "find_links": "indexes"}[key]
    for used in (key, other):
        with buyer.library(**settings[used]) as library:
            assert len(find_releases("up", library)) == 1
    assert len(buyer.shop.requests_of("/simple/up/")) == 1


@pytest.mark.parametrize("is_json", [False, True])
def test_a_page_with_a_login_of_others_is_not_kept(
    buyer: Customer, is_json: bool
) -> None:
    """It may be needed for the links, which stay as they are."""
    stock(buyer, "1.0")
    buyer.shop.files["up-1-HTTP://other:cret@host/notes.txt"] = b""
    buyer.shop.is_json = is_json
    with buyer.library() as library:
        [release] = find_releases("up", library)
        assert release.source.read("up/m0.py") is not None
        assert library.cache.page(f"{buyer.shop.url}/simple/up/") is None
    assert not any(b"cret" in content for content in contents(buyer.place))


@pytest.mark.parametrize("is_json", [False, True])
def test_a_page_with_links_that_are_signed_is_not_kept(
    buyer: Customer, is_json: bool
) -> None:
    """What stands behind the `?` of a link is as good as a password."""
    stock(buyer, "1.0")
    buyer.shop.files["up-2.0-py3-none-any.whl?X-Signature=cret"] = b""
    buyer.shop.is_json = is_json
    with buyer.library() as library:
        find_releases("up", library)
        assert library.cache.page(f"{buyer.shop.url}/simple/up/") is None
    assert not any(b"cret" in content for content in contents(buyer.place))


def test_two_logins_of_a_host_are_told_apart(buyer: Customer) -> None:
    """The files of a kept page are fetched with the login of its index."""
    stock(buyer, "1.0")
    buyer.shop.user = "me:cret"
    index = f"{buyer.shop.url}/simple"
    mine = index.replace("//", "//me:cret@")
    others = index.replace("//", "//other:one@").replace("/simple", "/none")
    for path in ("up/m0.py", "up/m1.py"):
        with buyer.library(indexes=(mine, others)) as library:
            [release] = find_releases("up", library)
            assert release.source.read(path) is not None


@pytest.mark.parametrize("key", ["indexes", "find_links"])
@pytest.mark.parametrize(
    "location",
    [
        "me:cret@host.example/simple",
        "//me:cret@127.0.0.1:1/simple",
        "https:/me:cret@h/simple",
        "http://me:cret@127.0.0.1:1/simple",
        "ftp://me:cret@h/x",
        "https://me:cr/et@h/x",
    ],
)
def test_no_message_has_a_login(buyer: Customer, key: str, location: str) -> None:
    """Whatever is wrong with the URL of an index, its name and password are not shown."""
    stock(buyer, "1.0")
    places = {"indexes": (), "retries": 0, key: (location,)}
    with buyer.library(**places) as library, pytest.raises(UpstreamError) as caught:
        find_releases("up", library)
    shop = f"{buyer.shop.url}/simple"
    beside = {"indexes": (shop,), "retries": 0, key: (location,)}
    if key == "indexes":
        beside[key] = (location, shop)
    with buyer.library(**beside) as library:
        assert len(find_releases("up", library)) == 1
    for text in (str(caught.value), *buyer.notices):
        assert "cret" not in text
        assert "et@" not in text
        assert "me:" not in text
    assert buyer.notices


@pytest.mark.parametrize("key", ["indexes", "find_links"])
def test_a_folder_that_is_not_there_is_named(
    buyer: Customer, tmp_path: Path, key: str
) -> None:
    """A missing folder of the settings is an error beside nothing else, and else a notice."""
    stock(buyer, "1.0")
    folder = tmp_path / "wheles"
    shop = f"{buyer.shop.url}/simple"
    with (
        buyer.library(**{"indexes": (), key: (str(folder),)}) as library,
        pytest.raises(UpstreamError, match=f"found no file or folder {folder}, "),
    ):
        find_releases("up", library)
    places = {"indexes": (shop,), "find_links": (str(folder),)}
    if key == "indexes":
        places = {"indexes": (shop, str(folder))}
    with buyer.library(**places) as library:
        assert len(find_releases("up", library)) == 1
    [notice] = buyer.notices
    assert f"found no file or folder {folder}, expected one, or a URL" in notice
    folder.mkdir()
    with buyer.library(**places) as library:
        find_releases("up", library)
    assert len(buyer.notices) == 1
