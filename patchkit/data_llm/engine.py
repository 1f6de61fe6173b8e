"""The stage that holds an engine of vLLM, and where its replicas are placed."""

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
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from patchkit.data_llm.stages import Row, RowStage, plain


class VLLMEngine(RowStage):
    """Generate or embed; the rows of all batches of a replica are in one engine at a time."""

    title = "vLLMEngineStage"

    def __init__(self, model: str, given: dict[str, Any], task: str, room: int | None) -> None:
        import vllm  # noqa: PLC0415 - in the actor

        super().__init__()
        self._vllm, self._model, self._embeds = vllm, model, task == "embed"
        stages = given.get("pipeline_parallel_size", 1)
        room = room or math.ceil(1.1 * given["max_num_seqs"] * stages)
        self._room = asyncio.Semaphore(room if room > 0 else sys.maxsize)
        self._adapters: dict[str, Any] = {}
        self._numbers = itertools.count()
        self._engine = self._wait_for(self._started(given))
        # Where Ray ends the actor, the engine's own processes would stay.
        weakref.finalize(self, self._engine.shutdown)

    async def _started(self, given: dict[str, Any]) -> Any:
        """Start an engine on the loop that will ask it; vLLM has renamed what makes one embed."""
        known = {field.name for field in dataclasses.fields(self._vllm.AsyncEngineArgs)}
        new, old = {"runner": "pooling", "convert": "embed"}, {"task": "embed"}
        task = (new if known >= new.keys() else old) if self._embeds else {}
        arguments = self._vllm.AsyncEngineArgs(**{**task, **given}, model=self._model)
        return self._vllm.AsyncLLMEngine.from_engine_args(arguments)

    async def _all(self, rows: list[Row]) -> list[Row]:
        batch = {"batch_uuid": uuid.uuid4().hex}
        return [{**one, **batch} for one in await super()._all(rows)]

    async def _answer(self, row: Row) -> Row:
        began, number = time.perf_counter(), next(self._numbers)
        ask = self._engine.encode if self._embeds else self._engine.generate
        params = self._params(row)
        told = {"request_id": number, "params": str(params)}
        async with self._room:
            answers = ask(_prompt(row), params, str(number), lora_request=self._adapter(row))
            async for answer in answers:
                if answer.finished:
                    told["time_taken_llm"] = time.perf_counter() - began
                    return {**told, **_columns(row, answer)}
        raise RuntimeError("the engine ended before the answer did")

    def _params(self, row: Row) -> Any:
        if not self._embeds:
            return self._vllm.SamplingParams(**plain(row["sampling_params"]))
        knows_task = "task" in getattr(self._vllm.PoolingParams, "__struct_fields__", ())
        return self._vllm.PoolingParams(**({"task": "embed"} if knows_task else {}))

    def _adapter(self, row: Row) -> Any:
        """Return the LoRA adapter that a row asks for by another model than the engine's."""
        name = row.get("model") or self._model
        if name == self._model:
            return None
        from vllm.lora.request import LoRARequest  # noqa: PLC0415 - in the actor

        new = LoRARequest(name, len(self._adapters) + 1, name)
        return self._adapters.setdefault(name, new)


def _prompt(row: Row) -> dict[str, Any]:
    """Say what is asked; with images vLLM has to make the tokens itself."""
    if images := row.get("image"):
        return {"prompt": row["prompt"], "multi_modal_data": {"image": images}}
    tokens = plain(row.get("tokenized_prompt"))
    return {"prompt": row["prompt"]} if tokens is None else {"prompt_token_ids": tokens}


def _columns(row: Row, answer: Any) -> Row:
    tokens, metrics = list(answer.prompt_token_ids), getattr(answer, "metrics", None)
    columns = {"prompt": row["prompt"], "prompt_token_ids": tokens}
    columns["num_input_tokens"] = len(tokens)
    columns["metrics"] = None if metrics is None else dataclasses.asdict(metrics)
    if hasattr(answer.outputs, "data"):
        generated, text, embeddings = [], "", answer.outputs.data.cpu().float().numpy()
    else:
        first, embeddings = answer.outputs[0], None
        generated, text = list(first.token_ids), first.text
        if first.finish_reason in {"abort", "error"}:
            raise RuntimeError(f"the engine ended the answer with {first.finish_reason!r}")
    columns.update(generated_tokens=generated, num_generated_tokens=len(generated))
    return {**columns, "generated_text": text, "embeddings": embeddings}


# -- placement ------------------------------------------------------------------------------------


def placed(given: dict[str, Any], accelerator_type: str | None) -> dict[str, Any]:
    """Return the resources of one replica: an accelerator for each of its workers, if any."""
    workers = given.get("tensor_parallel_size", 1) * given.get("pipeline_parallel_size", 1)
    device = _device() or ("GPU" if accelerator_type else "")
    if workers > 1 and given["distributed_executor_backend"] == "ray":
        group = partial(_in_a_group, workers, device, accelerator_type)
        return {"ray_remote_args_fn": group, "num_gpus": 0}
    wanted: dict[str, Any] = {"accelerator_type": accelerator_type} if accelerator_type else {}
    if device == "GPU":
        return {**wanted, "num_gpus": workers}
    return {**wanted, "resources": {device: workers}} if device else wanted


def _device() -> str:
    """Name the accelerator of this cluster as Ray does; '' where there is none."""
    there = {name for name, count in ray.cluster_resources().items() if count > 0}
    found = sorted(there & get_all_accelerator_resource_names())
    if len(found) > 1:
        raise RuntimeError(f"found {' and '.join(found)} in this cluster, expected one of them")
    return found[0] if found else ""


def _in_a_group(workers: int, device: str, accelerator_type: str | None) -> dict[str, Any]:
    """Reserve a bundle for each worker on one node; vLLM's Ray executor finds the group."""
    bundle: dict[str, float] = {"CPU": 1, **({device: 1} if device else {})}
    if accelerator_type:
        bundle[f"accelerator_type:{accelerator_type}"] = 0.001
    group = placement_group([bundle] * workers, strategy="STRICT_PACK")
    strategy = PlacementGroupSchedulingStrategy(group, placement_group_capture_child_tasks=True)
    name = uuid.uuid4().hex
    threading.Thread(target=_remove_after, args=(name, group), daemon=True).start()
    return {"scheduling_strategy": strategy, "name": name}


def _remove_after(name: str, group: PlacementGroup) -> None:
    """Wait until the named actor is gone, then remove its group, which would last for the job."""
    with contextlib.suppress(Exception):  # Ray is shut down, and the group with it
        while name not in list_named_actors():
            time.sleep(0.2)
        while name in list_named_actors():
            time.sleep(0.2)
        remove_placement_group(group)
