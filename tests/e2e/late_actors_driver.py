"""Runs vLLM's Ray worker class as an actor, lets it die, and starts another; prints their pids.

The actors do not make workers: only the process, its class and its role matter.
"""

from __future__ import annotations

import json
import os
from typing import Any

import ray
from vllm.v1.executor.ray_executor_v2 import RayWorkerProc

import patchkit.auto  # noqa: F401 - it goes with the actors


class Bare(RayWorkerProc):  # type: ignore[misc, unused-ignore]
    """An actor of vLLM's class without a device."""

    def __init__(self) -> None:
        self.seen = RayWorkerProc.run is not None

    def pid(self) -> int:
        """Name the process."""
        return os.getpid()

    def die(self) -> None:
        """End it, as a fault would."""
        os._exit(1)


def main() -> None:
    """One actor before and after its death, and one that comes late."""
    path = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(log_to_driver=False, runtime_env={"env_vars": path})
    # Under the name of vLLM's class, as vLLM itself has it.
    actor_class: Any = ray.remote(num_cpus=0, max_restarts=1, max_task_retries=0)(Bare)
    actor = actor_class.remote()
    pids = [ray.get(actor.pid.remote(), timeout=600)]
    try:
        ray.get(actor.die.remote(), timeout=600)
    except ray.exceptions.RayActorError:
        pids.append(
            ray.get(actor.pid.options(max_task_retries=-1).remote(), timeout=600)
        )
    pids.append(ray.get(actor_class.remote().pid.remote(), timeout=600))
    print(json.dumps({"driver": pids}), flush=True)


if __name__ == "__main__":
    main()
