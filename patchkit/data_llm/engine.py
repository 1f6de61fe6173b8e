"""The stage that runs an engine of vLLM, and the resources of its replicas."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import math
import sys
import threading
import time
import uuid
import weakref
from functools import partial
from typing import Any

import ray
from ray._private.accelerators import get_all_accelerator_resource_names
from ray.util import list_named_actors
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from patchkit.data_llm.stages import Row, RowStage, plain


class VLLMEngine(RowStage):
    """Generate text or embeddings for rows; each replica has one engine for all of its batches."""

    title = "vLLMEngineStage"

    def __init__(
        self,
        model: str,
        engine_arguments: dict[str, Any],
        task: str,
        pending: int | None,
    ) -> None:
        """Start an engine, in the actor.

        Args:
            model: The name of the model.
            engine_arguments: Arguments of `AsyncEngineArgs` but for the model.
            task: `generate` or `embed`.
            pending: How many rows may be in the engine at a time; None for a tenth more than it
                works on at a time (`max_num_seqs` in each pipeline stage), and -1 for any number.
        """
        import vllm  # noqa: PLC0415 - in the actor

        super().__init__()
        self._vllm = vllm
        self._model = model
        self._embeds = task == "embed"
        if not pending:
            stages = engine_arguments.get("pipeline_parallel_size", 1)
            pending = math.ceil(1.1 * engine_arguments["max_num_seqs"] * stages)
        if pending <= 0:  # such as -1: any number
            pending = sys.maxsize
        self._pending = asyncio.Semaphore(pending)
        self._adapters: dict[str, Any] = {}
        self._numbers = itertools.count()
        self._engine = self._wait_for(self._started(engine_arguments))
        # The engine's own processes would outlive the actor.
        weakref.finalize(self, self._engine.shutdown)

    async def _started(self, engine_arguments: dict[str, Any]) -> Any:
        """Start an engine; this is a coroutine, so that it runs on the loop that later calls it."""
        defaults: dict[str, str] = {}
        if self._embeds:
            defaults = self._arguments_to_embed()
        combined = {**defaults, **engine_arguments}
        arguments = self._vllm.AsyncEngineArgs(**combined, model=self._model)
        return self._vllm.AsyncLLMEngine.from_engine_args(arguments)

    def _arguments_to_embed(self) -> dict[str, str]:
        """Return the arguments that make an engine embed; newer releases of vLLM renamed them."""
        fields = {
            field.name for field in dataclasses.fields(self._vllm.AsyncEngineArgs)
        }
        if fields >= {"runner", "convert"}:
            return {"runner": "pooling", "convert": "embed"}
        return {"task": "embed"}

    async def _all(self, rows: list[Row]) -> list[Row]:
        """Return the new columns of each row, with an id that the rows of a batch share."""
        batch = {"batch_uuid": uuid.uuid4().hex}
        new_columns = await super()._all(rows)
        return [{**columns, **batch} for columns in new_columns]

    async def _answer(self, row: Row) -> Row:
        """Send a row to the engine, and return columns with the finished answer.

        Raises:
            RuntimeError: The engine did not finish the answer.
        """
        start = time.perf_counter()
        number = next(self._numbers)
        request = self._engine.generate
        if self._embeds:
            request = self._engine.encode
        params = self._params(row)
        columns = {"request_id": number, "params": str(params)}
        adapter = self._adapter(row)
        async with self._pending:
            async for answer in request(
                _prompt(row), params, str(number), lora_request=adapter
            ):
                if answer.finished:  # an earlier answer has only the text so far
                    columns["time_taken_llm"] = time.perf_counter() - start
                    return {**columns, **_columns(row, answer)}
        raise RuntimeError("the engine ended before the answer did")

    def _params(self, row: Row) -> Any:
        """Return a row's sampling parameters, or those that ask for an embedding."""
        if not self._embeds:
            return self._vllm.SamplingParams(**plain(row["sampling_params"]))
        # A msgspec struct; some releases of vLLM have the task among its fields, and need it.
        pooling_params = self._vllm.PoolingParams
        if "task" in getattr(pooling_params, "__struct_fields__", ()):
            return pooling_params(task="embed")
        return pooling_params()

    def _adapter(self, row: Row) -> Any:
        """Return the LoRA adapter that a row names as its `model`; None for the engine's model."""
        name = row.get("model") or self._model
        if name == self._model:
            return None
        from vllm.lora.request import LoRARequest  # noqa: PLC0415 - in the actor

        if name not in self._adapters:
            # The adapter's name, an id from 1 on, and again the name: a path, or a name on the hub.
            self._adapters[name] = LoRARequest(name, len(self._adapters) + 1, name)
        return self._adapters[name]


def _prompt(row: Row) -> dict[str, Any]:
    """Return the prompt of a row: its tokens if it has some, but a text if it has images.

    vLLM inserts tokens for the images when it makes tokens of the text.
    """
    images = row.get("image")
    if images:
        return {"prompt": row["prompt"], "multi_modal_data": {"image": images}}
    tokens = plain(row.get("tokenized_prompt"))
    if tokens is None:
        return {"prompt": row["prompt"]}
    return {"prompt_token_ids": tokens}


