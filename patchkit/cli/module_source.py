"""Finds the file of a module without importing the module or its parent packages."""

import importlib.util
from importlib.machinery import ModuleSpec, PathFinder


def find_module(name: str) -> ModuleSpec | None:
    """Find a module without importing its parent packages.

    `importlib.util.find_spec("a.b")` would import `a`. Instead, `a` is found first, and then `b` in
    the folders of `a`.

    Args:
        name: The dotted name of the module.

    Returns:
        The module's spec, or None if there is no such module.
    """
    top, *parts = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ValueError, ImportError):
        # ValueError: it is in `sys.modules`, without a spec.
        return None
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return None
        # Look for `b` alone, not for `a.b`, for which the finder would import `a`.
        spec = PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return spec


def file_of(spec: ModuleSpec | None) -> str | None:
    """Return the file of a module.

    Args:
        spec: The spec of the module, or None if there is no such module.

    Returns:
        The file, or None if there is none, as for a namespace package or a built-in module.
    """
    if spec is None or not spec.has_location:
        return None
    return spec.origin
