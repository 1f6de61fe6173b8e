"""Where a module's source lies, found without importing the module or its parents."""

import importlib.util
from importlib.machinery import ModuleSpec, PathFinder


def find_module(name: str) -> ModuleSpec | None:
    """Find a module without importing its parents, as `importlib.util.find_spec` would.

    Each part is looked up as if it were on top: a namespace package's path would import the parent.
    """
    top, *parts = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ValueError, ImportError):  # a module that put itself there by hand has no spec
        return None
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return spec


def file_of(spec: ModuleSpec | None) -> str | None:
    """Name the file of a module, if it has one."""
    return spec.origin if spec and spec.has_location else None
