"""
Upstream: Ray unpickles the actor's class, by reference, and then its arguments.

The actor of the first Ray executor, vLLM 0.5 to 0.11.0. A subclass that lives here makes the
worker process import this module first, and with it patchkit and the device backend.
"""

from patchkit.runtime.reach.device_backend import import_backend, is_installed

import_backend()

from vllm.executor.ray_utils import RayWorkerWrapper  # noqa: E402 - after the backend

__all__ = ["NPURayWorkerWrapper", "is_installed"]


class NPURayWorkerWrapper(RayWorkerWrapper):  # type: ignore[misc, unused-ignore]
    """`RayWorkerWrapper` in a process that knows the device backend."""
