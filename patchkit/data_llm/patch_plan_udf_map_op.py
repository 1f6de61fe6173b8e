"""
Upstream: rows of asynchronous generators reach a task through a queue. Ray 2.35 to 2.37 read it
until the future of all batches is done, and leave what is in the queue then; 2.38 and 2.39 read on,
but wait for a row that never comes if the last one is read before the future is done. To keep the
order, 2.35 to 2.44 call a task instead of awaiting it, which ends the reading at once; and rows of
all batches would be in the queue as they come. 2.40 to 2.44 do not ask the future for its error.

The reading function is sent to Ray's workers by value, so the edits count where a dataset is run.
"""

import inspect
from typing import TYPE_CHECKING

from ray.data._internal.planner.plan_udf_map_op import _generate_transform_fn_for_async_map_batches

if TYPE_CHECKING:
    from collections.abc import Callable


def _if_there(line: str) -> "Callable[[], bool | str]":
    def asked() -> bool | str:
        source = inspect.getsource(_generate_transform_fn_for_async_map_batches)
        return line in source or f"this Ray's ray.data has no {line!r}"

    return asked


stops_early = _if_there("while not future.done():")
waits_too_long = _if_there("while not future.done() or not output_batch_queue.empty():")
drops_errors = _if_there("if out_batch is sentinel:")
calls_a_task = _if_there("await task()")
