"""Generate with a real vLLM, and tell what the packs of the guide did where.

The last line of output is one JSON object. Nothing here knows patchkit or a pack: they are
installed, and vLLM finds patchkit as its plugin.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from typing import Any

from patchkit_lab.generate import ENGINE, PROMPT


def ask_worker(_worker: object) -> dict[str, Any]:
    """Run in each worker: exchange with the other ranks where a pack added that, and tell."""
    import torch
    from vllm.distributed import get_tp_group

    group = get_tp_group()
    slices = torch.tensor(
        [10.0 * group.rank_in_group + other for other in range(group.world_size)]
    )
    patched = hasattr(group, "all_to_all")
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "exchanged": group.all_to_all(slices).tolist() if patched else None,
        "daemon": multiprocessing.current_process().daemon,
    }


def main(model: str, ranks: str) -> None:
    """Make the engine, generate, ask, report."""
    from vllm import LLM, SamplingParams

    llm = LLM(
        model,
        tensor_parallel_size=int(ranks),
        distributed_executor_backend="mp",
        **ENGINE,
    )
    sampling = SamplingParams(temperature=0, max_tokens=8)
    output = llm.generate([PROMPT], sampling, use_tqdm=False)[0]
    workers = llm.collective_rpc(ask_worker)
    core = workers[0]["parent"]
    report = {
        "tokens": list(output.outputs[0].token_ids),
        "main": os.getpid(),
        "sequences": llm.llm_engine.vllm_config.scheduler_config.max_num_seqs,
        "core": core,
        "cpus": sorted(os.sched_getaffinity(core)),
        "workers": workers,
    }
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
