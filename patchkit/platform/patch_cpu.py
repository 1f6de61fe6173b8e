"""
Upstream: a platform without `ray_device_key` is refused by both Ray executors (vLLM 0.24 to 0.33).

The key names the resource in a worker's bundle of the placement group: 'CPU', which every node has.
The worker itself then asks Ray for no resource, and is placed in its bundle all the same.

Ray has ids for accelerators only. In their place stands the worker's rank, which no other worker of
its engine has; vLLM's CPU worker does not read it. (Until 0.23 the executors wrote these ids into
`CPU_VISIBLE_MEMORY_NODES`, which does decide where a worker's memory is.)

A placement group may have more CPUs than there are workers: one for an engine core that is an
actor, or those of a caller. And ranks share memory for their collectives if they agree on its name,
which is made of a port: with the host's name in it, ranks on two nodes do not agree.

`vllm.platforms` chooses the platform after it has imported the one for CPUs, and may choose another
that derives from it. So only vLLM's own class has the key.
"""

from __future__ import annotations

import sys

from vllm.platforms.cpu import CpuPlatform

CPU = "CPU"


class _DeviceKey:
    """A class attribute: 'CPU' for `CpuPlatform` itself, and for a subclass the unpatched key."""

    def __get__(self, _instance: object, owner: type) -> str:
        if owner is CpuPlatform:
            return CPU
        # What the subclass would inherit if `CpuPlatform` had no key of its own.
        return str(super(CpuPlatform, owner).ray_device_key)  # type: ignore[misc]


RAY_DEVICE_KEY = _DeviceKey()


def is_stock_cpu() -> bool | str:
    """Answer the row's `when`: True, or the reason why this platform is to stay as it is."""
    # No key: the row is needed. Our key: the row was applied before. "CPU": a later vLLM has the
    # same key itself. Any other key is that of a fork, and is left alone.
    known = vars(CpuPlatform).get("ray_device_key", RAY_DEVICE_KEY)
    if known not in (RAY_DEVICE_KEY, CPU):
        return f"vLLM's CPU platform has a Ray device key here: {known!r}"
    # Not `vllm.platforms.current_platform`: to read that chooses a platform, and this may run while
    # vLLM chooses one. Until that is done, `_current_platform` is None.
    chosen = type(getattr(sys.modules["vllm.platforms"], "_current_platform", None))
    if chosen in (CpuPlatform, type(None)):
        return True
    return f"the platform is {chosen.__module__}.{chosen.__qualname__}, not vLLM's own for CPUs"
