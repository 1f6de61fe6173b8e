"""
Upstream: rows of asynchronous generators reach a task through a queue. Ray 2.35 to 2.37 read it
until the future of all batches is done, and leave what is in the queue then; 2.38 and 2.39 read on,
but wait for a row that never comes if the last one is read before the future is done. To keep the
order, 2.35 to 2.44 call a task instead of awaiting it, which ends the reading at once; and rows of
all batches would be in the queue as they come. 2.40 to 2.44 do not ask the future for its error.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
from typing import TYPE_CHECKING, Any

import ray.data
from ray.data._internal.planner.plan_udf_map_op import (
    _generate_transform_fn_for_async_map_batches,
    _validate_batch_output,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FLAWS = ("await task()", "while not future.done()", "if out_batch is sentinel:")


def loses_rows() -> bool | str:
    """Whether the function has any of the flaws: a fork may have mended it."""
    source = inspect.getsource(_generate_transform_fn_for_async_map_batches)
    return (
        any(flaw in source for flaw in FLAWS)
        or f"this Ray's ray.data has none of {FLAWS}"
    )


def read_to_the_end(
    fn: Callable[[Any], Any],
) -> Callable[[Iterable[Any], Any], Iterator[Any]]:
    """Make what turns a task's batches into rows; Ray sends it to its workers by value."""

    def transform(batches: Iterable[Any], _context: Any) -> Iterator[Any]:
        loop = ray.data._map_actor_context.udf_map_asyncio_loop  # noqa: SLF001
        keeps_order = (
            ray.data.DataContext.get_current().execution_options.preserve_order
        )
        rows: queue.Queue[Any] = queue.Queue()

        async def read(batch: Any) -> list[Any]:
            found = await fn(batch)
            if keeps_order:  # the batch hands over its rows when its turn comes
                return [row async for row in found]
            async for row in found:
                rows.put(row)
            return []

        async def read_all() -> None:
            tasks = [loop.create_task(read(batch)) for batch in batches]
            finished = iter(tasks) if keeps_order else asyncio.as_completed(tasks)
            for task in finished:
                for row in await task:
                    rows.put(row)

        future = asyncio.run_coroutine_threadsafe(read_all(), loop)
        future.add_done_callback(rows.put)
        while (row := rows.get()) is not future:
            _validate_batch_output(row)
            yield row
        future.result()  # raises the error of a batch

    return transform
