"""vLLM's nightly build for CPUs, which finds no platform under its own distribution's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builds import distribution

if TYPE_CHECKING:
    from pathlib import Path

RELEASE = "0.29.1.dev202609171111"


def build(place: Path) -> None:
    """Let `vllm` be asked for: the code knows no other name."""
    distribution.name_vllm(place, RELEASE)
