"""Decides which modules a pass searches, and which copies it repoints or reports.

Also names what was built from a changed object and cannot follow it: subclasses, compiled code.
And tells which module an object belongs to, by what the object says itself: its `__module__` and
`__qualname__`, or the globals of a function.
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
"""Types of values that unrelated code shares, so that identity does not show a copy."""


class SearchScope(NamedTuple):
    """The modules that a pass searches.

    Args:
        modules: Their names.
        late: Whether other code has run since the target's module was imported, and may have copied
            in any way. Then all modules of the target's package are searched, and not only those
            that refer to the target's module or to objects of it.
    """

    modules: Sequence[str]
    late: bool = True


NO_MODULES = SearchScope((), late=False)
"""The scope if nothing can have been copied yet."""


def all_modules() -> SearchScope:
    """Return the scope of all modules that are loaded."""
    return SearchScope(list(sys.modules))


def modules_since(name: str) -> SearchScope:
    """Return the scope of a module that was just imported: itself and all modules loaded after it.

    No other module can have copied from it, with one exception that the pass adds: a decorator may
    have stored its objects in the decorator's own module.

    Args:
        name: The name of the module.

    Returns:
        The scope; the module that was loaded last comes first.
    """
    loaded = list(sys.modules)
    # A module that has removed itself may have been loaded at any time: then all count.
    since = loaded.index(name) if name in loaded else 0
    return SearchScope(loaded[since:][::-1], late=False)


def untraced(site: Site) -> str | None:
    """Return why nobody searches for copies of the original of a `site`.

    None if copies are searched for, or if the original cannot have been copied from this attribute.
    """
    if (
        not can_be_copied(site)
        or isinstance(site.original, ModuleType)
        or can_be_traced(site.original)
    ):
        return None
    return f"a {type(site.original).__name__}, which is not told from its equals"


def untraced_targets(sites: Iterable[tuple[str, Site]]) -> dict[str, str]:
    """Return the targets whose copies are not searched for, with the reasons.

    Args:
        sites: The targets, each with its changed attribute.

    Returns:
        The reasons by target.
    """
    reasons: dict[str, str] = {}
    for target, site in sites:
        if site.rebind and site.original is not site.current:
            reason = untraced(site)
            if reason is not None:
                reasons[target] = reason
    return reasons


def still_on_original(site: Site) -> list[str]:
    """Name what was built from the original of a changed attribute, and still uses the original.

    Args:
        site: The changed attribute.

    Returns:
        Its subclasses, pydantic classes with a field of it, and compiled code, in words.
    """
    return [
        *subclasses_left(site.original, site.current),
        *embedded_left(site.original, site.current),
        *compiled_left(site.original),
    ]


def subclasses_left(original: Any, replacement: Any) -> list[str]:
    """Name the subclasses of a replaced class, whose base stays the original.

    Args:
        original: The replaced object.
        replacement: The new object.

    Returns:
        The subclasses in words, without the replacement and its bases; none if one of the two is
        no class.
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
    """Name the pydantic classes and adapters with a field or type that is a replaced class.

    Args:
        original: The replaced object.
        replacement: The new object.

    Returns:
        The classes and adapters in words; none if the original is no dataclass or pydantic class.
    """
    if original is replacement or "pydantic" not in sys.modules:
        return []
    if not is_built(original):
        return []
    from patchkit.runtime.changes.fields.type_adapters import built_of  # noqa: PLC0415 - few have it

    return built_of(original)


def compiled_left(original: Any) -> list[str]:
    """Name a function that torch.jit has compiled: the compiled code does not change.

    Args:
        original: The original of a changed attribute, or a function whose code was edited.

    Returns:
        The function in words; an empty list if it was not compiled, or is no function.
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
    """Modules that are being imported while a pass runs, mostly by other threads.

    The pass may search such a module before it copies, from a module that the pass has yet to
    reach; or while a class with a copy is not created yet. So these are searched once more.

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
        """Call `search` with the name of each such module, as soon as its import has ended."""
        new_modules = [name for name in list(sys.modules) if name not in self._loaded]
        for name in (*self._half_imported, *new_modules):
            spec = _spec(name)
            # `when_initialized` returns False if the import has ended in the meantime.
            is_postponed = is_initializing(spec) and when_initialized(
                spec, search, name
            )
            if not is_postponed:
                search(name)


def _spec(name: str) -> object:
    """Return the import spec of a loaded module; None if it is not loaded."""
    module = sys.modules.get(name)
    if module is None:
        return None
    return spec_of(module)


class UnrelatedOrigin:
    """The origin of an attribute that was not bound from any changed attribute."""


