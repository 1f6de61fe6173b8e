"""The default of a field that a patch adds or changes: shared where it can be, else a copy each."""

from __future__ import annotations

import functools
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def options(default: Any) -> dict[str, Any]:
    """Return what to give to `dataclasses.field` or pydantic's `Field` for this default."""
    if is_shared(default):
        return {"default": default}
    return {"default_factory": copier(default)}


def is_shared(default: Any) -> bool:
    """Whether all instances may hold the very same object: what has a hash does not change."""
    try:
        hash(default)
    except TypeError:
        return False
    return True


def copier(default: Any) -> Callable[[], Any]:
    """Return a function that makes a copy of a default."""
    return functools.partial(deepcopy, default)


class LateDefault:
    """
    Stands on a class for a field that instances made earlier lack.

    Each gets its own copy when it is first read. The class itself has no such attribute, like with
    any `default_factory`.

    Args:
        name: the field.
        default: copied for each instance.

    """

    def __init__(self, name: str, default: Any) -> None:
        self._name = name
        self._copy = copier(default)

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        return vars(instance).setdefault(self._name, self._copy())
