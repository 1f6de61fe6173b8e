"""Completions that a server streams, many at once, and how many tokens come of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STREAMS = 64
_SHORTEST, _LONGEST = 60, 120
"""Tokens of a stream: if all were of one length, all would end, and begin anew, at once."""
_DONE = b"[DONE]"
_PREFIX = b"data: "
_SECONDS_TO_FINISH = 120.0


class StreamError(Exception):
    """A server answered otherwise than with a whole stream."""


def tokens_of_load(address: str, model: str, seconds: float) -> int:
    """Keep 64 streams open for a while, and count the tokens that come in that time.

    A stream that ends is followed by another one. Those that are open when the time is over are
    read to their end, so that the server is idle again, but no longer counted.

    Args:
        address: of the server, as `http://host:port`.
        model: the name that the server knows it by.
        seconds: how long the load lasts.

    Returns:
        How many tokens all streams together have brought, at least one.

    Raises:
        StreamError: the server could not be reached, a stream failed or did not end, or none has
            brought anything.
    """
    try:
        tokens = asyncio.run(_tokens_of_load(address, model, seconds))
    except (OSError, asyncio.TimeoutError) as error:
        raise StreamError(f"found {error!r}, expected whole streams") from error
    if not tokens:
        raise StreamError(f"no token came in {seconds:g} s")
    return tokens


async def _tokens_of_load(address: str, model: str, seconds: float) -> int:
    deadline = asyncio.get_running_loop().time() + seconds
    clients = [_client(address, model, deadline, number) for number in range(STREAMS)]
    counts = await asyncio.wait_for(
        asyncio.gather(*clients), seconds + _SECONDS_TO_FINISH
    )
    return sum(counts)


async def _client(address: str, model: str, deadline: float, number: int) -> int:
    """Read one stream after another until the deadline, and return the tokens until then."""
    now = asyncio.get_running_loop().time
    dice = random.Random(number)  # so every load asks for the same
    count = 0
    while now() < deadline:
        body = {
            "model": model,
            "prompt": f"hello world t{number} t{dice.randrange(256)}",
            "max_tokens": dice.randint(_SHORTEST, _LONGEST),
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "return_token_ids": True,
        }
        async for tokens in _stream(address, body):
            if now() < deadline:
                count += tokens
    return count


async def _stream(address: str, body: dict[str, Any]) -> AsyncIterator[int]:
    """Ask for a completion; yield the number of tokens of each part of the answer."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(_request(place.netloc, body))
        await writer.drain()
        async for tokens in tokens_in_answer(reader):
            yield tokens
    finally:
        writer.close()
        with contextlib.suppress(OSError):  # the server was first
            await writer.wait_closed()


def _request(host: str, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    lines = [
        "POST /v1/completions HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def tokens_in_answer(reader: asyncio.StreamReader) -> AsyncIterator[int]:
    """Yield the number of tokens of each event of an answer, as it comes.

    Args:
        reader: gives what the server sends: the head of HTTP, then events in chunks.

    Raises:
        StreamError: the server refused the request, or the stream ended before its last event.
    """
    status = await reader.readline()
    while (await reader.readline()).strip():
        pass  # the other lines of the head say nothing that counts here
    if b" 200 " not in status:
        text = (await reader.read(2000)).decode(errors="replace")
        raise StreamError(f"found {status.decode().strip()!r}, expected 200: {text}")
    is_whole = False
    async for event in _events(reader):
        if event == _DONE:
            is_whole = True
        else:
            yield tokens_in(event)
    if not is_whole:
        raise StreamError("the stream ended before its last event")


async def _events(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the data of each event; an empty line ends one, wherever chunks begin and end."""
    rest = b""
    while received := await _chunk(reader):
        *events, rest = (rest + received).split(b"\n\n")
        for event in events:
            yield event.removeprefix(_PREFIX)


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    """Read one chunk; empty at the end of the answer."""
    try:
        size = int(await reader.readline() or b"0", 16)
        return (await reader.readexactly(size + 2))[:size]
    except asyncio.IncompleteReadError:
        return b""


def tokens_in(event: bytes) -> int:
    """Count the new tokens of one event; a busy server may put several into one.

    Args:
        event: JSON of a part of a completion.

    Raises:
        StreamError: it is none, such as an error of the server.
    """
    part = json.loads(event)
    if "choices" not in part:
        raise StreamError(f"found {event.decode()}, expected a part of a completion")
    return sum(len(choice["token_ids"] or ()) for choice in part["choices"])
