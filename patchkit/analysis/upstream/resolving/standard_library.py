"""Looks at what the standard library has, in the running Python."""

import importlib
import inspect
import sys
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.outside import STANDARD, as_typing

_INSPECTED = STANDARD | {
    "__future__",
    "contextvars",
    "copy",
    "datetime",
    "decimal",
    "fractions",
    "hashlib",
    "importlib",
    "inspect",
    "itertools",
    "math",
    "multiprocessing.connection",
    "multiprocessing.context",
    "numbers",
    "operator",
    "os",
    "os.path",
    "pathlib",
    "pickle",
    "platform",
    "random",
    "re",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "time",
    "traceback",
    "urllib.parse",
    "uuid",
    "warnings",
    "weakref",
}
"""Modules that may be imported to inspect what else they have."""


class StandardObject(NamedTuple):
    """Something of the standard library.

    Args:
        value: The object, as it is stored: a static method stays one.
    """

    value: object


@lru_cache(maxsize=2048)
def standard_object(dotted: str) -> StandardObject | None:
    """Return an object of the standard library, as it is in the running Python.

    Args:
        dotted: Its dotted name: of a module, or of something in a module or a class.

    Returns:
        None if its module may not be imported for this, or has no such object.
    """
    if dotted in sys.stdlib_module_names:
        return StandardObject(ModuleType(dotted))
    parts = as_typing(dotted).split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(parts[:count])
        if module in _INSPECTED:
            break
    else:
        return None
    found: object = importlib.import_module(module)
    for name in parts[count:]:
        try:
            found = inspect.getattr_static(found, name)
        except AttributeError:
            return None
    return StandardObject(found)
