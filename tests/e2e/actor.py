"""Make a Ray actor of a real vLLM class and hand it `torch.device("npu")`; print one JSON object.

Arguments: the class as `module:name`, where the device goes in (`creation` or `method`), the
module of the device backend. With `--patchkit` the driver begins with `import patchkit.auto`; it is
the only difference.
"""

from __future__ import annotations

import sys

if "--patchkit" in sys.argv:
    import patchkit.auto  # noqa: F401

import importlib
import inspect
import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET, PLACE, BACKEND = sys.argv[1:4]


def seen(actor: object, device: object) -> dict[str, object]:
    """Run in the actor: where it is, what it is, and the device that arrived."""
    import torch

    assert isinstance(device, torch.device)
    known_as = f"{type(actor).__module__}:{type(actor).__qualname__}"
    return {"pid": os.getpid(), "device": str(device), "class": known_as}


def creation_arguments(cls: type, config: object) -> dict[str, object]:
    """What the executor of that release passes on creation, with nothing behind it."""
    taken = inspect.signature(inspect.unwrap(base_init(cls))).parameters
    every = {
        "vllm_config": config,
        "rank": 0,
        "rpc_rank": 0,
        "input_shm_handle": None,
        "is_driver_worker": True,
    }
    return {name: value for name, value in every.items() if name in taken}


def base_init(cls: type) -> Callable[..., object]:
    """The first `__init__` that names its parameters."""
    for one in cls.__mro__:
        init: Callable[..., object] | None = one.__dict__.get("__init__")
        if init is not None and "kwargs" not in inspect.signature(init).parameters:
            return init
    raise TypeError(f"{cls} takes nothing by name")


def main() -> None:
    """Create, call, report."""
    module, _, name = TARGET.partition(":")
    cls = getattr(importlib.import_module(module), name)
    # The driver is where the configuration is made: there the backend has been imported.
    importlib.import_module(BACKEND)
    import ray
    import torch

    device = torch.device("npu")
    config = SimpleNamespace(device=device, parallel_config=None)
    # Read and called by the constructors of some releases.
    config.model_config = SimpleNamespace(trust_remote_code=False)
    config.enable_trace_function_call_for_thread = lambda: None
    ray.init(log_to_driver=False)
    options = {"num_cpus": 0, "resources": {"NPU": 1}}
    actor = ray.remote(cls).options(**options).remote(**creation_arguments(cls, config))
    if PLACE == "method" and hasattr(cls, "adjust_rank"):
        # A real method with real dispatch; no rank is mapped, so that nothing changes. A release
        # without it gets the device with the next call.
        ray.get(actor.execute_method.remote("adjust_rank", {device: 0}), timeout=600)
    print(
        json.dumps(ray.get(actor.__ray_call__.remote(seen, device), timeout=600)),
        flush=True,
    )


if __name__ == "__main__":
    main()
