"""Generate eight greedy tokens with a real vLLM; the last line of output is one JSON object.

With `--patchkit` the main process, and no other, begins with `import patchkit.auto`; with
`--object FILE` it begins by unpickling what the file holds.
"""

from __future__ import annotations

import sys

# A spawned child imports this file again under another name, and must not profit from that.
if __name__ == "__main__":
    from patchkit_lab import beginning

    beginning.of(sys.argv)

import argparse
import importlib
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

EXECUTOR_V2 = "vllm.v1.executor.ray_executor_v2"
PROMPT = "hello world the quick"
# With bfloat16 vLLM would use AMX tiles, which die on some virtual machines that list them.
ENGINE = {"enforce_eager": True, "max_model_len": 128, "dtype": "float32"}


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Generate eight greedy tokens with a real vLLM."
    )
    parser.add_argument("model")
    parser.add_argument("--patchkit", action="store_true")
    parser.add_argument("--object")
    parser.add_argument("--before", help="a module to import first")
    parser.add_argument(
        "--compile", action="store_true", help="have vLLM compile the model"
    )
    parser.add_argument("--executor", choices=("uni", "mp", "ray"))
    parser.add_argument("--tensor-parallel", type=int, default=1)
    parser.add_argument("--dtype", default=ENGINE["dtype"])
    return parser.parse_args(words)


def whereabouts(_worker: object) -> dict[str, object]:
    """Run in each worker: which process it is, whether Ray started it, and for which executor."""
    return {
        "pid": os.getpid(),
        "ray": any(word.endswith("default_worker.py") for word in sys.orig_argv),
        "executor": "ray-v2" if EXECUTOR_V2 in sys.modules else "ray-v1",
    }


def generate(options: argparse.Namespace) -> dict[str, Any]:
    """Make the engine, generate, report."""
    if options.before:
        importlib.import_module(options.before)
    from vllm import LLM, SamplingParams

    llm = LLM(
        options.model,
        tensor_parallel_size=options.tensor_parallel,
        distributed_executor_backend=options.executor,
        **{**ENGINE, "enforce_eager": not options.compile, "dtype": options.dtype},
    )
    sampling = SamplingParams(temperature=0, max_tokens=8)
    output = llm.generate([PROMPT], sampling, use_tqdm=False)[0]
    return {
        "tokens": list(output.outputs[0].token_ids),
        "main": os.getpid(),
        "workers": llm.collective_rpc(whereabouts),
    }


if __name__ == "__main__":
    print(json.dumps(generate(arguments())), flush=True)
