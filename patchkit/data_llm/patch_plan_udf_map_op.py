"""
Upstream: rows of asynchronous generators reach a task through a queue, and a future is done when
all batches are. Ray 2.35 to 2.37 read the queue until then, and lose the rows that are left in it.
2.38 and 2.39 read on, but wait for ever if the last row is read before the future is done.

If rows are to keep their order, 2.35 to 2.44 call a task instead of awaiting it, which ends the
reading at once; and the rows of different batches would be mixed. 2.40 to 2.44 do not read the
future's error.
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
"""Code of Ray's function by which a release with one of these faults is recognized."""


def loses_rows() -> bool | str:
    """Answer the row's `when`: True if the function has one of the faults; a fork may have none."""
    source = inspect.getsource(_generate_transform_fn_for_async_map_batches)
    if any(flaw in source for flaw in FLAWS):
        return True
    return f"this Ray's ray.data has none of {FLAWS}"


def read_to_the_end(
    fn: Callable[[Any], Any],
) -> Callable[[Iterable[Any], Any], Iterator[Any]]:
    """Make the function that turns a task's batches into rows; Ray calls it as it called its own.

    Ray pickles the function by value, as it is a local one, so its workers need not be patched.

    Args:
        fn: The asynchronous function of the user, which is called with a batch.
    """

    def transform(batches: Iterable[Any], _context: Any) -> Iterator[Any]:
        """Yield the rows that the user's function makes of a task's batches."""
        # The event loop that Ray runs in a thread of each actor, for such functions.
        loop = ray.data._map_actor_context.udf_map_asyncio_loop  # noqa: SLF001
        keeps_order = (
            ray.data.DataContext.get_current().execution_options.preserve_order
        )
        rows: queue.Queue[Any] = queue.Queue()

        async def read(batch: Any) -> list[Any]:
            """Put the rows of a batch into the queue; to keep the order, return them instead."""
            results = await fn(batch)
            if keeps_order:
                return [row async for row in results]
            async for row in results:
                rows.put(row)
            return []

        async def read_all() -> None:
            """Read all batches at a time; rows that `read` returns go into the queue in order."""
            tasks = [loop.create_task(read(batch)) for batch in batches]
            finished = iter(tasks) if keeps_order else asyncio.as_completed(tasks)
            for task in finished:
                for row in await task:
                    rows.put(row)

        future = asyncio.run_coroutine_threadsafe(read_all(), loop)
        # When all is read, the future itself comes out of the queue, after the last row.
        future.add_done_callback(rows.put)
        while (row := rows.get()) is not future:
            _validate_batch_output(row)
            yield row
        future.result()  # raises the error of a batch

    return transform
