"""Makes a runtime environment for Ray that arms every worker process of a job.

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

_SETUP_HOOK = "worker_process_setup_hook"
"""Where a runtime environment names its setup hook."""
_OWN_HOOK = "patchkit.ray.set_up"


class RuntimeEnvError(PatchkitError):
    """A runtime environment is not valid for Ray."""


def runtime_env(base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Make a runtime environment that arms every worker process, with this process's settings.

    `ray.init(runtime_env=patchkit.ray.runtime_env())`. Patchkit and the packs must be installed on
    every node.

    Args:
        base: What else the workers need. Its environment variables win over this process's
            settings; its setup hook, a function or `"module.attribute"`, runs after patchkit's.

    Returns:
        The runtime environment.

    Raises:
        RuntimeEnvError: The hook or the variables are not valid for Ray.
    """
    environment = dict(base or {})
    hook = environment.get(_SETUP_HOOK)
    variables = environment.get("env_vars") or {}
    if not isinstance(variables, dict):
        raise RuntimeEnvError(
            f"env_vars: found {variables!r}, expected a dict of strings"
        )
    settings = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    variables = {
        "PATCHKIT": "1",
        **settings,
        PARENT_VARIABLE: this_process(),
        **variables,
    }
    if isinstance(hook, str) and hook != _OWN_HOOK:
        parts = hook.split(".")
        if len(parts) == 1 or not all(part.isidentifier() for part in parts):
            raise RuntimeEnvError(
                f"{_SETUP_HOOK}: found {hook!r}, expected 'module.attribute'"
            )
        variables[NEXT_VARIABLE] = hook
    environment["env_vars"] = variables
    environment[_SETUP_HOOK] = _hook_before(hook)
    return environment


def set_up() -> None:
    """Arm this worker process, then run the former setup hook, also where arming fails."""
    _arm_and(_named_hook)


def _hook_before(hook: object) -> object:
    """Return the setup hook that arms the process and then runs another one.

    A hook that is named is run by `set_up`, which reads its name from `NEXT_VARIABLE`.

    Raises:
        RuntimeEnvError: The other one is neither a function nor a name.
    """
    if hook is None or isinstance(hook, str):
        return _OWN_HOOK
    if getattr(hook, "_arms_patchkit", False):
        return hook
    if not callable(hook):
        expected = "expected a function or 'module.attribute'"
        raise RuntimeEnvError(f"{_SETUP_HOOK}: found {hook!r}, {expected}")

    def set_up_both() -> None:
        _arm_and(hook)

    set_up_both._arms_patchkit = True  # type: ignore[attr-defined]  # noqa: SLF001 - our own
    return set_up_both


def _arm_and(hook: Hook) -> None:
    try:
        arm(by="Ray's setup hook")
    finally:
        hook()  # if both raise, the traceback shows both


def _named_hook() -> None:
    """Run the setup hook that the environment names, if it names one."""
    name = os.environ.get(NEXT_VARIABLE)
    if name:
        module, _, attribute = name.rpartition(".")
        hook = getattr(importlib.import_module(module), attribute)
        hook()