UNRELATED = UnrelatedOrigin()


class Holder(NamedTuple):
    """A place that refers to a copy: an attribute of a module or class, a default, a list item.

    Args:
        words: Its name for messages.
        site: The changed attribute that the copy is from.
        owner: The object to set the copy on, to repoint it; None if it is out of reach.
        step: The attribute or item of the owner.
        module: The name of the module that it belongs to.
    """

    words: str
    site: Site
    owner: Any = None
    step: TargetStep = ""
    module: str = ""


class Outcome(NamedTuple):
    """The result of a pass.

    Args:
        rebound: The copies that were repointed.
        left: The copies that were not: out of reach, or out of scope.
    """

    rebound: list[Holder]
    left: list[Holder]


class Keepers(NamedTuple):
    """The modules in which a pass does not repoint copies: packs and bodies.

    A body imports the original that it replaces, to call it.

    Args:
        packages: The names of packs. A row can name one in `rebind`, and it is repointed then.
        bodies: The names of bodies, which are never repointed.
        sites: All changed attributes of this process.
    """

    packages: tuple[str, ...]
    bodies: Collection[str]
    sites: Sites

    def keeps(self, module: str, rebind: Iterable[str]) -> bool:
        """Whether copies in a module stay when a row with these `rebind` packages is applied.

        Args:
            module: The name of the module.
            rebind: The packages whose copies the row repoints.
        """
        if module in self.bodies:
            return True
        if not is_within(module, self.packages):
            return False
        named_packs = (name for name in rebind if is_within(name, self.packages))
        return not is_within(module, named_packs)


def scope_of(module: str, rebind: bool | Collection[str]) -> frozenset[str]:
    """Return the packages in which a change repoints copies.

    Args:
        module: The module of the change's target.
        rebind: The change's `rebind`: whether to repoint copies at all; or further packages,
            beside the target's own.

    Returns:
        The names of the packages; one is always `__main__`, the script that uses upstream.
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
    """Whether an object that is identical to the `original` must be a copy of it."""
    return original is not MISSING and not isinstance(original, _ATOMS)


def can_be_copied(site: Site) -> bool:
    """Whether other code can have copied the original of a `site` from its owner.

    An inherited attribute counts as copied from the base. One from a module's `__getattr__` is in
    no `__dict__`, but can be copied.
    """
    return site.own or is_served(site)


def is_served(site: Site) -> bool:
    """Whether the original of a `site` came from the `__getattr__` of a module."""
    if site.own or site.original is MISSING:
        return False
    return isinstance(site.owner, ModuleType)


class_namespace: Callable[[type], MappingProxyType[str, Any]] = type.__dict__[
    "__dict__"
].__get__
"""Returns the attributes of a class, without asking its metaclass."""


def is_defined_at(value: Any, owner: Any, name: TargetStep) -> bool:
    """Whether an attribute has the function or class that was defined there under this name.

    Args:
        value: The function or class, or a method or property.
        owner: The module or class that has the attribute.
        name: The name of the attribute.
    """
    functions = inside(value)
    defined = functions[0] if functions else value
    if isinstance(defined, (type, FunctionType)):
        qualname: str | None = defined.__qualname__
    else:
        qualname = namespace(defined).get("__qualname__")
    expected = f"{owner.__qualname__}.{name}" if isinstance(owner, type) else str(name)
    return qualname == expected and origin_of(defined) == _module_of(owner)


def home_of(site: Site) -> str:
    """Return the name of the module whose attribute a `site` is, or whose class has it.

    '' for any other owner, such as a dict.
    """
    return _module_of(site.owner)


def _module_of(owner: Any) -> str:
    """Return the name of a module, or of the module of a class; '' for any other object."""
    attribute = "__name__" if isinstance(owner, ModuleType) else "__module__"
    module = namespace(owner).get(attribute)
    if not isinstance(module, str):
        return ""
    return module


def origin_of(value: Any) -> Any:
    """Return the `__module__` of a function or class; None for an object without one of its own.

    Args:
        value: Any object. For an instance, the `__module__` of its class is not where it was made.
    """
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return value.__module__
    return namespace(value).get("__module__")


def maker_of(value: Any) -> Any:
    """Return the module in which `value` was defined; for an instance, that of its class.

    For a function this is the module of its globals, which `functools.wraps` does not change.
    """
    kind = type(value)
    if kind is FunctionType:
        return value.__globals__.get("__name__")
    if issubclass(kind, ModuleType):
        return namespace(value).get("__name__")
    cls = value if issubclass(kind, type) else kind
    return class_namespace(cls).get("__module__")
