"""Tokens are counted from what a server streams, however it is cut."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.streams import (
    STREAMS,
    StreamError,
    tokens_in,
    tokens_in_answer,
    tokens_of_load,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def event(*token_ids: int) -> bytes:
    """An event of a stream, as vLLM writes it."""
    choice = {"index": 0, "text": "", "token_ids": list(token_ids)}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def chunked(*texts: bytes) -> bytes:
    """Texts as chunks of HTTP."""
    return b"".join(b"%x\r\n%s\r\n" % (len(text), text) for text in texts)


def counted(answer: bytes) -> list[int]:
    """What is counted in an answer that has come whole."""

    async def read() -> list[int]:
        reader = asyncio.StreamReader()
        reader.feed_data(answer)
        reader.feed_eof()
        return [tokens async for tokens in tokens_in_answer(reader)]

    return asyncio.run(read())


def test_each_event_tells_how_many_tokens_are_new() -> None:
    """A busy server puts several tokens into one event; the last one may have none."""
    answer = HEAD + chunked(event(1), event(2, 3), event(), DONE) + END
    assert counted(answer) == [1, 2, 0]


def test_an_event_without_choices_or_ids_has_no_tokens() -> None:
    """So are the usage at the end of a stream, and an event of a finished request."""
    assert tokens_in(b'{"choices": []}') == 0
    assert tokens_in(b'{"choices": [{"token_ids": null}]}') == 0


@given(
    st.lists(st.lists(st.integers(0, 319), max_size=3), max_size=5),
    st.lists(st.integers(1, 400), max_size=6),
)
def test_where_chunks_begin_and_end_does_not_count(
    parts: list[list[int]], cuts: Sequence[int]
) -> None:
    """Events that are cut anywhere are the same events."""
    text = b"".join([*(event(*part) for part in parts), DONE])
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    assert counted(HEAD + chunked(*pieces) + END) == [len(part) for part in parts]


def test_a_stream_that_ends_early_is_an_error() -> None:
    """A server that dies, or that a signal ends, has not answered."""
    for rest in (END, b"", b"40\r\ndata: {"):
        with pytest.raises(StreamError, match="before its last event"):
            counted(HEAD + chunked(event(1)) + rest)


def test_a_refusal_is_an_error_that_tells_why() -> None:
    """The text of the answer is in the message, and so is an error in the midst of a stream."""
    with pytest.raises(StreamError, match=r"404 Not Found.*no such model"):
        counted(b"HTTP/1.1 404 Not Found\r\n\r\nno such model")
    with pytest.raises(StreamError, match="died"):
        counted(HEAD + chunked(b'data: {"error": "died"}\n\n', DONE) + END)


def load_of(
    answer: Callable[[asyncio.StreamWriter], Awaitable[None]], seconds: float
) -> int:
    """Put a server of this process under load; return the tokens that were counted.

    Args:
        answer: writes what the server answers to a request.
        seconds: how long the load lasts.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await answer(writer)
        writer.close()
        await writer.wait_closed()

    async def both() -> int:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            return await asyncio.to_thread(
                tokens_of_load, f"http://127.0.0.1:{port}", "tiny", seconds
            )

    return asyncio.run(both())


def test_as_many_streams_as_asked_for_are_open_at_once() -> None:
    """Each is followed by another one until the time is over; what comes later does not count."""
    all_are_open = asyncio.Event()
    seconds = 1.0
    begun = 0

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal begun
        begun += 1
        is_later = begun > STREAMS
        if begun == STREAMS:
            all_are_open.set()
        writer.write(HEAD + chunked(event(1, 2)))
        await asyncio.wait_for(all_are_open.wait(), 30)
        if is_later:
            await asyncio.sleep(seconds)
        writer.write(chunked(event(3), DONE) + END)

    assert load_of(answer, seconds) == STREAMS * (2 + 1 + 2)
    assert begun == 2 * STREAMS


def test_a_load_that_brings_nothing_is_an_error() -> None:
    """Neither a server that is not there, nor one without tokens, has a speed."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.write(HEAD + chunked(event(), DONE) + END)

    with pytest.raises(StreamError, match="no token"):
        load_of(answer, 0.1)
    with pytest.raises(StreamError, match="ConnectionRefusedError"):
        tokens_of_load("http://127.0.0.1:1", "tiny", 0.1)
