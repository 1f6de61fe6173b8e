"""
Upstream: `ActorClass._remote` is where every way to create an actor ends (Ray 2.35 to 2.60). Ray
pickles a subclass of the actor's class by value, attributes and all, and a worker process unpickles
it before the actor's arguments. An actor's own `runtime_env` may hold environment variables, which
its process has from the start; its `worker_process_setup_hook` is silently ignored.
"""

from __future__ import annotations

import os
from typing import Any

from ray.runtime_env import RuntimeEnv

from patchkit.runtime.process.roles import (
    PARENT_VARIABLE,
    ROLE_VARIABLE,
    role_of_actor,
    this_process,
)
from patchkit.runtime.reach.arming import current
from patchkit.runtime.reach.carrier import ActorCarrier
from patchkit.settings import VARIABLES


def with_patchkit(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Create one of vLLM's actors with patchkit, its settings and the role; others as they are.

    The class brings patchkit into the actor's process, and environment variables bring the rest.
    """
    # The subclass that Ray has derived from the class that vLLM made an actor of.
    cls = instance.__ray_metadata__.modified_class
    role = role_of_actor(cls)
    if role is None:
        return wrapped(*args, **kwargs)
    # The pickle of the class now begins with the carrier, which arms the process that unpickles it.
    ActorCarrier(role).put_before(cls)
    given = kwargs.get("runtime_env") or {}  # what vLLM or its caller asks for
    settings = {name: os.environ[name] for name in _variables() if name in os.environ}
    asked = {ROLE_VARIABLE: str(role), PARENT_VARIABLE: this_process()}
    # The caller's variables win over this process's settings, as in `patchkit.ray.runtime_env`.
    env_vars = {**settings, **(given.get("env_vars") or {}), **asked}
    runtime_env = RuntimeEnv(**{**given, "env_vars": env_vars})
    return wrapped(*args, **{**kwargs, "runtime_env": runtime_env})


def _variables() -> set[str]:
    """Name the variables that decide which patches apply: patchkit's own, and that of each row.

    A row's `env` is `NAME` or `NAME=value`.
    """
    session = current()
    rows = [state.row.patch for state in session.states.values()] if session else []
    return {*VARIABLES, *(row.env.partition("=")[0] for row in rows if row.env)}
