"""
The stages of a processor: each adds columns to the rows of a dataset.

Between stages a row is one pickle, as Arrow would convert some values and refuse others. A stage is
a plain generator, as `ray.data` loses rows of asynchronous ones (2.35 to 2.37), and their order.
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
    """Turn numpy arrays and numbers into Python's, also inside of dicts, lists and tuples."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())  # whose items may be dicts with arrays
    return value


class RowStage:
    """A callable class for `Dataset.map_batches`, which makes one instance in each of its actors.

    It works in an event loop in a thread. A subclass says in `_answer` which columns a row gets.
    """

    title: str  # `__name__` is not this: Ray derives a class with another name

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def __call__(self, batch: Mapping[str, Any]) -> Iterator[Row]:
        """
        Yield the rows of a batch, in order, with the columns that the stage adds.

        Ray makes all generators in one thread, but runs each in the thread of its task, so batches
        overlap.
        """
        if not batch:  # an empty block has no columns
            return
        rows = [cloudpickle.loads(data) for data in batch[DATA_COLUMN]]
        new_columns = self._wait_for(self._all(rows))
        # Objects: an array of bytes would lose zero bytes at their end.
        out = np.empty(len(rows), dtype=object)
        for index, (row, columns) in enumerate(zip(rows, new_columns, strict=True)):
            out[index] = cloudpickle.dumps({**row, **columns})
        yield {DATA_COLUMN: out}

    def _wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the stage's event loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _all(self, rows: list[Row]) -> list[Row]:
        """Return the new columns of each row; the first error cancels what is left of the batch."""
        tasks = [asyncio.ensure_future(self._answer_or_name(row)) for row in rows]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()  # does nothing to one that is done

    async def _answer_or_name(self, row: Row) -> Row:
        """Return the new columns of a row; an error names the stage and shows the row."""
        try:
            return await self._answer(row)
        except Exception as error:
            columns = ", ".join(
                f"{name}={reprlib.repr(value)}" for name, value in row.items()
            )
            message = f"row {{{columns}}} failed: {type(error).__name__}: {error}"
            raise RuntimeError(f"{self.title}: {message}") from error

    async def _answer(self, row: Row) -> Row:
        """Return the columns to add to a row."""
        raise NotImplementedError


class PrepareImage(RowStage):
    """Add `image` and `image_sizes`, the images in a row's `messages`, if there are any."""

    title = "PrepareImageStage"

    async def _answer(self, row: Row) -> Row:
        parts: list[Any] = []
        for message in plain(row["messages"]):
            if isinstance(message["content"], list):
                parts += message["content"]
        # A part is `{"type": "image_url", "image_url": {"url": …}}`, or `{"type": "image", …}`.
        images = [
            await _image(part[part["type"]])
            for part in parts
            if part["type"] in {"image", "image_url"}
        ]
        if not images:
            return {}
        return {"image": images, "image_sizes": [image.size for image in images]}


async def _image(source: Any) -> Any:
    """Return a PIL image as it is, or load one from a URL, or from `{"url": …}`.

    Raises:
        ValueError: The URL is neither of http(s) nor of data.
    """
    from PIL import Image  # noqa: PLC0415 - only where there are images

    if isinstance(source, Image.Image):
        return source
    url = str(source["url"] if isinstance(source, dict) else source)
    if not url.startswith(("http://", "https://", "data:image")):
        raise ValueError(
            f"found image {url[:80]!r}, expected a PIL image, http(s) or data:image"
        )
    if url.startswith("data:"):
        raw = base64.b64decode(url.partition(",")[2])
    else:
        raw = await _fetched(url)
    image = Image.open(io.BytesIO(raw))
    image.load()
    return image


async def _fetched(url: str, tries: int = 3) -> bytes:
    """Fetch a URL; after a failure it is tried again, `tries` times in all."""
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


class _TokenizerStage(RowStage):
    """A stage that uses a model's tokenizer.

    Args:
        model: The name of the model.
        trust_remote_code: Whether the model's own code may run.
    """

    loader = "AutoTokenizer"
    """The class of `transformers` that loads the tokenizer."""

    def __init__(self, model: str, trust_remote_code: bool) -> None:
        import transformers  # noqa: PLC0415 - in the actor

        super().__init__()
        load = getattr(transformers, self.loader).from_pretrained
        self._tokenizer = load(model, trust_remote_code=trust_remote_code)


class ChatTemplate(_TokenizerStage):
    """Add `prompt`, the text that a model's chat template makes of a row's `messages`.

    Args:
        model: The name of the model.
        trust_remote_code: Whether the model's own code may run.
        template_options: Further options of `apply_chat_template`, such as `chat_template`.
    """

    title = "ChatTemplateStage"
    loader = "AutoProcessor"

    def __init__(
        self, model: str, trust_remote_code: bool, **template_options: Any
    ) -> None:
        super().__init__(model, trust_remote_code)
        self._template_options = template_options

    async def _answer(self, row: Row) -> Row:
        messages = plain(row["messages"])
        # The model answers the user's message, or continues one of its own.
        ends_with_user = messages[-1]["role"] == "user"
        text = self._tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=ends_with_user,
            continue_final_message=not ends_with_user,
            **self._template_options,
        )
        return {"prompt": text}


class Tokenize(_TokenizerStage):
    """Add `tokenized_prompt`, the tokens of a row's `prompt`."""

    title = "TokenizeStage"

    async def _answer(self, row: Row) -> Row:
        return {"tokenized_prompt": self._tokenizer(row["prompt"])["input_ids"]}


class Detokenize(_TokenizerStage):
    """Add `generated_text`, the text of a row's `generated_tokens`."""

    title = "DetokenizeStage"

    async def _answer(self, row: Row) -> Row:
        tokens = row["generated_tokens"]
        text = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return {"generated_text": text}


class HttpRequest(RowStage):
    """Post each row's `payload`, and add `http_response`, the JSON that comes back.

    Args:
        url: Where to post.
        headers: Headers beside the content type.
        seconds: How long after each other requests start; None to wait for each response.
    """

    title = "HttpRequestStage"

    def __init__(
        self, url: str, headers: Mapping[str, Any] | None, seconds: float | None
    ) -> None:
        super().__init__()
        self._url = url
        self._seconds = seconds
        self._next_start = 0.0
        self._headers = {"Content-Type": "application/json", **(headers or {})}

    async def _all(self, rows: list[Row]) -> list[Row]:
        # Each batch has a session of its own, with which `_answer` posts.
        async with aiohttp.ClientSession(headers=self._headers) as self._session:
            if self._seconds is None:  # one request after the other
                return [await self._answer_or_name(row) for row in rows]
            return await super()._all(rows)

    async def _answer(self, row: Row) -> Row:
        # Requests start `seconds` apart. `_next_start` is when the one before starts, or has
        # started: this one starts `seconds` later, or `seconds` from now if that start time has
        # passed. So the first request waits, too. Without `seconds`, none does.
        now = time.monotonic()
        self._next_start = max(self._next_start, now) + (self._seconds or 0)
        await asyncio.sleep(self._next_start - now)
        async with self._session.post(
            self._url, json=plain(row["payload"])
        ) as response:
            return {"http_response": await response.json()}
