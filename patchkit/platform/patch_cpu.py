"""
Upstream: a platform without `ray_device_key` is refused by both Ray executors (vLLM 0.24 to 0.33).

The key names what a worker's bundle of the placement group holds: every node has a 'CPU'. The
worker itself asks Ray for nothing, and sits in its bundle all the same. Ray has ids for
accelerators only; the worker's rank is a number that no other worker of its engine has, and vLLM's
CPU worker never looks at it. (Until 0.23 the executors wrote these ids into
`CPU_VISIBLE_MEMORY_NODES`, which does decide where a worker's memory is.) A placement group may
hold more CPUs than there are workers: one for an engine core that is an actor, or a caller's own.
Ranks share memory for their collectives where they agree on its name, which is made of a port: with
the host's name to it, ranks on two nodes do not agree.

Which platform there is, `vllm.platforms` decides after it has imported the one for CPUs, at times
for another that derives from it: only vLLM's own answers with the key.
"""

from __future__ import annotations

import sys

from vllm.platforms.cpu import CpuPlatform

CPU = "CPU"


class _DeviceKey:
    """The key of vLLM's own platform; one that derives from it has what it had without."""

    def __get__(self, _instance: object, owner: type) -> str:
        if owner is CpuPlatform:
            return CPU
        return str(super(CpuPlatform, owner).ray_device_key)  # type: ignore[misc]


RAY_DEVICE_KEY = _DeviceKey()


def is_stock_cpu() -> bool | str:
    """Answer the row's `when`: True, or which other platform this is."""
    known = vars(CpuPlatform).get("ray_device_key", RAY_DEVICE_KEY)
    if known not in (RAY_DEVICE_KEY, CPU):
        return f"vLLM's CPU platform has a Ray device key here: {known!r}"
    # Asking for `current_platform` would choose one; while that happens this module is imported.
    chosen = type(getattr(sys.modules["vllm.platforms"], "_current_platform", None))
    if chosen in (CpuPlatform, type(None)):
        return True
    return f"the platform is {chosen.__module__}.{chosen.__qualname__}, not vLLM's own for CPUs"
