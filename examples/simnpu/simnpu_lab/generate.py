"""
Generate eight greedy tokens with a real vLLM; the last line of output is one JSON object.

With `--patchkit` the main process, and no other, begins with `import patchkit.auto`.
"""

from __future__ import annotations

import sys

# A spawned child imports this file again under another name, and must not profit from that.
if __name__ == "__main__" and "--patchkit" in sys.argv:
    import patchkit.auto  # noqa: F401

import argparse
import json
import os

PROMPT = "hello world the quick"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--patchkit", action="store_true")
    parser.add_argument("--executor", choices=("uni", "mp", "ray"))
    parser.add_argument("--tensor-parallel", type=int, default=1)
    return parser.parse_args()


def whereabouts(_worker: object) -> dict[str, object]:
    """Run in each worker: which process it is, and whether Ray started it."""
    from ray import worker as ray_worker

    return {"pid": os.getpid(), "ray": ray_worker.global_worker.mode == ray_worker.WORKER_MODE}


def main() -> None:
    """Make the engine, generate, report."""
    options = arguments()
    from vllm import LLM, SamplingParams

    llm = LLM(
        options.model,
        enforce_eager=True,
        max_model_len=128,
        # With bfloat16 vLLM would use AMX tiles, which die on some virtual machines that list them.
        dtype="float32",
        tensor_parallel_size=options.tensor_parallel,
        distributed_executor_backend=options.executor,
    )
    sampling = SamplingParams(temperature=0, max_tokens=8)
    output = llm.generate([PROMPT], sampling, use_tqdm=False)[0]
    report = {
        "tokens": list(output.outputs[0].token_ids),
        "main": os.getpid(),
        "workers": llm.collective_rpc(whereabouts),
    }
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
