"""Release 0.11.2 of vLLM for CPUs, on a machine whose C++ library is older than GCC 14's.

Its native operators ask for a function that ends the process when an exception leaves a function
that must not raise. The release's successor, 0.11.2.post2, needs a newer C library instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from builds import distribution, elf, packages_of

if TYPE_CHECKING:
    from pathlib import Path


def build(place: Path) -> None:
    """Let the native operators load, and the release find its platform."""
    elf.weaken(packages_of(place) / "vllm" / "_C.abi3.so", "CXXABI_1.3.15")
    distribution.name_vllm(place, "0.11.2")
