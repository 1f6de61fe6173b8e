"""Makes a runtime environment for Ray that arms every worker process of a job.

Ray has one setup hook for worker processes, and reads it from the job's environment only, not from
an actor's. So pass the environment to `ray.init`, or to the submission of a job. A hook that is
there already runs too, after patchkit's.

The hook is always given as a text, `patchkit.ray.set_up`, and the user's own hook travels in a
variable. An actor's process, such as vLLM's engine core, may pass its own environment to `ray.init`
again, and Ray then refuses a hook that differs from the job's. A hook that is given as a function
does differ: Ray writes it as a key the first time, and as the function's name the second.
"""

import base64
import importlib
import os
import pickle
from collections.abc import Mapping
from typing import Any

from patchkit.errors import PatchkitError
from patchkit.runtime.process.roles import PARENT_VARIABLE, this_process
from patchkit.runtime.reach.arming import arm
from patchkit.settings import VARIABLES

NEXT_VARIABLE = "PATCHKIT_SETUP_HOOK"
"""Names the setup hook that was there before patchkit's, or holds it, pickled."""

_PICKLER = "ray.cloudpickle"
"""What Ray pickles its own hook with; without Ray, functions of modules can do with Python's."""
_PICKLED = "pickled:"
_MOST = 100_000
"""The most characters that a pickled hook may have; Linux passes variables of up to 128 KiB."""

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
        PARENT_VARIABLE: this_process(),  # to the worker itself, its parent is the raylet
        **variables,
    }
    if hook not in (None, _OWN_HOOK):  # `base` may come from an earlier call of this
        variables[NEXT_VARIABLE] = _written(hook)
    environment["env_vars"] = variables
    environment[_SETUP_HOOK] = _OWN_HOOK
    return environment


def set_up() -> None:
    """Arm this worker process, then run the user's own setup hook, even if arming fails."""
    try:
        arm(by="Ray's setup hook")
    finally:
        _run_next()  # if this and `arm` both raise, the traceback shows both


def _written(hook: object) -> str:
    """Write a user's setup hook for `NEXT_VARIABLE`: a name as it is, a function pickled.

    Raises:
        RuntimeEnvError: It is neither a function nor a name, or too large.
    """
    if callable(hook):
        return _pickled(hook)
    parts = hook.split(".") if isinstance(hook, str) else []
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        expected = "expected a function or 'module.attribute'"
        raise RuntimeEnvError(f"{_SETUP_HOOK}: found {hook!r}, {expected}")
    return ".".join(parts)  # the hook as it was given, known to be a text


def _pickled(hook: object) -> str:
    """Write a function for `NEXT_VARIABLE`: pickled as Ray would do it, in base64.

    Raises:
        RuntimeEnvError: The text is too long for an environment variable.
    """
    try:
        pickler = importlib.import_module(_PICKLER)
    except ImportError:
        pickler = pickle
    text = _PICKLED + base64.b64encode(pickler.dumps(hook)).decode()
    if len(text) > _MOST:
        raise RuntimeEnvError(
            f"{_SETUP_HOOK}: found {hook!r}, which takes {len(text)} characters when pickled, "
            f"expected at most {_MOST}; put it into a module, and pass 'module.attribute'"
        )
    return text


def _run_next() -> None:
    """Run the setup hook that the environment names or holds, if there is one."""
    written = os.environ.get(NEXT_VARIABLE, "")
    if written.startswith(_PICKLED):
        hook = pickle.loads(base64.b64decode(written.removeprefix(_PICKLED)))  # noqa: S301 - ours
        hook()
    elif written:
        module, _, attribute = written.rpartition(".")
        hook = getattr(importlib.import_module(module), attribute)
        hook()
