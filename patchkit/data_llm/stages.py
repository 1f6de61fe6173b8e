"""
The stages of a processor: rows in, the same rows out with more columns.

A row travels as one pickle, so that Arrow neither changes nor refuses what is in it. A stage is a
plain generator: `ray.data` loses rows of asynchronous ones (2.35 to 2.37), and keeps no order.
"""

from __future__ import annotations

import asyncio
import base64
import io
import reprlib
import threading
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
from ray import cloudpickle

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping

DATA_COLUMN = "__data"
Row = dict[str, Any]


def plain(value: Any) -> Any:
    """Turn what numpy has made of lists and numbers back into these, at every depth."""
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    return (
        plain(value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else value
    )


class RowStage:
    """What `Dataset.map_batches` makes once in each of its actors; a loop there does the work."""

    title: str  # not the name of the class: Ray derives one of its own

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def __call__(self, batch: Mapping[str, Any]) -> Iterator[Row]:
        """
        Yield the rows of a batch, in order, with the columns that the stage adds.

        Ray has one thread make the generator, and runs it on the task's own: batches overlap.
        """
        if not batch:  # an empty block has no columns
            return
        rows = [cloudpickle.loads(data) for data in batch[DATA_COLUMN]]
        out = np.empty(len(rows), dtype=object)
        for at, (row, more) in enumerate(
            zip(rows, self._wait_for(self._all(rows)), strict=True)
        ):
            out[at] = cloudpickle.dumps({**row, **more})
        yield {DATA_COLUMN: out}

    def _wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _all(self, rows: list[Row]) -> list[Row]:
        tasks = [asyncio.ensure_future(self._named(row)) for row in rows]
        try:
            return await asyncio.gather(*tasks)
        finally:  # the first error ends the batch
            for task in tasks:
                task.cancel()

    async def _named(self, row: Row) -> Row:
        try:
            return await self._answer(row)
        except Exception as error:
            columns = ", ".join(
                f"{name}={reprlib.repr(value)}" for name, value in row.items()
            )
            what = f"row {{{columns}}} failed: {type(error).__name__}: {error}"
            raise RuntimeError(f"{self.title}: {what}") from error

    async def _answer(self, row: Row) -> Row:
        raise NotImplementedError


class PrepareImage(RowStage):
    """Load the images of a row's messages, if any: `image` and `image_sizes`."""

    title = "PrepareImageStage"

    async def _answer(self, row: Row) -> Row:
        images = [
            await _image(part[part["type"]])
            for message in plain(row["messages"])
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] in {"image", "image_url"}
        ]
        return (
            {"image": images, "image_sizes": [one.size for one in images]}
            if images
            else {}
        )


async def _image(source: Any) -> Any:
    from PIL import Image  # noqa: PLC0415 - only where there are images

    if isinstance(source, Image.Image):
        return source
    url = str(source["url"] if isinstance(source, dict) else source)
    if not url.startswith(("http://", "https://", "data:image")):
        raise ValueError(
            f"found image {url[:80]!r}, expected a PIL image, http(s) or data:image"
        )
    raw = (
        base64.b64decode(url.partition(",")[2])
        if url[:5] == "data:"
        else await _fetched(url)
    )
    image = Image.open(io.BytesIO(raw))
    image.load()
    return image


async def _fetched(url: str, tries: int = 3) -> bytes:
    try:
        session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(5), raise_for_status=True
        )
        async with session, session.get(url) as response:
            return bytes(await response.read())
    except (aiohttp.ClientError, asyncio.TimeoutError):
        if tries == 1:
            raise
        await asyncio.sleep(1)
        return await _fetched(url, tries - 1)


class _Loaded(RowStage):
    loader = "AutoTokenizer"

    def __init__(self, model: str, trust_remote_code: bool, **rest: Any) -> None:
        import transformers  # noqa: PLC0415 - in the actor

        super().__init__()
        load = getattr(transformers, self.loader).from_pretrained
        self._held = load(model, trust_remote_code=trust_remote_code)
        self._rest = rest


class ChatTemplate(_Loaded):
    """Make one text of a row's messages: `prompt`; it goes on where the last is not the user's."""

    title = "ChatTemplateStage"
    loader = "AutoProcessor"

    async def _answer(self, row: Row) -> Row:
        messages = plain(row["messages"])
        is_asked = messages[-1]["role"] == "user"
        how = {
            "add_generation_prompt": is_asked,
            "continue_final_message": not is_asked,
        }
        text = self._held.apply_chat_template(
            messages, tokenize=False, **how, **self._rest
        )
        return {"prompt": text}


class Tokenize(_Loaded):
    """Make tokens of a row's prompt: `tokenized_prompt`."""

    title = "TokenizeStage"

    async def _answer(self, row: Row) -> Row:
        return {"tokenized_prompt": self._held(row["prompt"])["input_ids"]}


class Detokenize(_Loaded):
    """Make text of what was generated: `generated_text`."""

    title = "DetokenizeStage"

    async def _answer(self, row: Row) -> Row:
        text = self._held.decode(row["generated_tokens"], skip_special_tokens=True)
        return {"generated_text": text}


class HttpRequest(RowStage):
    """Post each row's payload, `seconds` apart or one after the other: `http_response`."""

    title = "HttpRequestStage"

    def __init__(
        self, url: str, headers: Mapping[str, Any] | None, seconds: float | None
    ) -> None:
        super().__init__()
        self._url, self._seconds, self._next = url, seconds, 0.0
        self._headers = {"Content-Type": "application/json", **(headers or {})}

    async def _all(self, rows: list[Row]) -> list[Row]:
        async with aiohttp.ClientSession(headers=self._headers) as self._session:
            if self._seconds is None:
                return [await self._named(row) for row in rows]
            return await super()._all(rows)

    async def _answer(self, row: Row) -> Row:
        self._next = max(self._next, time.monotonic()) + (self._seconds or 0)
        await asyncio.sleep(self._next - time.monotonic())
        async with self._session.post(
            self._url, json=plain(row["payload"])
        ) as response:
            return {"http_response": await response.json()}
