"""
Upstream: Ray unpickles the actor's class, by reference, and then its arguments.

The actor of Ray executor V2, since vLLM 0.20. A subclass that lives here makes the worker process
import this module first, and with it patchkit and the device backend.
"""

from patchkit.runtime.reach.device_backend import import_backend, is_installed

import_backend()

from vllm.v1.executor.ray_executor_v2 import RayWorkerProc  # noqa: E402 - after the backend

__all__ = ["NPURayWorkerProc", "is_installed"]


class NPURayWorkerProc(RayWorkerProc):  # type: ignore[misc, unused-ignore]
    """`RayWorkerProc` in a process that knows the device backend."""
