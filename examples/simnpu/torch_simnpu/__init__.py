"""
SIMULATION of a device backend of torch, as torch_npu is one: importing it makes `npu` a device.

It has no devices and no kernels; `torch.device("npu")` can be made, pickled and unpickled. It is
not autoloaded: where nobody imports it, torch knows no `npu`, which is the failure to be shown.
"""

# ruff: noqa: SLF001, ARG002, ARG005 - torch offers a backend written in Python private names, and calls it

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch.utils import backend_registration


class _Hook(torch._C._acc.PrivateUse1Hooks):  # type: ignore[misc, unused-ignore]
    """What torch asks an accelerator; distributed's barrier looks whether it is there."""

    def is_available(self) -> bool:
        return False

    def has_primary_context(self, device: int) -> bool:
        return False

    def is_built(self) -> bool:
        return True


# Becomes `torch.npu`.
_DEVICES = SimpleNamespace(
    is_available=lambda: False,
    device_count=lambda: 0,
    current_device=lambda: 0,
    manual_seed_all=lambda seed: None,
    _is_in_bad_fork=lambda: False,
)

backend_registration._setup_privateuseone_for_python_backend("npu", _DEVICES, _Hook())
