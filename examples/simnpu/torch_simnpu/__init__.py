"""SIMULATION of a device backend of torch, as torch_npu is one: importing it makes `npu` a device.

It has no devices and no kernels; `torch.device("npu")` can be made, pickled and unpickled. It is
not autoloaded: where nobody imports it, torch knows no `npu`, which is the failure to be shown.
"""

# ruff: noqa: SLF001, ARG002, ARG005 - torch offers a backend written in Python private names, and calls it

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch.utils import backend_registration

# Becomes `torch.npu`.
_DEVICES = SimpleNamespace(
    is_available=lambda: False,
    device_count=lambda: 0,
    current_device=lambda: 0,
    manual_seed_all=lambda seed: None,
    _is_in_bad_fork=lambda: False,
)


def _make_known() -> None:
    """Let torch know the device: what it offers a backend written in Python since 2.10."""

    class Hook(torch._C._acc.PrivateUse1Hooks):  # type: ignore[misc, unused-ignore]
        """What torch asks an accelerator; distributed's barrier looks whether it is there."""

        def is_available(self) -> bool:
            return False

        def has_primary_context(self, device: int) -> bool:
            return False

        def is_built(self) -> bool:
            return True

    backend_registration._setup_privateuseone_for_python_backend(
        "npu", _DEVICES, Hook()
    )


def _make_known_by_name() -> None:
    """Before 2.10, the hook takes C++; without it, whoever asks for the accelerator dies."""
    torch.utils.rename_privateuse1_backend("npu")
    torch._register_device_module("npu", _DEVICES)
    if hasattr(torch._C, "_get_accelerator"):
        torch._C._get_accelerator = lambda *_: torch.device("cpu")


if hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
    _make_known()
else:
    _make_known_by_name()
