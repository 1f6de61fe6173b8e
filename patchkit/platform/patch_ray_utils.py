"""
Upstream: Ray unpickles the actor's class, by reference, and then its arguments.

The actor of Ray executor V1, vLLM 0.6.6 and 0.11.1 to 0.32. A subclass that lives here makes the
worker process import this module first, and with it patchkit and the device backend.
"""

from patchkit.runtime.reach.device_backend import import_backend, is_installed

import_backend()

from vllm.v1.executor.ray_utils import RayWorkerWrapper  # noqa: E402 - after the backend

__all__ = ["NPURayWorkerWrapper", "is_installed"]


class NPURayWorkerWrapper(RayWorkerWrapper):  # type: ignore[misc, unused-ignore]
    """`RayWorkerWrapper` in a process that knows the device backend."""
