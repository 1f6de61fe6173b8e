"""
SIMULATION of a device backend of torch, as torch_npu is one: importing it makes `npu` a device.

It has no devices and no kernels; `torch.device("npu")` can be made, pickled and unpickled. It is
not autoloaded: where nobody imports it, torch knows no `npu`, which is the failure to be shown.
"""

from __future__ import annotations

import types

import torch
from torch.utils import backend_registration


class _Hook(torch._C._acc.PrivateUse1Hooks):
    """What torch asks an accelerator; distributed's barrier looks whether it is there."""

    def is_available(self) -> bool:
        return False

    def has_primary_context(self, dev_id: int) -> bool:
        return False

    def is_built(self) -> bool:
        return True


def _device_module() -> types.ModuleType:
    """What becomes `torch.npu`."""
    module = types.ModuleType("torch_simnpu.npu")
    module.is_available = lambda: False  # type: ignore[attr-defined]
    module.device_count = lambda: 0  # type: ignore[attr-defined]
    module.current_device = lambda: 0  # type: ignore[attr-defined]
    module._is_in_bad_fork = lambda: False  # type: ignore[attr-defined]
    module.manual_seed_all = lambda seed: None  # type: ignore[attr-defined]
    return module


backend_registration._setup_privateuseone_for_python_backend("npu", _device_module(), _Hook())
