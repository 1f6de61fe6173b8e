"""Where a process belongs: who asked for it, a test perhaps, and which rank of its engine it is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from patchkit.process.roles import is_ray_worker, is_spawned_child

if TYPE_CHECKING:
    from collections.abc import Mapping

PARENT_VARIABLE = "PATCHKIT_PARENT"
"""Tells a Ray worker process who asked for it, `host:pid`; its parent is the raylet."""

TESTS_VARIABLE = "PATCHKIT_TESTS"
"""Set while pytest runs with patchkit's plugin: tests say which patches apply."""

# How processes are started that are part of the one that starts them, beside spawned children.
_PARTS = ("multiprocessing.forkserver", "vllm.model_executor.models.registry")
_TRACKER = "from multiprocessing.resource_tracker import main;"


def tests_decide(environ: Mapping[str, str]) -> bool:
    """
    Whether tests say which patches apply here, and nothing arms the process that nobody asks to.

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
    """
    Find the rank of a worker among the arguments of a call that begins or initialises it.

    Args:
        call: a constructor with `rank`, or `init_worker`, which is given what every rank gets.
        instance: what it is bound to.
        args: the arguments.
        kwargs: the same.

    """
    import inspect  # noqa: PLC0415 - 10 ms of a start, and vLLM imports it anyway

    try:
        given = inspect.signature(call).bind_partial(*args, **kwargs).arguments
        if "all_kwargs" in given:
            given = given["all_kwargs"][instance.rpc_rank]
        rank = given.get("rank")
    except (TypeError, ValueError, LookupError, AttributeError):
        return None  # another release's signature: the call itself will say what is wrong
    return rank if isinstance(rank, int) else None
