"""What a pass leaves alone and what it tells; whose an object is, by its own word."""

from collections.abc import Callable, Collection, Iterable
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.target import TargetStep
from patchkit.runtime.changes.owners import MISSING, inside, namespace
from patchkit.runtime.changes.sites import Site, Sites

_ATOMS = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset)
"""Values of these types are shared by code that has nothing to do with each other."""


class UnrelatedOrigin:
    """The origin of a place that did not get what it holds from any changed attribute."""


UNRELATED = UnrelatedOrigin()


class Holder(NamedTuple):
    """What holds a copy of a site's; `owner` is what it can be repointed on, if anything."""

    words: str
    site: Site
    owner: Any = None
    step: TargetStep = ""
    module: str = ""


class Outcome(NamedTuple):
    """What a pass has found: copies that were repointed, and what is out of reach."""

    rebound: list[Holder]
    left: list[Holder]


class Keepers(NamedTuple):
    """What the pass leaves alone, and what it needs to know of the rest."""

    packages: tuple[str, ...]  # names of those that keep originals: packs, whose bodies call them
    bodies: Collection[str]  # names of modules that keep them in any case
    sites: Sites

    def keeps(self, module: str, rebind: Iterable[str]) -> bool:
        """Whether a module keeps originals, though a row names packages that are repointed."""
        if module in self.bodies:
            return True
        named = (name for name in rebind if is_within(name, self.packages))
        return is_within(module, self.packages) and not is_within(module, named)


def scope_of(module: str, rebind: bool | Collection[str]) -> frozenset[str]:
    """Name the packages in which a change to a module repoints copies."""
    if rebind is False:
        return frozenset()
    more = () if rebind is True else rebind
    return frozenset({module.partition(".")[0], "__main__", *more})


def is_within(name: str, packages: Iterable[str]) -> bool:
    """Whether a module is one of these packages, or lies in one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def can_be_traced(original: Any) -> bool:
    """Whether identity tells a copy of this value from a chance equal."""
    return original is not MISSING and not isinstance(original, _ATOMS)


class_namespace: Callable[[type], MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__


def is_defined_at(value: Any, owner: Any, name: TargetStep) -> bool:
    """Whether a function or class calls itself by a place."""
    value, *_ = inside(value) or (value,)
    is_plain = isinstance(value, (type, FunctionType))
    called = value.__qualname__ if is_plain else namespace(value).get("__qualname__")
    prefix = f"{owner.__qualname__}." if isinstance(owner, type) else ""
    return called == f"{prefix}{name}" and origin_of(value) == _module_of(owner)


def home_of(site: Site) -> str:
    """Name the module of a changed attribute, or '' where only the row knows."""
    return _module_of(site.owner)


def _module_of(owner: Any) -> str:
    home = namespace(owner).get("__name__" if isinstance(owner, ModuleType) else "__module__", "")
    return home if isinstance(home, str) else ""


def origin_of(value: Any) -> Any:
    """Tell the module that made a value; an instance has its class's name, not its maker's."""
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return value.__module__
    return namespace(value).get("__module__")


def maker_of(value: Any) -> Any:
    """Tell the module whose code a function, class or module is; of others, that of their class."""
    kind = type(value)
    if kind is FunctionType:
        return value.__globals__.get("__name__")
    if issubclass(kind, ModuleType):
        return namespace(value).get("__name__")
    return class_namespace(value if issubclass(kind, type) else kind).get("__module__")
