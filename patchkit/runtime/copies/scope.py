"""Decides which copies are repointed or reported; tells whose an object is, by what it says itself.

What an object says is its `__module__` and `__qualname__`.
"""

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
    """What holds a copy of what a changed attribute held.

    Args:
        words: What messages call it.
        site: The changed attribute.
        owner: What the copy can be repointed on; None where it cannot.
        step: Its name there, or item.
        module: The module that it lies in.
    """

    words: str
    site: Site
    owner: Any = None
    step: TargetStep = ""
    module: str = ""


class Outcome(NamedTuple):
    """What a pass has found.

    Args:
        rebound: The copies that were repointed.
        left: What is out of reach, or out of scope.
    """

    rebound: list[Holder]
    left: list[Holder]


class Keepers(NamedTuple):
    """Those whose copies a pass leaves alone.

    Args:
        packages: Names of packages that keep originals: packs, whose bodies call them.
        bodies: Names of modules that keep them in any case.
        sites: The changed attributes of this process.
    """

    packages: tuple[str, ...]
    bodies: Collection[str]
    sites: Sites

    def keeps(self, module: str, rebind: Iterable[str]) -> bool:
        """Whether a `module` keeps originals, though a row names packages to `rebind`."""
        if module in self.bodies:
            return True
        if not is_within(module, self.packages):
            return False
        named_packs = (name for name in rebind if is_within(name, self.packages))
        return not is_within(module, named_packs)


def scope_of(module: str, rebind: bool | Collection[str]) -> frozenset[str]:
    """Name the packages in which a change repoints copies.

    Args:
        module: The module that the change is made in.
        rebind: What the change says: whether to repoint any, or which packages beside its own.

    Returns:
        Their names.
    """
    if rebind is False:
        return frozenset()
    packages = {module.partition(".")[0], "__main__"}
    if rebind is not True:
        packages.update(rebind)
    return frozenset(packages)


def is_within(name: str, packages: Iterable[str]) -> bool:
    """Whether the module `name` is one of these `packages`, or lies in one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def can_be_traced(original: Any) -> bool:
    """Whether identity tells a copy of an `original` from a chance equal."""
    return original is not MISSING and not isinstance(original, _ATOMS)


class_namespace: Callable[[type], MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__
"""Returns the attributes of a class, without asking its metaclass."""


def is_defined_at(value: Any, owner: Any, name: TargetStep) -> bool:
    """Whether a function or class was defined under the name that it is looked at by.

    Args:
        value: The function or class, or a method or property of a function.
        owner: The module or class whose attribute it is.
        name: The name of the attribute.
    """
    functions = inside(value)
    if functions:
        value = functions[0]
    qualname = namespace(value).get("__qualname__")
    if isinstance(value, (type, FunctionType)):
        qualname = value.__qualname__
    expected = f"{owner.__qualname__}.{name}" if isinstance(owner, type) else str(name)
    return qualname == expected and origin_of(value) == _module_of(owner)


def home_of(site: Site) -> str:
    """Return the name of the module of `site`, or '' where only the row knows it."""
    return _module_of(site.owner)


def _module_of(owner: Any) -> str:
    attribute = "__name__" if isinstance(owner, ModuleType) else "__module__"
    module = namespace(owner).get(attribute)
    if not isinstance(module, str):
        return ""
    return module


def origin_of(value: Any) -> Any:
    """Return the module that `value` says it was made in; None for what says nothing.

    An instance says nothing: its class's `__module__` is not its maker's.
    """
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return value.__module__
    return namespace(value).get("__module__")


def maker_of(value: Any) -> Any:
    """Return the module whose code made `value`; of an instance, that of its class."""
    kind = type(value)
    if kind is FunctionType:
        return value.__globals__.get("__name__")
    if issubclass(kind, ModuleType):
        return namespace(value).get("__name__")
    cls = value if issubclass(kind, type) else kind
    return class_namespace(cls).get("__module__")
