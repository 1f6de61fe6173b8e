"""
Upstream: `ActorClass._remote` is where every way to create an actor ends (Ray 2.35 to 2.60). An
actor's own `runtime_env` may hold environment variables, which its process has from the start;
its `worker_process_setup_hook` is silently ignored.
"""

from __future__ import annotations

import os
from typing import Any

from ray.runtime_env import RuntimeEnv

from patchkit.environment import VARIABLES
from patchkit.roles import ROLE_VARIABLE, role_of_actor


def with_settings(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Tell vLLM's actors patchkit's settings and their role; leave every other actor alone."""
    role = role_of_actor(instance.__ray_metadata__.modified_class)
    if role is None:
        return wrapped(*args, **kwargs)
    given = kwargs.get("runtime_env") or {}
    settings = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    env_vars = {**settings, **(given.get("env_vars") or {}), ROLE_VARIABLE: str(role)}
    runtime_env = RuntimeEnv(**{**given, "env_vars": env_vars})
    return wrapped(*args, **{**kwargs, "runtime_env": runtime_env})
