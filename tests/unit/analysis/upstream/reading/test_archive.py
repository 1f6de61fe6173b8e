"""Listings and names."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.upstream.reading.archive import (
    Archived,
    ArchiveMember,
    check_name,
)
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from patchkit.analysis.upstream.reading.archive import Listing


@pytest.mark.parametrize(
    "name", ["up/a.py", "up/..a/b..py", "up/a b.py", "...", "up/ä.py", "up/"]
)
def test_ordinary_names_pass(name: str) -> None:
    """Dots are only dangerous alone."""
    check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "/a",
        "../a",
        "a/../b",
        "a/..",
        "..",
        "./a",
        "a\\b",
        "c:a",
        "a\x00b",
        "a\tb",
        "a\nb",
    ],
)
def test_names_that_lead_out_do_not(name: str) -> None:
    """Nor do those that hold what separates names elsewhere."""
    with pytest.raises(UpstreamError, match=r"leads out|control characters"):
        check_name(name)


FILES = {"up/a.py": b"a", "up/b.py": b"b"}
KEPT = f"member up 1 {zlib.crc32(b'a'):x}\0up/a.py"


class Counter:
    """Reads from memory, and writes down what it was asked."""

    def __init__(self, *, is_whole: bool = False) -> None:
        self.is_whole = is_whole
        self.asked: list[object] = []

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        self.asked.append("listing")
        listing = {
            path: ArchiveMember(0, 0 if self.is_whole else 9, 1, 1, zlib.crc32(data))
            for path, data in FILES.items()
        }
        return listing, FILES if self.is_whole else {}

    def fetch(self, members: Listing) -> dict[str, bytes]:
        self.asked.append(sorted(members))
        return FILES if self.is_whole else {path: FILES[path] for path in members}


def opened(reader: Counter, cache: Cache | None = None) -> Archived:
    return Archived("up 1.0", "1.0", "FILE", reader, cache or Cache(None), "key", "up")


def test_prefetch_brings_what_is_missing_in_one_go() -> None:
    """Then nothing is asked again, by this one or the next."""
    reader, cache = Counter(), Cache(None)
    source = opened(reader, cache)
    source.prefetch(["up/b.py", "up/a.py", "up/none.py"])
    source.prefetch(FILES)
    assert {path: opened(reader, cache).read(path) for path in FILES} == FILES
    assert reader.asked == ["listing", ["up/a.py", "up/b.py"]]


@pytest.mark.parametrize(
    ("other", "fetched"), [("up", ["up/b.py"]), ("down", ["up/a.py", "up/b.py"])]
)
def test_a_file_that_releases_share_is_fetched_once(
    other: str, fetched: list[str]
) -> None:
    """By its path, size and checksum, in releases of one project."""
    reader, cache = Counter(), Cache(None)
    Archived("up 1.0", "1.0", "FILE", reader, cache, "key", "up").prefetch(["up/a.py"])
    Archived("up 2.0", "2.0", "FILE", reader, cache, "other", other).prefetch(FILES)
    assert reader.asked[-1] == fetched


def test_an_archive_that_comes_whole_is_kept_whole() -> None:
    """Nothing is fetched after that."""
    reader = Counter(is_whole=True)
    source = opened(reader)
    assert {path: source.read(path) for path in FILES} == FILES
    assert reader.asked == ["listing"]


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("fault", ["lost", "another's"])
def test_what_the_cache_has_lost_is_fetched_again(is_whole: bool, fault: str) -> None:
    """Content that is gone, or is that of another file, counts as not kept."""
    reader, cache = Counter(is_whole=is_whole), Cache(None)
    if fault == "lost":
        cache.put("files key", json.dumps(reader.listing()[0]).encode())
    else:
        opened(reader, cache).prefetch(FILES)
        cache.put(KEPT, b"b")
    source = opened(reader, cache)
    assert source.read("up/a.py") == b"a"
    assert source.read("up/a.py") == b"a"
    assert cache.get(KEPT) == b"a"


def test_a_broken_archive_is_asked_once() -> None:
    """Sixty questions are sixty times the same error, and one request."""

    class Broken(Counter):
        def listing(self) -> tuple[Listing, dict[str, bytes]]:
            super().listing()
            raise UpstreamError("it is broken")

    reader = Broken()
    source = opened(reader)
    for path in ("up/a.py", "up/b.py") * 3:
        with pytest.raises(UpstreamError, match=r"^up 1\.0: FILE: it is broken$"):
            source.read(path)
    assert reader.asked == ["listing"]