def _columns(row: Row, answer: Any) -> Row:
    """Return the columns that a finished answer of the engine adds to a row.

    Raises:
        RuntimeError: The engine ended the answer with an error.
    """
    tokens = list(answer.prompt_token_ids)
    metrics = getattr(answer, "metrics", None)
    if metrics is not None:
        metrics = dataclasses.asdict(metrics)
    columns = {
        "prompt": row["prompt"],
        "prompt_token_ids": tokens,
        "num_input_tokens": len(tokens),
        "metrics": metrics,
    }
    if hasattr(answer.outputs, "data"):  # a tensor: the engine embeds
        embeddings = answer.outputs.data.cpu().float().numpy()
        return {**columns, **_output_columns([], text="", embeddings=embeddings)}
    completion = answer.outputs[0]
    if completion.finish_reason in {"abort", "error"}:
        raise RuntimeError(
            f"the engine ended the answer with {completion.finish_reason!r}"
        )
    token_ids = list(completion.token_ids)
    return {
        **columns,
        **_output_columns(token_ids, completion.text, embeddings=None),
    }


def _output_columns(token_ids: list[int], text: str, embeddings: Any) -> Row:
    """Return the columns with what was generated, the same ones for both tasks."""
    return {
        "generated_tokens": token_ids,
        "num_generated_tokens": len(token_ids),
        "generated_text": text,
        "embeddings": embeddings,
    }


# -- placement ------------------------------------------------------------------------------------


def placed(
    engine_arguments: dict[str, Any], accelerator_type: str | None
) -> dict[str, Any]:
    """Return the resources of one replica: an accelerator for each of its workers, if any.

    Args:
        engine_arguments: Arguments of `AsyncEngineArgs`.
        accelerator_type: The type that is asked for, as Ray names it; None for any.

    Returns:
        Arguments of `ray.remote`.

    Raises:
        RuntimeError: The cluster has accelerators of several makers.
    """
    tensor_parallel = engine_arguments.get("tensor_parallel_size", 1)
    workers = tensor_parallel * engine_arguments.get("pipeline_parallel_size", 1)
    device = _device()
    # No node has an accelerator yet: Ray waits until one has.
    if not device and accelerator_type:
        device = "GPU"
    # Workers of the Ray executor are actors themselves. All others are children of this actor, and
    # use its resources.
    if workers > 1 and engine_arguments["distributed_executor_backend"] == "ray":
        group = partial(_in_a_group, workers, device, accelerator_type)
        # The actor itself takes no GPU from the group: its workers need all of them.
        return {"ray_remote_args_fn": group, "num_gpus": 0}
    resources: dict[str, Any] = {}
    if accelerator_type:
        resources["accelerator_type"] = accelerator_type
    if device == "GPU":  # Ray takes no "GPU" among `resources`
        resources["num_gpus"] = workers
    elif device:
        resources["resources"] = {device: workers}
    return resources


def _device() -> str:
    """Name the accelerator of this cluster as Ray does; '' if there is none.

    Raises:
        RuntimeError: There are accelerators of several kinds.
    """
    resources = {name for name, count in ray.cluster_resources().items() if count > 0}
    accelerators = sorted(resources & get_all_accelerator_resource_names())
    if len(accelerators) > 1:
        names = " and ".join(accelerators)
        raise RuntimeError(f"found {names} in this cluster, expected one of them")
    return "".join(accelerators)  # the only one, or ''


def _in_a_group(
    workers: int, device: str, accelerator_type: str | None
) -> dict[str, Any]:
    """Reserve a bundle for each worker, all on one node, and return the options of the actor.

    Ray calls this for each actor. The actor's engine finds the placement group, as the group
    captures child tasks, and its Ray executor puts a worker into each bundle. The actor has a name
    only for `_remove_after` to look for.
    """
    bundle: dict[str, float] = {"CPU": 1}
    if device:
        bundle[device] = 1
    if accelerator_type:
        # A node has 1 of this resource, which says only that it has the type.
        bundle[f"accelerator_type:{accelerator_type}"] = 0.001
    group = placement_group([bundle] * workers, strategy="STRICT_PACK")
    strategy = PlacementGroupSchedulingStrategy(
        group, placement_group_capture_child_tasks=True
    )
    name = uuid.uuid4().hex
    threading.Thread(target=_remove_after, args=(name, group), daemon=True).start()
    return {"scheduling_strategy": strategy, "name": name}


def _remove_after(name: str, group: PlacementGroup) -> None:
    """Wait until the named actor is gone, then remove its group; Ray would keep it for the job."""
    with contextlib.suppress(Exception):  # Ray is shut down, and the group with it
        while name not in list_named_actors():  # the actor has not started yet
            time.sleep(0.2)
        while name in list_named_actors():
            time.sleep(0.2)
        remove_placement_group(group)
