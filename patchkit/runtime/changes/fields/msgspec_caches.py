"""Has msgspec compile changed classes anew, and names what goes on with a class as it was.

msgspec compiles a dataclass, typed dict, named tuple or struct at its first use into an info (a
`DataclassInfo`, a `StructInfo`): its fields with their types and defaults. The info of a class
refers to the info of each class that it has a field of. An info is kept

- as `__msgspec_cache__` of the class, or of a generic alias such as `Box[int]`: once that is
  deleted, msgspec compiles the class anew;
- in a slot of a struct class, which Python code cannot reach: the struct goes on with it;
- in every `Decoder` for a type with that class in it: the decoder goes on with it.

Encoders keep no info: they look at the fields of each object that they are given.
"""

import gc
from collections.abc import Iterable
from typing import Any

from patchkit.runtime.changes.owners import namespace, subclasses_with

_CACHE = "__msgspec_cache__"

_PARAMETERS = "__parameters__"
"""In the dict of a generic class: its type variables."""


def forget_caches(changed: Iterable[type]) -> list[str]:
    """Delete msgspec's infos of changed classes, and of all classes with a field of these.

    Args:
        changed: The changed classes.

    Returns:
        The decoders and structs that go on with a class as it was, in words.
    """
    kept: dict[str, None] = {}
    infos = _infos_of(changed)
    seen = set(infos)
    # First the infos of the changed classes, then those of classes with a field of one, and so on.
    while infos:
        referrers = gc.get_referrers(*infos)
        deleted = _delete(infos, referrers)
        # An info of a struct that was not deleted is in a slot of its class, and stays there.
        structs = [
            _struct_words(info)
            for info in infos
            if type(info).__name__ == "StructInfo" and info not in deleted
        ]
        kept.update(dict.fromkeys(structs))
        infos = []
        for referrer in referrers:
            kind = type(referrer)
            package = str(kind.__module__).partition(".")[0]
            if package != "msgspec":
                continue
            if kind.__name__ == "Decoder":
                kept[f"{kind.__module__}.Decoder({referrer.type!r})"] = None
            elif kind.__name__.endswith("Info") and referrer not in seen:
                seen.add(referrer)
                infos.append(referrer)
    return list(kept)


def _infos_of(changed: Iterable[type]) -> list[Any]:
    """Return the infos of changed dataclasses, of their subclasses, and of aliases of any."""
    classes: dict[type, None] = {}
    for cls in changed:
        cached = subclasses_with(cls, _CACHE)
        parametrized = subclasses_with(cls, _PARAMETERS)
        classes.update(dict.fromkeys([cls, *cached, *parametrized]))
    infos: list[Any] = []
    generic: list[type] = []
    for cls in classes:
        attributes = vars(cls)
        if _CACHE in attributes:
            infos.append(attributes[_CACHE])
        if _PARAMETERS in attributes:
            generic.append(cls)
    # An alias such as `Box[int]` has an info, too, which refers to `Box`; nothing in `Box` leads to
    # it, so the garbage collector is asked.
    if generic:
        infos += [
            referrer
            for referrer in gc.get_referrers(*generic)
            if type(referrer).__name__ == "DataclassInfo" and referrer not in infos
        ]
    return infos


def _delete(infos: list[Any], referrers: list[Any]) -> set[Any]:
    """Delete those infos that are an attribute of a class or generic alias, and return them.

    Args:
        infos: The infos.
        referrers: All objects that refer to one of them.
    """
    # An info refers to its class, except that of a typed dict.
    deleted = _delete_from(gc.get_referents(*infos))
    # Typed dicts and aliases are found by who refers to the info: their `__dict__`, whose owner is
    # searched for in turn, or (since Python 3.11) the alias itself.
    attributes = [item for item in referrers if type(item) is dict and _CACHE in item]
    owners = list(referrers)
    if attributes:  # each search takes as long as there are objects
        owners += gc.get_referrers(*attributes)
    return deleted | _delete_from(owners)


def _delete_from(owners: Iterable[Any]) -> set[Any]:
    """Delete the `__msgspec_cache__` of each object that has one; return the deleted infos."""
    deleted = set()
    for owner in owners:
        if _CACHE in namespace(owner):
            deleted.add(namespace(owner)[_CACHE])
            delattr(owner, _CACHE)
    return deleted


def _struct_words(info: Any) -> str:
    """Return words for the struct class that an info is of."""
    # The info refers to its class and to classes of fields, but to no other struct class.
    cls = next(
        item for item in gc.get_referents(info) if hasattr(item, "__struct_fields__")
    )
    return f"{cls.__module__}:{cls.__qualname__} (read by msgspec)"
