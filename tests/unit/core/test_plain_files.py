"""Files that are no files: told at once, and never waited for."""

from __future__ import annotations

import contextlib
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.odd_places import PLACES, ending_in

from patchkit.core.plain_files import open_plain, read_plain
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def test_a_file_whose_bytes_are_still_to_come_is_not_waited_for() -> None:
    """The kernel's log is called a regular file, and a read of it waits for the next message."""
    log = Path("/proc/kmsg")
    for _ in range(3):  # what it has is read at first
        with contextlib.suppress(OSError, UpstreamError):  # it may be another user's
            read_plain(log, 1 << 20)
