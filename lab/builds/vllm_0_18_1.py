"""The libraries that vLLM 0.18.1 for CPUs looks for in LD_PRELOAD, and does not start without.

It looks at names only. Intel's OpenMP is there in earnest; tcmalloc would only make it faster, so
its name is a link to the same library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from builds import BuildError, lane_file

if TYPE_CHECKING:
    from pathlib import Path


def build(place: Path) -> None:
    """Link the name, and have both preloaded.

    Raises:
        BuildError: Intel's OpenMP is not installed.
    """
    openmp = place / "lib" / "libiomp5.so"
    if not openmp.exists():
        raise BuildError(
            f"{openmp}: found nothing, expected the library of intel-openmp"
        )
    stub = place / "lib" / "libtcmalloc_stub.so"
    stub.unlink(missing_ok=True)
    stub.symlink_to(openmp.name)
    lane_file.preload(place, stub, openmp)
