"""STAND-INS: empty modules for packages that SGLang imports, and that are made for GPUs only.

A `.pth` file imports this module at every start of Python. It puts a finder at the end of
`sys.meta_path`, so that a real package of the same name is found first.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = frozenset(
    {
        "cutlass",
        "deep_ep",
        "deep_gemm",
        "flash_attn",
        "flashinfer",
        "humming",
        "nvshmem",
        "quack",
        "sgl_kernel",
        "tilelang",
        "torchaudio",
        "torchvision",
    }
)
VERSIONS = {"torchvision": "0.28.0"}
"""Versions of distributions for which transformers asks."""


class _EmptyClass(type):
    """A class whose attributes are their own names, as transformers reads some as texts."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class _EmptyModule(ModuleType):
    """A module whose attributes are empty classes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _EmptyClass(name, (), {"__module__": self.__name__})


class _StandInDistribution(Distribution):
    """A distribution that has a name and a version, and no files."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """Return the metadata; None for any other file."""
        if filename != "METADATA":
            return None
        return f"Name: {self._name}\nVersion: {VERSIONS[self._name]}\n"

    def locate_file(self, path: Any) -> Any:
        """Return the path as it is: there are no files."""
        return path


class StandIns:
    """Finds the modules of the packages in `NAMES`, and loads them empty."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        """Return a spec for a module of one of the packages; None for any other."""
        if name.partition(".")[0] not in NAMES:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return an empty module."""
        return _EmptyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing."""

    def find_distributions(self, context: Any) -> Iterator[Distribution]:
        """Yield the distributions in `VERSIONS` that have the name that is asked for."""
        for name in VERSIONS:
            if context.name in (None, name):
                yield _StandInDistribution(name)


sys.meta_path.append(StandIns())
