"""Where copies are repointed, and what of a patched target cannot be followed at all."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.as_main import own_name
from patchkit.changes.resolve import MISSING, namespace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from patchkit.changes.sites import Site

MAIN = "__main__"
_ATOMS = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset)
"""Values of these types are shared by code that has nothing to do with each other."""


class Held(NamedTuple):
    """
    What the pass leaves alone.

    Args:
        packages: names of packages that keep the originals (packs, whose bodies call them).
        place: whether a patch lies on this attribute of this module or class.

    """

    packages: tuple[str, ...]
    place: Callable[[object, str], bool]


def scope_of(module: str, rebind: bool | Collection[str]) -> frozenset[str]:
    """
    Name the packages and containers in which a change repoints copies.

    Args:
        module: the target's.
        rebind: as the change declares it.

    """
    if rebind is False:
        return frozenset()
    more = () if rebind is True else rebind
    return frozenset({module.partition(".")[0], MAIN, *more})


def is_within(name: str, packages: Iterable[str]) -> bool:
    """Whether a module is one of these packages, or lies in one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def can_be_traced(original: Any) -> bool:
    """Whether identity tells a copy of this value from a chance equal."""
    return original is not MISSING and not isinstance(original, _ATOMS)


def is_at_home(site: Site) -> bool:
    """
    Whether the target's own package made the original, so that who has it, has it from there.

    Copies of what the target's module has from elsewhere (`from time import sleep`, `import torch`)
    come from there as well, and are none of the patch's business. Nor are those of what a class
    only inherits.
    """
    if isinstance(site.original, ModuleType) or not site.own:
        return False
    origin, home = origin_of(site.original), home_of(site)
    if not (isinstance(origin, str) and home):
        return True
    return origin.partition(".")[0] == home.partition(".")[0]


def home_of(site: Site) -> str:
    """Name the module of a changed attribute, or '' where only the row knows."""
    where = "__name__" if isinstance(site.owner, ModuleType) else "__module__"
    home = namespace(site.owner).get(where, "")
    return own_name(home) if isinstance(home, str) else ""


def untraced(site: Site) -> str | None:
    """Say why copies of an original are not looked for, or None if they are."""
    if not site.own or isinstance(site.original, ModuleType):
        return None  # there is nothing that anybody could have copied from here
    if not can_be_traced(site.original):
        return f"a {type(site.original).__name__}, which is not told from its equals"
    if not is_at_home(site):
        return f"the target has it from {origin_of(site.original)}"
    return None


def subclasses_left(original: Any, replacement: Any) -> list[str]:
    """Name the classes that go on deriving from a replaced class; nothing can repoint a base."""
    if not isinstance(original, type) or not isinstance(replacement, type):
        return []
    subclasses: list[type] = type.__subclasses__(original)
    return [
        f"{sub.__module__}:{sub.__qualname__} (derives from it)"
        for sub in subclasses
        if sub not in replacement.__mro__
    ]


def origin_of(value: Any) -> Any:
    """Tell the module that made a value; an instance has its class's name, not its maker's."""
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return own_name(value.__module__)
    return own_name(namespace(value).get("__module__"))
