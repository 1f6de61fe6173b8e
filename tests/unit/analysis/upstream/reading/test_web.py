"""Parts of a file that are fetched over HTTP, and what is refused."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.upstream.shops import WHEEL
from patchkit.analysis.upstream.reading import web as web_module
from patchkit.analysis.upstream.reading.replies import NoRangesError
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.web import RemoteContent, Reply, Web
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.upstream.shops import Customer


@pytest.mark.parametrize("behaviour", ["other", "long"])
def test_another_part_than_was_requested_is_an_error(
    buyer: Customer, behaviour: str
) -> None:
    """A reply with another part is an error, be the request for the end or for a part within."""
    buyer.shop.files["a.whl"] = bytes(range(200))
    web = Web(PipSettings(retries=0))
    content = web.content(f"{buyer.shop.url}/files/a.whl")
    assert content.tail(5) == (bytes(range(195, 200)), 200)
    assert content.tail(500) == (bytes(range(200)), 200)
    assert content.fetch([(3, 7)]) == [bytes(range(3, 7))]
    buyer.shop.behaviours[""] = behaviour
    with pytest.raises(UpstreamError, match="sends"):
        content.tail(5)
    with pytest.raises(UpstreamError, match="sends"):
        content.fetch([(3, 7)])
    web.close()


def test_a_reply_above_its_limit_is_an_error(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page, and a file that has to come whole, are errors above their limits."""
    buyer.shop.files[WHEEL.format("1.0")] = bytes(3 << 20)
    buyer.shop.behaviours[""] = "whole"
    web = Web(PipSettings())
    with pytest.raises(UpstreamError, match="has more than 10 bytes"):
        web.get(f"{buyer.shop.url}/simple/up/", {}, 10)
    monkeypatch.setattr("patchkit.analysis.upstream.reading.web.MAX_DOWNLOAD", 1 << 20)
    with (
        pytest.raises(UpstreamError, match="more than 1,048,576 bytes"),
        web.download(f"{buyer.shop.url}/files/{WHEEL.format('1.0')}", None),
    ):
        pass
    web.close()


def test_without_a_temporary_directory_nothing_is_downloaded(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no directory can be made, the error says so; it is no fault of patchkit's."""
    buyer.shop.files["a.whl"] = b"content"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    web = Web(PipSettings())
    with (
        pytest.raises(UpstreamError, match="no temporary directory can be made for it"),
        web.download(f"{buyer.shop.url}/files/a.whl", None),
    ):
        pass
    web.close()


WORKERS = ThreadPoolExecutor(2)


class Recorder:
    """Serves a file from memory, and records the spans that are requested from its start."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.requested_spans: list[tuple[int, int]] = []
        self.claim = ""
        self.workers = WORKERS

    def ask(self, method: str, url: str, headers: dict[str, str], limit: int) -> Reply:
        first, last = headers["Range"].removeprefix("bytes=").split("-")
        start = int(first) if first else len(self.data) - int(last)
        end = int(last) + 1 if first else len(self.data)
        if first:
            self.requested_spans.append((start, end))
        claim = self.claim or f"bytes {start}-{end - 1}/{len(self.data)}"
        return Reply(206, url, {"content-range": claim}, self.data[start:end])


@pytest.mark.parametrize("claim", ["bytes 0-1/{}", "bytes {}-1/2", "bytes 0-{}/2"])
def test_a_part_of_any_number_of_bytes_is_none(claim: str) -> None:
    """A server that claims a number of 5,000 digits does not say which part it sends."""
    web = Recorder(b"ab")
    web.claim = claim.format("9" * 5_000)
    with pytest.raises(NoRangesError, match="does not say which part"):
        RemoteContent(web, "http://h/u").tail(2)  # type: ignore[arg-type]


DATA = bytes(number * 7 % 251 for number in range(400_000))


@given(
    st.lists(
        st.tuples(st.integers(0, 399_999), st.integers(1, 5_000)),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_spans_are_slices_of_the_file(
    starts: list[tuple[int, int]], reads_tail_first: bool
) -> None:
    """Spans in any order are what lies there, and requests neither overlap nor nearly touch."""
    web = Recorder(DATA)
    content = RemoteContent(web, "u")  # type: ignore[arg-type]
    if reads_tail_first:
        assert content.tail(9) == (DATA[-9:], len(DATA))
    spans = [(start, min(start + length, len(DATA))) for start, length in starts]
    assert content.fetch(spans) == [DATA[start:end] for start, end in spans]
    ordered = sorted(web.requested_spans)
    for (_, end), (next_start, _) in itertools.pairwise(ordered):
        assert next_start - end > web_module._GAP
