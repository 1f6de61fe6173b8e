"""A driver of Ray's that arms its workers by `patchkit.ray.runtime_env()`; prints one JSON object.

Argument: `none`, `name` or `function`: the setup hook that is there before patchkit's; or `job`,
where the environment came with the job's submission and the driver knows nothing of it.
"""

from __future__ import annotations

import json
import os
import sys

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
    ray.init(log_to_driver=False, runtime_env=runtime_env(sys.argv[1]))
    task = ray.get(ray.remote(num_cpus=0)(seen).remote(), timeout=200)
    actor = ray.remote(num_cpus=0)(Actor).remote()
    found = {"task": task, "actor": ray.get(actor.seen.remote(), timeout=200)}
    print(json.dumps({"driver": os.getpid(), **found}), flush=True)


if __name__ == "__main__":
    main()
