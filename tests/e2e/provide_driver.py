"""A driver of Ray's whose task, actor and data use a module that this Ray lacks; prints JSON."""

from __future__ import annotations

import json
import os

import ray
import uses_backport  # type: ignore[import-not-found]  # the test writes it

import patchkit.ray


def main() -> None:
    """Use it here, in a task and in an actor whose module imports it at the top."""
    env_vars = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(
        log_to_driver=False,
        runtime_env=patchkit.ray.runtime_env({"env_vars": env_vars}),
    )
    counter = uses_backport.Counter()
    task = ray.remote(num_cpus=0)(uses_backport.work)
    actor = ray.remote(num_cpus=0)(uses_backport.Actor).remote()
    seen = {
        "driver": uses_backport.work(counter),
        "task": ray.get(task.remote(counter), timeout=600),
        "actor": ray.get(actor.work.remote(counter), timeout=600),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
