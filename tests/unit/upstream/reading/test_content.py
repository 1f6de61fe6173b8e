"""Which bytes are asked for."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from patchkit.upstream.reading import web as module
from patchkit.upstream.reading.web import RemoteContent, Reply

WORKERS = ThreadPoolExecutor(2)


class Recorder:
    """Serves a file from memory, and counts."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

        self.workers = WORKERS

    def ask(self, method: str, url: str, headers: dict[str, str], limit: int) -> Reply:
        first, last = headers["Range"].removeprefix("bytes=").split("-")
        start = int(first) if first else len(self.data) - int(last)
        end = int(last) + 1 if first else len(self.data)
        if first:
            self.asked.append((start, end))
        claim = {"content-range": f"bytes {start}-{end - 1}/{len(self.data)}"}
        return Reply(206, url, claim, self.data[start:end])


DATA = bytes(number * 7 % 251 for number in range(400_000))


@given(
    st.lists(st.tuples(st.integers(0, 399_999), st.integers(1, 5_000)), min_size=1, max_size=12),
    st.booleans(),
)
def test_spans_are_slices(starts: list[tuple[int, int]], looks_first: bool) -> None:
    """Whatever is asked for, in whatever order, is what lies there, and nothing is asked twice."""
    web = Recorder(DATA)
    content = RemoteContent(web, "u")  # type: ignore[arg-type]
    if looks_first:
        assert content.tail(9) == (DATA[-9:], len(DATA))
    spans = [(start, min(start + length, len(DATA))) for start, length in starts]
    assert content.fetch(spans) == [DATA[start:end] for start, end in spans]
    ordered = sorted(web.asked)
    for one, other in itertools.pairwise(ordered):
        assert other[0] - one[1] > module._GAP
