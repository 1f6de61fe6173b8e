"""Imports the device backend: the module that adds a device name such as 'npu' to torch.

`PATCHKIT_DEVICE_BACKEND` names it; the default is `torch_npu`. Some bodies import it at their top,
so that it is imported in any process that unpickles a class of such a body.
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
    """Whether the device backend can be imported; rows name this function as their `when`.

    Returns:
        True, or a message that says what is not installed.
    """
    name = backend_name()
    if name in sys.modules:
        return True
    # Only the top package is searched: to find a submodule, Python would import that.
    top = name.partition(".")[0]
    # `PathFinder` once more, in case other code has removed Python's own finders from the list.
    for finder in (*sys.meta_path, PathFinder):
        find_spec = getattr(finder, "find_spec", None)
        if find_spec is not None and find_spec(top, None):
            return True
    return f"{name} is not installed"


def import_backend() -> None:
    """Import the device backend if it is installed; an error of that import is not caught."""
    if is_installed() is True:
        importlib.import_module(backend_name())
