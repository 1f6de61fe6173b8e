"""The device backend: the module that adds a device name such as 'npu' to torch.

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
    """Name the module of the device backend."""
    return os.environ.get(VARIABLE) or DEFAULT


def is_installed() -> bool | str:
    """Answer a row's `when`: True, or the reason why there is nothing to import."""
    name = backend_name()
    top = name.partition(".")[0]
    finders = [getattr(finder, "find_spec", None) for finder in (*sys.meta_path, PathFinder)]
    if name in sys.modules or any(find is not None and find(top, None) for find in finders):
        return True
    return f"{name} is not installed"


def import_backend() -> None:
    """Import the device backend if it is installed; an error in it is not caught."""
    if is_installed() is True:
        importlib.import_module(backend_name())
