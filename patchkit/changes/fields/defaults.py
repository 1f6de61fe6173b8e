"""The default of a field: of one that a patch adds, or replaced on the class that has it."""

from __future__ import annotations

import functools
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any

from patchkit.changes.built_classes import FIELDS
from patchkit.changes.fields.dataclass_fields import heirs, parts_of
from patchkit.changes.sites import Layer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from patchkit.changes.prepared import PreparedLayers
    from patchkit.changes.sites import Site, Sites


def options(default: Any) -> dict[str, Any]:
    """Return what to give to `dataclasses.field` or pydantic's `Field` for this default."""
    if is_shared(default):
        return {"default": default}
    return {"default_factory": functools.partial(deepcopy, default)}


def is_shared(default: Any) -> bool:
    """Whether all instances may hold the very same object: what has a hash does not change."""
    try:
        hash(default)
    except TypeError:
        return False
    return True


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
        self._default = default

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        return vars(instance).setdefault(self._name, deepcopy(self._default))


# -- replaced on the class ----------------------------------------------------------------------


def default_parts(site: Site, sites: Sites) -> Iterator[PreparedLayers]:
    """
    Prepare what makes a class and its subclasses use the replaced default.

    Args:
        site: the attribute of the class that held the default.
        sites: every changed attribute of this process.

    """
    name, owner = str(site.name), site.owner
    field = vars(owner)[FIELDS][name]
    for cls in (owner, *heirs(owner, FIELDS)):
        if vars(cls)[FIELDS].get(name) is field:  # a subclass may have one of its own
            top = site.layers[-1]
            yield parts_of(
                cls, _changed(name, site), sites, Layer(_same, True, top.rank, top.patch)
            )


def _same(value: Any) -> Any:
    return value


def _changed(name: str, site: Site) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    def change(below: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**below, name: _with_default(below[name], site.current)}

    return change


def _with_default(field: Any, value: Any) -> Any:
    """A dataclass's field with another default, also where that is pydantic's `Field(…)`."""
    from dataclasses import MISSING  # noqa: PLC0415 - of the same name as patchkit's

    new, given = copy(field), options(value)
    if _is_pydantics(field.default):
        from patchkit.changes.fields.pydantic_classes import with_default  # noqa: PLC0415 - loaded by now

        new.default = with_default(field.default, given)
    else:
        new.default = given.get("default", MISSING)
        new.default_factory = given.get("default_factory", MISSING)
    return new


def _is_pydantics(default: Any) -> bool:
    return type(default).__module__ == "pydantic.fields"
