"""Imports the device backend: the module that adds a device name such as 'npu' to torch.

`PATCHKIT_DEVICE_BACKEND` names it, by default `torch_npu`. Some bodies import it at their top, and
so it is imported where a class of such a body is unpickled.
"""

import importlib
import os
import sys
from importlib.machinery import PathFinder

VARIABLE = "PATCHKIT_DEVICE_BACKEND"
DEFAULT = "torch_npu"


def backend_name() -> str:
    """Return the name of the module of the device backend."""
    return os.environ.get(VARIABLE) or DEFAULT


def is_installed() -> bool | str:
    """Answer a row's `when`.

    Returns:
        True, or the reason why there is nothing to import.
    """
    name = backend_name()
    if name in sys.modules:
        return True
    top = name.partition(".")[0]
    for finder in (*sys.meta_path, PathFinder):
        find_spec = getattr(finder, "find_spec", None)
        if find_spec is not None and find_spec(top, None):
            return True
    return f"{name} is not installed"


def import_backend() -> None:
    """Import the device backend if it is installed; an error in it is not caught."""
    if is_installed() is True:
        importlib.import_module(backend_name())
