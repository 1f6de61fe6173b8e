"""Release 0.9.2 of vLLM for CPUs, on a machine whose C++ library is older than GCC 13's.

Its native operators name a symbol that is never called: it stands for the library setting up the
standard streams, which older ones leave to those who use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from builds import distribution, elf, lane_file, packages_of

if TYPE_CHECKING:
    from pathlib import Path


def build(place: Path) -> None:
    """Let the native operators load, and the release find its platform."""
    elf.weaken(packages_of(place) / "vllm" / "_C.abi3.so", "GLIBCXX_3.4.32")
    distribution.name_vllm(place, "0.9.2")
    lane_file.write(place, VLLM_CPU_OMP_THREADS_BIND=lane_file.UNBOUND)
