"""Names in archives, and how their listings and files are read and kept."""

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
    """Dots in a name are harmless unless a part of it is `.` or `..`."""
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
def test_dangerous_names_are_refused(name: str) -> None:
    """Absolute names, `.` and `..`, backslashes, drives and control characters are errors."""
    with pytest.raises(UpstreamError, match=r"leads out|control characters"):
        check_name(name)


FILES = {"up/a.py": b"a", "up/b.py": b"b"}
KEPT = f"member up 1 {zlib.crc32(b'a'):x}\0up/a.py"


class Counter:
    """Reads from memory, and records each request.

    Args:
        is_whole: whether each answer has the contents of all files.
    """

    def __init__(self, *, is_whole: bool = False) -> None:
        self.is_whole = is_whole
        self.requests: list[object] = []

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        self.requests.append("listing")
        listing = {
            path: ArchiveMember(0, 0 if self.is_whole else 9, 1, 1, zlib.crc32(data))
            for path, data in FILES.items()
        }
        return listing, FILES if self.is_whole else {}

    def fetch(self, members: Listing) -> dict[str, bytes]:
        self.requests.append(sorted(members))
        return FILES if self.is_whole else {path: FILES[path] for path in members}


def opened(reader: Counter, cache: Cache | None = None) -> Archived:
    """A release that is read by this reader, with an empty cache unless there is one."""
    return Archived("up 1.0", "1.0", "FILE", reader, cache or Cache(None), "key", "up")


def test_prefetch_fetches_what_is_missing_in_one_request() -> None:
    """After that, neither this source nor the next with the same cache requests anything."""
    reader = Counter()
    cache = Cache(None)
    source = opened(reader, cache)
    source.prefetch(["up/b.py", "up/a.py", "up/none.py"])
    source.prefetch(FILES)
    assert {path: opened(reader, cache).read(path) for path in FILES} == FILES
    assert reader.requests == ["listing", ["up/a.py", "up/b.py"]]


@pytest.mark.parametrize(
    ("second_project", "fetched"),
    [("up", ["up/b.py"]), ("down", ["up/a.py", "up/b.py"])],
)
def test_a_file_that_releases_share_is_fetched_once(
    second_project: str, fetched: list[str]
) -> None:
    """A file of the same path, size and checksum is fetched once for all releases of a project."""
    reader = Counter()
    cache = Cache(None)
    first = Archived("up 1.0", "1.0", "FILE", reader, cache, "key", "up")
    first.prefetch(["up/a.py"])
    second = Archived("up 2.0", "2.0", "FILE", reader, cache, "other", second_project)
    second.prefetch(FILES)
    assert reader.requests[-1] == fetched


def test_an_archive_that_comes_whole_is_kept_whole() -> None:
    """If the listing brings the contents of all files, nothing is fetched after it."""
    reader = Counter(is_whole=True)
    source = opened(reader)
    assert {path: source.read(path) for path in FILES} == FILES
    assert reader.requests == ["listing"]


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("fault", ["lost", "another's"])
def test_what_the_cache_has_lost_is_fetched_again(is_whole: bool, fault: str) -> None:
    """Content that is gone, or is that of another file, is fetched and kept again."""
    reader = Counter(is_whole=is_whole)
    cache = Cache(None)
    if fault == "lost":
        cache.put("files key", json.dumps(reader.listing()[0]).encode())
    else:
        opened(reader, cache).prefetch(FILES)
        cache.put(KEPT, b"b")
    source = opened(reader, cache)
    assert source.read("up/a.py") == b"a"
    assert source.read("up/a.py") == b"a"
    assert cache.get(KEPT) == b"a"


def test_a_broken_archive_is_requested_once() -> None:
    """Six reads are six times the same error, and one request."""

    class Broken(Counter):
        def listing(self) -> tuple[Listing, dict[str, bytes]]:
            super().listing()
            raise UpstreamError("it is broken")

    reader = Broken()
    source = opened(reader)
    for path in ("up/a.py", "up/b.py") * 3:
        with pytest.raises(UpstreamError, match=r"^up 1\.0: FILE: it is broken$"):
            source.read(path)
    assert reader.requests == ["listing"]
