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
    parts = _parts(data)[:_MOST]
    texts = [part for part in parts if type(part) is str]
    yield from (part for part in parts if type(part) is not str)
    for text in texts:
        module, _, name = text.replace(":", ".").rpartition(".")
        yield from _in_module(module, [name], target)
        yield from _in_module(text, texts, target)


def _parts(data: Any) -> list[Any]:
    """List the items of a sequence, the attributes of an object, or a text by itself."""
    if type(data) is str:
        return [data]
    if type(data) in {tuple, list}:
        return list(data)
    return list(namespace(data).values())


def _in_module(name: str, attributes: list[str], target: Target) -> Iterator[Any]:
    """Yield the attributes of these names in a module, if it has been imported."""
    package = target.module.rpartition(".")[0]
    for full_name in (name, f"{package}.{name}", f"{target.module}.{name}"):
        attributes_there = namespace(sys.modules.get(full_name))
        for attribute in attributes:
            if attribute in attributes_there:
                yield attributes_there[attribute]
