"""Which role a process has when patchkit arrives in it, and where it belongs: who asked for it.

How processes are known is in `patchkit.core.rows.processes`.
"""

import functools
import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any

from patchkit.core.rows.declaration import Role
from patchkit.core.rows.processes import LIBRARIES, ProcessTable
from patchkit.errors import SettingsError

_HELPERS = ("vllm.model_executor.models.registry",)
"""
Modules that vLLM runs with `python -m` only to unpickle a function there and to call it. That
function, and all that it uses, comes from the module under its own name.
"""

ROLE_VARIABLE = "PATCHKIT_ROLE"
"""Tells a Ray worker process its role before it has loaded anything; consumed on arrival."""

PARENT_VARIABLE = "PATCHKIT_PARENT"
"""Tells a Ray worker process who asked for it, `host:pid`; its parent is the raylet."""

TESTS_VARIABLE = "PATCHKIT_TESTS"
"""Set while pytest runs with patchkit's plugin: tests say which patches apply."""

# How processes are started that are part of the one that starts them, beside spawned children.
_PARTS = ("multiprocessing.forkserver", *_HELPERS)
_TRACKER = "from multiprocessing.resource_tracker import main;"


def is_ray_worker() -> bool:
    """Whether Ray's raylet started this process."""
    # `sys.argv` is not there yet while `site` runs.
    return any(word.endswith("default_worker.py") for word in sys.orig_argv)


def is_spawned_child() -> bool:
    """Whether `multiprocessing` started this process with a new interpreter."""
    return "--multiprocessing-fork" in sys.orig_argv


def _is_told_by_parent() -> bool:
    """Whether a parent may tell the role; what other libraries start with this flag has nobody."""
    texts = [word for word in sys.orig_argv if " import spawn_main" in word]
    known = any(f"from {library}.spawn import" in text for library in LIBRARIES for text in texts)
    return is_spawned_child() and (known or not texts)


def role_of_actor(cls: type) -> Role | None:
    """Tell the role of a Ray actor by its class; None for one that is known for none."""
    row = _known_processes().of_actor(cls)
    return row.role if row else None


@functools.cache
def _known_processes() -> ProcessTable:
    from patchkit.registry import installed_processes  # noqa: PLC0415 - most processes make none

    return ProcessTable(installed_processes())


def running_here() -> list[Any]:
    """List what this process is to the libraries that start child processes."""
    started = [sys.modules.get(f"{library}.process") for library in LIBRARIES]
    return [module.current_process() for module in started if module is not None]


def initial_roles(environ: MutableMapping[str, str], table: ProcessTable) -> frozenset[Role]:
    """Tell the roles that a process has when patchkit arrives in it.

    None where that is yet to come: a Ray worker process learns it from its actor's class, unless
    whoever asked for the actor told, and a spawned child from its parent, or when it begins. Takes
    `PATCHKIT_ROLE` out of environ where it is meant for this process.
    """
    if is_ray_worker():
        told = environ.pop(ROLE_VARIABLE, "")
        if told and told not in map(str, Role):
            roles = ", ".join(repr(str(known)) for known in Role)
            raise SettingsError(f"{ROLE_VARIABLE}: found {told!r}, expected one of {roles}")
        return frozenset({Role(told)} if told else ())
    processes = running_here()
    rows = (*map(table.of_process, processes), table.of_command(sys.orig_argv))
    role = next((row.role for row in rows if row is not None), None)
    has_begun = any(type(process).__name__ != "_MainProcess" for process in processes)
    if role is None and _is_told_by_parent() and not has_begun:
        return frozenset()
    return frozenset({role or Role.MAIN})


def run_beside_its_name() -> str | None:
    """Name the module that was run as `__main__` by other code than patchkit's, or None."""
    module = sys.modules.get("__main__")
    spec = getattr(module, "__spec__", None)
    is_main = getattr(module, "__name__", "") == "__main__"
    name = getattr(spec, "name", None) if is_main else None
    return None if name in _HELPERS else name


def tests_decide(environ: Mapping[str, str]) -> bool:
    """Whether tests say which patches apply here, and nothing arms the process that nobody asks to.

    So it is in the process that runs them, in its forks, and in children that carry on its work:
    those of multiprocessing and Ray. A program that a test starts is on its own, and `PATCHKIT=1`
    asks to be armed.
    """
    if TESTS_VARIABLE not in environ or environ.get("PATCHKIT", "").strip() == "1":
        return False
    return (
        "patchkit.pytest_plugin" in sys.modules
        or is_spawned_child()
        or is_ray_worker()
        or any(part in word for word in sys.orig_argv for part in _PARTS)
    )


def is_resource_tracker() -> bool:
    """Whether this process is what `multiprocessing` tidies up with; it runs no code of others."""
    return any(word.startswith(_TRACKER) for word in sys.orig_argv)


def this_process() -> str:
    """Name this process as `PATCHKIT_PARENT` does."""
    return f"{os.uname().nodename}:{os.getpid()}"


def asked_by(environ: Mapping[str, str]) -> str | None:
    """Name the process that asked for this one; None where Ray did not start it."""
    # The children of a Ray worker inherit the variable, and have an ordinary parent.
    return environ.get(PARENT_VARIABLE) if is_ray_worker() else None


def rank_given(call: Any, instance: Any, args: Any, kwargs: Any) -> int | None:
    """Find a worker's rank among the arguments of its constructor, or those of `init_worker`."""
    import inspect  # noqa: PLC0415 - 10 ms of a start, and vLLM imports it anyway

    try:
        given = inspect.signature(call).bind_partial(*args, **kwargs).arguments
        if "all_kwargs" in given:
            given = given["all_kwargs"][instance.rpc_rank]
        rank = given.get("rank", given.get("global_rank"))  # the latter of a weight-cache daemon
    except (TypeError, ValueError, LookupError, AttributeError):
        return None  # another release's signature: the call itself will say what is wrong
    return rank if isinstance(rank, int) else None
