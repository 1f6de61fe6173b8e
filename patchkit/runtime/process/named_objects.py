"""Finds the classes and functions that data names, as an entry of a registry names a class.

vLLM's registries hold texts: "vllm.a.b.Backend", ("vllm.a.b", "Parser"), or an object with the
fields `module_name` and `class_name`. The class is imported once it is looked up.
"""

import sys
from collections.abc import Iterator
from typing import Any

from patchkit.core.rows.target import Target
from patchkit.runtime.changes.owners import MISSING, namespace

_MOST = 20
"""The most parts of a piece of data that are looked at."""


def named_objects(data: Any, target: Target) -> Iterator[Any]:
    """Yield the objects that data holds or names, as far as they have been imported.

    Args:
        data: An entry of a registry, or any other object; none of its code runs.
        target: Where it lies: a name of a module in it may be relative to there.

    Yields:
        What it holds, and what it names.
    """
    texts: list[str] = []
    for part in _parts(data)[:_MOST]:
        if type(part) is str:
            # "m:C" becomes "m.C", and the relative name ".m" becomes "m".
            dotted = part.replace(":", ".")
            texts.append(dotted.strip("."))
        else:
            yield part
    package = target.module.rpartition(".")[0]
    prefixes = ("", f"{package}.", f"{target.module}.")
    for text in texts:
        # A text may be a whole name, or that of the module in which another text names something.
        longer = [f"{text}.{other}" for other in texts]
        for name in (text, *longer):
            for prefix in prefixes:
                value = _resolve(f"{prefix}{name}")
                # A word without a dot may be any word: it counts only if it is the only text, and
                # names a class. (`isinstance` would run code of a proxy.)
                is_class = len(texts) == 1 and issubclass(type(value), type)
                if value is not MISSING and ("." in name or is_class):
                    yield value


def _parts(data: Any) -> list[Any]:
    """List the parts of data: a text itself, items at any depth, or the attributes of an object."""
    if type(data) is str:
        return [data]
    if type(data) is dict:
        return list(data.values())
    if type(data) in {tuple, list}:
        parts: list[Any] = []
        for item in data:
            if type(item) in {tuple, list, dict}:
                parts += _parts(item)
            else:
                parts.append(item)
        return parts
    return list(namespace(data).values())


def _resolve(dotted: str) -> Any:
    """Return what a name such as `a.b.Class` leads to in the modules that are imported, or MISSING.

    Args:
        dotted: The name, of which the longest part that is an imported module is taken for one.
    """
    words = dotted.split(".")
    for end in range(len(words) - 1, 0, -1):
        module = ".".join(words[:end])
        value: Any = sys.modules.get(module, MISSING)
        if value is MISSING:
            continue
        for word in words[end:]:
            value = namespace(value).get(word, MISSING)
        return value
    return MISSING
