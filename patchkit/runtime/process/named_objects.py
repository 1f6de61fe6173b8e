"""Finds the classes and functions that data names, as an entry of a registry names a class.

vLLM's registries hold texts: "vllm.a.b.Backend", ("vllm.a.b", "Parser"), or an object with the
fields `module_name` and `class_name`. The class is imported once it is looked up.
"""

import sys
from collections.abc import Iterator
from typing import Any

from patchkit.core.rows.target import Target
from patchkit.runtime.changes.owners import namespace

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
            texts.append(part)
        else:
            yield part
    package = target.module.rpartition(".")[0]
    for module, attribute in _pairs(texts):
        for full_name in (module, f"{package}.{module}", f"{target.module}.{module}"):
            attributes = namespace(sys.modules.get(full_name))
            if attribute in attributes:
                yield attributes[attribute]


def _parts(data: Any) -> list[Any]:
    """List the items of a sequence, the attributes of an object, or a text by itself."""
    if type(data) is str:
        return [data]
    if type(data) in {tuple, list}:
        return list(data)
    return list(namespace(data).values())


def _pairs(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each name of a module and of an attribute in it that texts may be.

    One text may be both, "module.attribute" or "module:attribute", or two of them be one each.
    """
    for text in texts:
        module, _, attribute = text.replace(":", ".").rpartition(".")
        yield module, attribute
        for other in texts:
            yield text, other
