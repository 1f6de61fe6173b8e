"""
The device backend: the module that teaches torch a device name such as 'npu'.

`PATCHKIT_DEVICE_BACKEND` names it, by default `torch_npu`. Bodies of the flagship patches import
it; so does whoever unpickles a class of theirs.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import PathFinder

VARIABLE = "PATCHKIT_DEVICE_BACKEND"
DEFAULT = "torch_npu"


def backend_name() -> str:
    """Name the module of the device backend."""
    return os.environ.get(VARIABLE) or DEFAULT


def is_installed() -> bool | str:
    """Answer a row's `when`: True, or why there is nothing to import."""
    name = backend_name()
    if name in sys.modules or _is_found(name):
        return True
    return f"{name} is not installed"


def import_backend() -> None:
    """Import the device backend, if it is installed; an error inside it is the caller's to see."""
    if is_installed() is True:
        importlib.import_module(backend_name())


def _is_found(name: str) -> bool:
    top = name.partition(".")[0]
    finders = [getattr(finder, "find_spec", None) for finder in sys.meta_path]
    return any(find is not None and find(top, None) for find in finders) or (
        PathFinder.find_spec(top) is not None
    )
