"""For Ray: a runtime environment that arms every worker process of a job.

Ray has one setup hook for worker processes, and reads it from the job's environment only, not from
an actor's. So pass the environment to `ray.init`, or to the submission of a job. A hook that is
there already runs too, after patchkit's.
"""

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from patchkit.errors import PatchkitError
from patchkit.runtime.process.roles import PARENT_VARIABLE, this_process
from patchkit.runtime.reach.arming import arm
from patchkit.settings import VARIABLES

Hook = Callable[[], object]

NEXT_VARIABLE = "PATCHKIT_SETUP_HOOK"
"""Names the setup hook that was there before patchkit's."""

_SLOT = "worker_process_setup_hook"
_OURS = "patchkit.ray.set_up"


class RuntimeEnvError(PatchkitError):
    """A runtime environment is not valid for Ray."""


def runtime_env(base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Make a runtime environment that arms every worker process, with this process's settings.

    `ray.init(runtime_env=patchkit.ray.runtime_env())`. Patchkit and the packs must be installed on
    every node. `base` is what else the workers need: its environment variables win over this
    process's settings; its setup hook, a function or `"module.attribute"`, runs after patchkit's.
    Raises RuntimeEnvError where the hook or the variables are not valid for Ray.
    """
    given = dict(base or {})
    hook, env_vars = given.get(_SLOT), given.get("env_vars") or {}
    if not isinstance(env_vars, dict):
        raise RuntimeEnvError(f"env_vars: found {env_vars!r}, expected a dict of texts")
    ours = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    env_vars = {"PATCHKIT": "1", **ours, PARENT_VARIABLE: this_process(), **env_vars}
    if isinstance(hook, str) and hook != _OURS:
        if "." not in hook or not all(part.isidentifier() for part in hook.split(".")):
            raise RuntimeEnvError(f"{_SLOT}: found {hook!r}, expected 'module.attribute'")
        env_vars[NEXT_VARIABLE] = hook
    return {**given, "env_vars": env_vars, _SLOT: _composed(hook)}


def set_up() -> None:
    """Arm this worker process, then run the former setup hook, also where arming fails."""
    _arm_and(_named_hook)


def _composed(hook: object) -> object:
    if hook is None or isinstance(hook, str):
        return _OURS
    if getattr(hook, "_is_patchkits", False):
        return hook
    if not callable(hook):
        raise RuntimeEnvError(f"{_SLOT}: found {hook!r}, expected a function or 'module.attribute'")

    def set_up_both() -> None:
        _arm_and(hook)

    set_up_both._is_patchkits = True  # type: ignore[attr-defined]  # noqa: SLF001 - our own
    return set_up_both


def _arm_and(hook: Hook) -> None:
    try:
        arm()
    finally:
        hook()  # if both raise, the traceback shows both


def _named_hook() -> None:
    if name := os.environ.get(NEXT_VARIABLE):
        module, _, attribute = name.rpartition(".")
        getattr(importlib.import_module(module), attribute)()
