"""Where a module's source lies, found without importing the module or its parents."""

import importlib.util
from importlib.machinery import ModuleSpec, PathFinder


def find_module(name: str) -> ModuleSpec | None:
    """Find a module without importing its parents, as `importlib.util.find_spec` would.

    Each part is looked up as if it were at the top: asking a namespace package for its path would
    import its parent.

    Args:
        name: The dotted name of the module.

    Returns:
        The module's spec, or None if there is no such module.
    """
    top, *parts = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    # A module that put itself there by hand has no spec.
    except (
        ValueError,
        ImportError,
    ):
        return None
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return None
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
