"""Runs the real V1 executor's compiled graph over a real Ray: two stages of two actors each.

The actors stand where workers do; they compute nothing and need no accelerator. Each argument is a
step: the rows that apply in it, with commas between, or `none`; a word with `=` is a version that
patchkit is to believe in this step. Says what came of each step. vLLM imports `ray.dag` when it
compiles, and what Ray reads then counts: nothing here does so earlier.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from types import SimpleNamespace
from typing import Any

import ray
import torch
from ray.experimental.compiled_dag_ref import CompiledDAGRef
from vllm.v1.executor.ray_executor import RayDistributedExecutor

from patchkit import applied

FIELDS = ("execution_timeout", "retrieval_timeout", "get_timeout")


class Stage:
    """A worker of one pipeline stage."""

    def __init__(self, name: str, *, is_last: bool) -> None:
        self._name = name
        self._is_last = is_last

    def execute_model_ray(self, given: Any) -> Any:
        """Pass a tensor on; at the end, tell what came."""
        step, grammar, *tensors = given
        if not self._is_last:
            return step, grammar, torch.full((2,), step, dtype=torch.bfloat16)
        if grammar:
            raise ValueError(grammar)
        # Seconds, which the first stage saves.
        from vllm.v1.outputs import (
            ModelRunnerOutput,
        )

        said = f"{self._name} {step} {tensors[0].dtype} {tensors[0].tolist()}"
        return ModelRunnerOutput(req_ids=[said], req_id_to_index={said: 0})


class Together:
    """Where vLLM brings the outputs of all workers together."""

    def aggregate(self, outputs: list[Any], **_: object) -> list[str]:
        return [output.req_ids[0] for output in outputs]


def executor(pipeline: list[list[Any]]) -> Any:
    """The executor of vLLM as it is when its workers are there."""
    made = object.__new__(RayDistributedExecutor)
    made.parallel_config = SimpleNamespace(use_ray=True)
    made.pp_tp_workers = pipeline
    made.workers = []
    made.forward_dag = None
    made.has_connector = False
    made.kv_output_aggregator = Together()
    return made


def results(made: Any) -> dict[str, Any]:
    """Execute as vLLM does: waiting, later, and for a connector that wants all outputs."""
    first = made._execute_dag(1, None).req_ids
    futures = [made._execute_dag(step, None, non_block=True) for step in (2, 3)]
    later = [future.result().req_ids for future in futures]
    made.has_connector = True
    every = [
        made._execute_dag(4, None),
        made._execute_dag(5, None, non_block=True).result(),
    ]
    return {"first": first, "later": later, "all": every, "errors": errors(made)}


def errors(made: Any) -> list[str]:
    """What each output of a step that fails in the last stage raises."""
    found = []
    for reference in made.forward_dag.execute((6, "a stage failed")):
        try:
            reference.get()
        except ValueError as error:
            found.append(str(error).strip().rpartition("\n")[2])
    return found


def step(pipeline: list[list[Any]], words: str) -> dict[str, Any]:
    """What comes of it with some rows."""
    rows = [word for word in words.split(",") if "=" not in word]
    os.environ["PATCHKIT_VERSIONS"] = ",".join(
        word for word in words.split(",") if "=" in word
    )
    made = executor(pipeline)
    try:
        with contextlib.nullcontext() if rows == ["none"] else applied(*rows):
            found = results(made)
            found["time-outs"] = time_outs()
            found["nccl"] = needs_nccl(pipeline)
            found["subscript"] = hasattr(CompiledDAGRef, "__getitem__")
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        made.shutdown()
    return found


def time_outs() -> list[int | None]:
    """What the compiled graph has of each name for a time-out."""
    from ray.dag import DAGContext

    context = DAGContext.get_current()
    return [getattr(context, name, None) for name in FIELDS]


def needs_nccl(pipeline: list[list[Any]]) -> bool:
    """Whether a node that asks for NCCL gets it; it would take a GPU to run."""
    from ray.dag import InputNode

    with InputNode() as given:
        node = pipeline[0][0].execute_model_ray.bind(given)
    return bool(node.with_tensor_transport(transport="nccl").type_hint.requires_nccl())


def main(steps: list[str]) -> None:
    """Every step, then the last of them where somebody asks for vLLM's own communicator."""
    ray.init()
    actor = ray.remote(num_cpus=0)(Stage)
    pipeline = [
        [actor.remote(f"{n}", is_last=last) for n in range(2)] for last in (False, True)
    ]
    found = [step(pipeline, words) for words in steps]
    os.environ["VLLM_USE_RAY_WRAPPED_PP_COMM"] = "1"
    found.append(step(pipeline, steps[-1]))
    print(json.dumps({"steps": found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
