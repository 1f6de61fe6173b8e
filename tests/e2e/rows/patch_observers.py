"""Wrappers and functions that need nothing of vLLM: they leave a line and do what was done."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from rows.witness import seen

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def observer(name: str) -> Callable[..., Any]:
    """What every observing wrapper is."""

    def by(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        seen(name)
        return wrapped(*args, **kwargs)

    return by


validator = observer("validator-wrapped")
class_method = observer("class-method")
static_method = observer("static-method")
initializer = observer("initializer")
outer = observer("the-outer")
inner = observer("the-inner")
async_generator = observer("async-generator")
context_manager = observer("context-manager")
engine_core_process = observer("engine-core-process")
engine_core_entry = observer("engine-core-entry")
one_importer = observer("one-importer")
inherited = observer("inherited-method")
nested_class = observer("nested-class")
runner_method = observer("runner-method")
worker_method = observer("worker-method")


async def coroutine(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Around a coroutine function: it is awaited in here."""
    collector = await wrapped(*args, **kwargs)
    seen("coroutine", type(collector).__name__)
    return collector


def output_field(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Say who wrote the field, which has come from the worker's process."""
    output = kwargs.get("model_runner_output") or args[1]
    seen("output-field", output.written_by)
    return wrapped(*args, **kwargs)


def count_of_rows(self: Any) -> int:
    """A method that vLLM lacks."""
    seen("new-method")
    return int(self.get_num_free_blocks())


def get_new_blocks(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Use the new method."""
    before = instance.count_of_rows()
    blocks = wrapped(*args, **kwargs)
    assert instance.count_of_rows() == before - len(blocks)
    return blocks


def cdiv(a: int, b: int) -> int:
    """Round up, as ever."""
    seen("ten-importers")
    return -(a // -b)


def num_reqs(self: Any) -> int:
    """What a property returns."""
    seen("property")
    return len(self.req_id_to_index)


def before_import() -> None:
    """The module is empty yet."""
    seen(
        "before-import",
        hasattr(sys.modules.get("vllm.v1.worker.cpu_worker"), "CPUWorker"),
    )


def after_import(module: ModuleType) -> Callable[[], None]:
    """Leave a mark, and say how to take it off."""
    vars(module)["marked_by"] = os.getpid()
    seen("after-import", hasattr(module, "Scheduler"))
    return lambda: vars(module).pop("marked_by")


def decorated(target: Any) -> Any:
    """Return a function around a method, as a decorator of Python does."""

    @functools.wraps(target)
    def inner(*args: Any, **kwargs: Any) -> Any:
        seen("decorated")
        return target(*args, **kwargs)

    return inner
