"""Decides which copies are repointed or reported; tells whose an object is, by what it says itself.

What an object says is its `__module__` and `__qualname__`.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.target import TargetStep
from patchkit.runtime.changes.owners import (
    MISSING,
    function_of,
    inside,
    is_built,
    namespace,
)
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.imports.half_imported import (
    being_imported,
    is_initializing,
    spec_of,
    when_initialized,
)

_ATOMS = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset)
"""Values of these types are shared by code that has nothing to do with each other."""


class SearchScope(NamedTuple):
    """The modules to look through.

    Args:
        modules: Their names.
        late: Whether they have had time to copy by any means: then those of the target's package
            are looked into also where they name nothing of the target's module.
    """

    modules: Sequence[str]
    late: bool = True


NO_MODULES = SearchScope((), late=False)
"""Nothing can have been copied yet."""


def all_modules() -> SearchScope:
    """Return the scope of all modules that are loaded."""
    return SearchScope(list(sys.modules))


def modules_since(name: str) -> SearchScope:
    """Return the scope of a module and of those that began to load after it did.

    At its first execution nobody else can have copied from it; what decorates its objects can have
    put them into modules that it names, which the pass adds.

    Args:
        name: The name of the module.

    Returns:
        The scope, the module that was loaded last first.
    """
    loaded = list(sys.modules)
    since = loaded.index(name) if name in loaded else 0
    return SearchScope(loaded[since:][::-1], late=False)


def untraced(site: Site) -> str | None:
    """Return why copies of the original of a `site` are not looked for; None if they are.

    None is also the answer if there is nothing that anybody could have copied from there.
    """
    if (
        not can_be_copied(site)
        or isinstance(site.original, ModuleType)
        or can_be_traced(site.original)
    ):
        return None
    return f"a {type(site.original).__name__}, which is not told from its equals"


def untraced_targets(sites: Iterable[tuple[str, Site]]) -> dict[str, str]:
    """Return why copies of targets are not looked for.

    Args:
        sites: The changed attributes, each with the target that led there.

    Returns:
        The reasons by target, of those that have one.
    """
    reasons: dict[str, str] = {}
    for target, site in sites:
        if site.rebind and site.original is not site.current:
            reason = untraced(site)
            if reason is not None:
                reasons[target] = reason
    return reasons


def built_before(site: Site) -> list[str]:
    """Name what was built from what a changed attribute held, and does not follow it.

    Args:
        site: The changed attribute.

    Returns:
        Subclasses, what embeds a class, and compiled code, as messages show them.
    """
    return [
        *subclasses_left(site.original, site.current),
        *embedded_left(site.original, site.current),
        *compiled_left(site.original),
    ]


def subclasses_left(original: Any, replacement: Any) -> list[str]:
    """Name the classes that go on deriving from a replaced class; nothing can repoint a base.

    Args:
        original: What was replaced.
        replacement: What stands there instead.

    Returns:
        The subclasses, as messages show them; none if it is no class that was replaced.
    """
    if not isinstance(original, type) or not isinstance(replacement, type):
        return []
    subclasses: list[type] = type.__subclasses__(original)
    return [
        f"{subclass.__module__}:{subclass.__qualname__} (derives from it)"
        for subclass in subclasses
        if subclass not in replacement.__mro__
    ]


def embedded_left(original: Any, replacement: Any) -> list[str]:
    """Name what pydantic has built of a replaced class: classes with a field of it, adapters.

    Args:
        original: What was replaced.
        replacement: What stands there instead.

    Returns:
        What goes on with the original, as messages show it; none if it is no class with fields.
    """
    if original is replacement or "pydantic" not in sys.modules:
        return []
    if not is_built(original):
        return []
    from patchkit.runtime.changes.fields.type_adapters import built_of  # noqa: PLC0415 - few have it

    return built_of(original)


def compiled_left(original: Any) -> list[str]:
    """Name a function that torch.jit has compiled: that goes on as it was, and so do its callers.

    Args:
        original: What was changed, or the function whose code was.

    Returns:
        The function, as messages show it; none if nobody has compiled it.
    """
    state = sys.modules.get("torch.jit._state")
    if state is None:
        return []
    function = function_of(original)
    if function is None or function not in namespace(state).get(
        "_jit_caching_layer", ()
    ):
        return []
    name = f"{function.__module__}:{function.__qualname__}"
    return [f"{name} (compiled by torch.jit)"]


class Latecomers:
    """Modules that are half imported now, by other threads most often, or begin to be from now on.

    The pass may look into one before it takes its copy, from a module that the pass has yet to come
    to; or while the copy lies in the body of a class that is not there yet.

    Args:
        modules: The names of the modules that are loaded now.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._loaded = frozenset(modules)
        importing = self._loaded & being_imported()
        self._half_imported = [
            name for name in importing if is_initializing(_spec(name))
        ]

    def revisit(self, search: Callable[[str], None]) -> None:
        """Call `search` with the name of each as soon as it has been imported."""
        new = [name for name in list(sys.modules) if name not in self._loaded]
        for name in (*self._half_imported, *new):
            spec = _spec(name)
            is_postponed = is_initializing(spec) and when_initialized(
                spec, search, name
            )
            if not is_postponed:
                search(name)


def _spec(name: str) -> object:
    module = sys.modules.get(name)
    if module is None:
        return None
    return spec_of(module)


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
    return any(
        name == package or name.startswith(package + ".") for package in packages
    )


def can_be_traced(original: Any) -> bool:
    """Whether identity tells a copy of an `original` from a chance equal."""
    return original is not MISSING and not isinstance(original, _ATOMS)


def can_be_copied(site: Site) -> bool:
    """Whether anybody can have copied the original of a `site` from there.

    What a class inherits is copied from its base; what the `__getattr__` of a module serves is in
    no dict, and yet the module's.
    """
    return site.own or is_served(site)


def is_served(site: Site) -> bool:
    """Whether the original of a `site` is what the `__getattr__` of a module has returned."""
    if site.own or site.original is MISSING:
        return False
    return isinstance(site.owner, ModuleType)


class_namespace: Callable[[type], MappingProxyType[str, Any]] = type.__dict__[
    "__dict__"
].__get__
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
    if isinstance(value, (type, FunctionType)):
        qualname: str | None = value.__qualname__
    else:
        qualname = namespace(value).get("__qualname__")
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


def modules_named_by(sites: Collection[Site]) -> frozenset[str]:
    """Name the modules in scope that made anything that the targets' modules hold.

    They were there before, and cannot have copied; but what decorates a target may put it there.

    Args:
        sites: The changed attributes; the packages of their `rebind` are the scope.

    Returns:
        The names of the modules.
    """
    makers: set[str] = set()
    packages: set[str] = set()
    for site in sites:
        packages.update(site.rebind)
    for home in set(map(home_of, sites)):
        for value in tuple(namespace(sys.modules.get(home)).values()):
            maker = maker_of(value)
            if isinstance(maker, str):
                makers.add(maker)
    return frozenset(name for name in makers if is_within(name, packages))
