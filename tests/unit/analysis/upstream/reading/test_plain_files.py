"""Files that are no files, in the cache and elsewhere: told at once, and never waited for."""

from __future__ import annotations

import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest
from support.odd_places import PLACES, ending_in

from analysis.upstream.archives import wheel
from analysis.upstream.server import Shop, serving
from analysis.upstream.shops import WHEEL, Customer
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.plain_files import open_plain, read_plain
from patchkit.analysis.upstream.reading.releases import find_releases
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_FILES = sorted({*PLACES} - {"empty", "hole", "no_rights", "environment"})
"""What is no regular file, or not there."""


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    """End a test that waits for ever."""
    with ending_in(100):
        yield


@pytest.mark.parametrize("name", NO_FILES)
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, name: str) -> None:
    """Nobody waits for a writer, and nothing is read without an end."""
    place = tmp_path / "place"
    PLACES[name](place)
    if name == "memory_of_process":  # a regular file, of which nothing can be read
        with pytest.raises(OSError, match="error"):
            read_plain(place, 10)
        return
    with pytest.raises((OSError, UpstreamError)):
        open_plain(place)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    """A file of a terabyte is not read into memory."""
    PLACES["hole"](tmp_path / "hole")
    with pytest.raises(UpstreamError, match="it has more than 1,000 bytes"):
        read_plain(tmp_path / "hole", 1000)
    (tmp_path / "plain").write_bytes(b"a" * 1000)
    assert read_plain(tmp_path / "plain", 1000) == b"a" * 1000


def test_nothing_is_read_of_a_file_that_is_too_large(tmp_path: Path) -> None:
    """Its size is enough to refuse it, however much may be read of others."""
    PLACES["hole"](tmp_path / "hole")
    tracemalloc.start()
    try:
        with pytest.raises(UpstreamError, match="it has more than"):
            read_plain(tmp_path / "hole", 64 << 20)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def entries(customer: Customer) -> list[Path]:
    """The files of the cache."""
    return [file for file in customer.place.rglob("*") if file.is_file()]


def read(customer: Customer) -> bytes | None:
    """Read one file of a release through the cache."""
    with customer.library() as library:
        [release] = find_releases("up", library)
        return release.source.read("up/core.py")


@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_file_of_the_cache_is_as_if_it_were_not_there(
    tmp_path: Path, name: str
) -> None:
    """Each entry is replaced by one; the same is read as before, and no draft is left."""
    customer = Customer(Shop(), tmp_path / "cache")
    customer.shop.files[WHEEL.format("1.0")] = wheel()
    with serving(customer.shop):
        content = read(customer)
        assert content
        files = entries(customer)
        assert files
        for number, file in enumerate(files):
            file.unlink()
            if number and name in ("circle", "pipe_behind_link"):
                continue  # it needs a second name, which may be taken by now
            PLACES[name](file)
        assert read(customer) == content
    assert not [file for file in entries(customer) if file.name.startswith("draft-")]
    is_told = any("of the cache is not used" in notice for notice in customer.notices)
    assert is_told or name not in ("pipe", "zeros", "null", "hole", "pipe_behind_link")


def test_an_entry_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    """It is as if it were not there."""
    packer = zlib.compressobj(9)
    packed = [packer.compress(bytes(1 << 20)) for _ in range(300)]
    cache = Cache(tmp_path)
    cache.put("a", b"content")
    [file] = [file for file in tmp_path.rglob("*") if file.is_file()]
    file.write_bytes(bytes(32) + b"".join(packed) + packer.flush())
    assert cache.get("a") is None
    assert not file.exists()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_an_entry_that_is_cut_off_is_fetched_again(
    tmp_path: Path, share: float
) -> None:
    """However much of it is left."""
    customer = Customer(Shop(), tmp_path / "cache")
    customer.shop.files[WHEEL.format("1.0")] = wheel()
    with serving(customer.shop):
        content = read(customer)
        for file in entries(customer):
            data = file.read_bytes()
            file.write_bytes(data[: int(len(data) * share)])
        assert read(customer) == content
