"""A driver of Ray's that arms its workers by `patchkit.ray.runtime_env()`; prints one JSON object.

Argument: `none`, `name` or `function`: the setup hook that is there before patchkit's; or `job`,
where the environment came with the job's submission and the driver knows nothing of it. With
`within`, the actor starts a process that joins the cluster anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import ray

import patchkit.auto
import patchkit.ray

HOOK = "worker_process_setup_hook"


def begin() -> None:
    """The other hook; says whether patchkit was there before it."""
    from patchkit.runtime.reach.arming import current

    os.environ["HOOK_SAW"] = str(current() is not None)


def seen() -> dict[str, object]:
    """Where this runs, and what is there."""
    from patchkit.runtime.reach.arming import current

    session = current()
    roles = None if session is None else sorted(map(str, session.roles))
    return {"pid": os.getpid(), "roles": roles, "hook": os.environ.get("HOOK_SAW")}


class Actor:
    """None of vLLM's."""

    def seen(self) -> dict[str, object]:
        return seen()

    def from_within(self, script: str) -> dict[str, object]:
        """What an actor sees that a process of this actor's asks for, as vLLM's engine core does.

        vLLM reads the actor's environment in `EngineArgs.create_engine_config`, and gives it to
        `ray.init` in the engine core, and to each worker.
        """
        context = ray.get_runtime_context()
        environment = json.dumps(dict(context.runtime_env))
        command = [sys.executable, script, "again", context.gcs_address, environment]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return found


def join_again(address: str, environment: dict[str, Any]) -> None:
    """Join the cluster as another driver with the environment of an actor, and run an actor."""
    ray.init(address=address, log_to_driver=False, runtime_env=environment)
    inner = ray.remote(num_cpus=0)(Actor).options(runtime_env=environment).remote()
    print(json.dumps(ray.get(inner.seen.remote(), timeout=600)), flush=True)


def runtime_env(hook: str) -> dict[str, object] | None:
    """What the driver asks of Ray."""
    if hook == "job":
        return None
    hooks: dict[str, dict[str, object]] = {
        "none": {},
        "name": {HOOK: "hooks.begin"},
        "function": {HOOK: begin},
    }
    env_vars = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    return patchkit.ray.runtime_env({**hooks[hook], "env_vars": env_vars})


def main() -> None:
    """Run a task and an actor, and say what they saw."""
    if sys.argv[1] == "again":
        join_again(sys.argv[2], json.loads(sys.argv[3]))
        return
    ray.init(log_to_driver=False, runtime_env=runtime_env(sys.argv[1]))
    task = ray.get(ray.remote(num_cpus=0)(seen).remote(), timeout=600)
    actor = ray.remote(num_cpus=0)(Actor).remote()
    found = {"task": task, "actor": ray.get(actor.seen.remote(), timeout=600)}
    if "within" in sys.argv:
        found["within"] = ray.get(actor.from_within.remote(__file__), timeout=600)
    print(json.dumps({"driver": os.getpid(), **found}), flush=True)


if __name__ == "__main__":
    main()
