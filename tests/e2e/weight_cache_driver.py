"""Starts a daemon of vLLM's weight cache as `vllm preload` does; prints how it ended, as JSON.

`vllm preload` itself refuses a CPU. The daemon fails where it asks for its device.
"""

from __future__ import annotations

import json
import multiprocessing
import sys

from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.model_loader.weight_cache.daemon import (  # type: ignore[import-not-found, unused-ignore]
    _run_daemon,
)
from vllm.utils.network_utils import get_distributed_init_method, get_open_port


def main() -> None:
    """Start it with its arguments by position, under its name."""
    args = EngineArgs(
        model=sys.argv[1], enforce_eager=True, max_model_len=128, dtype="float32"
    )
    config = args.create_engine_config()
    context = multiprocessing.get_context("spawn")
    meeting = get_distributed_init_method("127.0.0.1", get_open_port())
    queue = context.Queue()
    given = (0, 0, config, meeting, None, queue)
    daemon = context.Process(
        target=_run_daemon, args=given, name="vllm-weight-cache-target-0"
    )
    daemon.start()
    daemon.join()
    print(json.dumps({"driver": daemon.exitcode, "pid": daemon.pid}), flush=True)


if __name__ == "__main__":
    main()
