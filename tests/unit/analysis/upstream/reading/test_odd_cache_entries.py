"""What is no file, or a damaged one, where the cache has its entries."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest
from support.odd_places import PLACES, ending_in

from analysis.upstream.archives import wheel
from analysis.upstream.server import Shop, serving
from analysis.upstream.shops import WHEEL, Customer
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.releases import find_releases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    """End a test that waits for ever."""
    with ending_in(100):
        yield


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
