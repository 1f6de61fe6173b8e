"""Counts lie in a file, whatever becomes of the process and its threads."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

from patchkit.runtime.probing.counters import Counters

if TYPE_CHECKING:
    from pathlib import Path


def test_each_number_counts_for_itself(tmp_path: Path) -> None:
    """The file has them in order, and is made with its folder."""
    file = tmp_path / "journal" / "one.counts"
    counters = Counters(str(file), 3)
    first = counters.counter(0)
    last = counters.counter(2)
    for _ in range(300):
        first()
    last()
    assert struct.unpack("<3Q", file.read_bytes()) == (300, 0, 1)
    assert file.stat().st_mode & 0o777 == 0o600


def test_threads_lose_no_count(tmp_path: Path) -> None:
    """The last number that is written is the number of calls."""
    file = tmp_path / "one.counts"
    count = Counters(str(file), 1).counter(0)

    def many() -> None:
        for _ in range(20_000):
            count()

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert struct.unpack("<Q", file.read_bytes()) == (160_000,)


def test_a_file_that_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    """One that is there is left as it is, and counting goes on in memory."""
    file = tmp_path / "one.counts"
    file.write_text("somebody's")
    Counters(str(file), 1).counter(0)()
    assert file.read_text() == "somebody's"
    Counters(str(file / "below"), 1).counter(0)()
