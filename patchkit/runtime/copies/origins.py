"""Finds where an attribute of a module or class was bound from, by reading the code that bound it.

`from a import f` leads from this module's `f` to the `f` of `a`; `from .b import f` in `a` leads on
to the `f` of `a.b`, and so on. The search ends at a changed attribute, or at code that binds the
name to something else.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from patchkit.runtime.changes.owners import MISSING, namespace, peek
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.bindings import Bindings, NameSource, Value
from patchkit.runtime.copies.module_source import code_of
from patchkit.runtime.copies.scope import UNRELATED, UnrelatedOrigin


class _Attribute(NamedTuple):
    """An attribute of a module or class."""

    owner: Any
    name: str

    def is_among(self, attributes: Iterable["_Attribute"]) -> bool:
        """Whether it is one of some attributes; owners are compared by identity."""
        return any(
            self.owner is owner and self.name == name for owner, name in attributes
        )


_Ends = Iterator[Site | bool | None]
"""The ends of a search: a changed attribute, or something else.

True stands for something else that has the searched value, False for something without it, and
None for code that does not show what a name is bound to.
"""


class Origins:
    """The origins of attributes; each module's source is read once.

    Args:
        sites: The changed attributes of this process.
    """

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._modules: dict[int, Bindings | None] = {}
        self._classes: dict[type, list[Bindings]] = {}

    def of(self, owner: Any, name: str, value: Any) -> Site | UnrelatedOrigin | None:
        """Find the changed attribute that another attribute was bound from.

        Args:
            owner: The module or class that has the other attribute.
            name: The name of that attribute.
            value: Its value.

        Returns:
            The site of the changed attribute; UNRELATED if the code binds the other one to
            something else with this value; None if the code does not show it: it binds a result of
            a call, binds the name several times to different things, or uses `setattr`.
        """
        attribute = _Attribute(owner, name)
        ends = set(self._ends(attribute, value, ()))
        sites = [end for end in ends if isinstance(end, Site)]
        is_something_else = True in ends
        if len(sites) == 1 and not is_something_else:
            return sites[0]
        if sites or None in ends:
            return None  # several ends are possible
        if not is_something_else:
            return None  # no binding in the code gives this value
        code = self._code(owner)
        if code is not None and code.may_set(name):
            return None
        return UNRELATED

    def is_copy(self, owner: Any, name: str) -> bool:
        """Whether the code binds the attribute `name` of `owner` from another name or attribute."""
        bound = self._bound(owner, name)
        return bool(_sources(bound))

    def leads(self, start: tuple[Any, str], goal: tuple[Any, str]) -> bool:
        """Whether the code binds an attribute from another one, directly or by further ones.

        Args:
            start: Owner and name of the attribute.
            goal: Owner and name of the other attribute.
        """
        first = _Attribute(*start)
        pending = [first]
        visited = [first]
        while pending:
            attribute = pending.pop()
            bound = self._bound(*attribute)
            for source in _sources(bound):
                for origin in self._follow(source, attribute):
                    if not origin.is_among(visited):
                        visited.append(origin)
                        pending.append(origin)
        destination = _Attribute(*goal)
        return destination.is_among(visited[1:])  # without the start itself

    def _ends(
        self, attribute: _Attribute, value: Any, path: tuple[_Attribute, ...]
    ) -> _Ends:
        """Yield all ends that the code of an attribute leads to.

        Args:
            attribute: The attribute.
            value: The searched value.
            path: The attributes on the way here, which are not followed once more.
        """
        bound = self._bound(*attribute)
        if not bound:
            yield None
        for source in bound:
            if isinstance(source, NameSource):
                yield from self._ends_of_source(source, attribute, value, path)
            elif source is None:
                yield None
            else:  # something else, with the searched value or another one
                yield source.constant is value

    def _ends_of_source(
        self,
        source: NameSource,
        attribute: _Attribute,
        value: Any,
        path: tuple[_Attribute, ...],
    ) -> _Ends:
        """Yield the ends that one binding of an attribute leads to; see `_ends`."""
        origins = self._follow(source, attribute)
        if not origins:
            yield None
        for origin in origins:
            if not origin.is_among(path):
                yield from self._ends_at(origin, value, (*path, attribute))

    def _ends_at(
        self, origin: _Attribute, value: Any, path: tuple[_Attribute, ...]
    ) -> _Ends:
        """Yield the ends of an attribute that another one was bound from.

        A patched attribute that has or had the value is an end. From others, the search goes on.
        """
        site = self._sites.get(*origin)
        is_known = site is not None and site.knows(value)
        if site is not None and is_known and site.layers:
            yield site
            return
        # The code of the attribute may lead on to patched ones. If it leads to none, the end is the
        # attribute's own site, which has no patches by now, or the site it is repointed with.
        last_resort = site if is_known else self._sites.leader(*origin)
        ends = self._ends(origin, value, path)
        sites_behind = [end for end in ends if isinstance(end, Site)]
        if not sites_behind and last_resort is not None:
            sites_behind = [last_resort]
        if not sites_behind:
            # No changed attribute is behind it: then only its present value counts.
            values = namespace(origin.owner)
            current = values.get(origin.name, MISSING)
            yield None if current is MISSING else current is value
        elif site is not None and site.layers:
            # The attribute has a patch, which was put on while it had another value of this source.
            yield site
        else:
            yield from sites_behind

    # -- from names in the code to attributes ------------------------------------------------------

    def _follow(self, source: NameSource, attribute: _Attribute) -> list[_Attribute]:
        """Return the attributes that a name in the code may stand for; none if that is unknown.

        Args:
            source: The name that the code binds the attribute to.
            attribute: The attribute.
        """
        owner, name = attribute
        module = _module_of(owner)
        if module is None:
            return []
        if source.module is not None:
            imported = _imported(source, module)
            return _attributes([imported], source.names)
        # `first` is a name in this code, `names` are the attributes after it: `a`, `.b.c`.
        first, *names = source.names
        if names:
            objects = self._objects(owner, module, first)
            return _attributes(objects, names)
        # In the body of a class, a name may be one of the class or of the module. In `x = x`, the
        # right one is that of the module.
        may_be_inner = owner is not module and first != name
        if may_be_inner and self._bound(owner, first):
            return [_Attribute(owner, first)]
        return [_Attribute(module, first)]

    def _objects(self, owner: Any, module: ModuleType, name: str) -> list[Any]:
        """Return the objects that a name may have stood for: its value, and what is imported as it.

        Of another binding in the code, as `name = other`, only the present value is known.

        Args:
            owner: The module or class whose code has the name.
            module: The module itself, or that of the class.
            name: The name.
        """
        current = []
        for scope in (owner, module):
            values = namespace(scope)
            if name in values:
                current.append(values[name])
        objects = current[:1]  # the class's own value hides that of its module
        bound = self._bound(module, name)
        # A name that is bound once has always stood for the same object.
        if len(bound) == 1 and objects:
            return objects
        for source in _sources(bound):
            if source.module is not None:
                value = _imported(source, module)
                for part in source.names:
                    value = _step(value, part)
                if isinstance(value, (ModuleType, type)):
                    objects.append(value)
        return objects

    def _bound(self, owner: Any, name: str) -> set[Value]:
        """Return everything that the code binds an attribute to."""
        code = self._code(owner)
        if code is None:
            return set()
        if not isinstance(owner, type):
            own_bindings = code.own(name)
            return own_bindings | _by_star(code, name, owner)
        # An attribute of a class is bound in its body, or by `Class.name = …` in its module.
        path = owner.__qualname__.split(".")
        bodies = self._classes.get(owner)
        if bodies is None:
            bodies = self._classes[owner] = code.inner(path)
        dotted = ".".join((*path, name))
        bound = code.own(dotted).copy()  # `code` keeps its own set unchanged
        for body in bodies:
            bound |= body.own(name)
        return bound

    def _code(self, owner: Any) -> Bindings | None:
        """Return the bindings in the module of an owner; None if there is no source.

        Each module is parsed once.
        """
        module = _module_of(owner)
        if module is None:
            return None
        key = id(module)
        if key not in self._modules:
            code = None
            tree = code_of(module)
            if tree is not None:
                code = Bindings(tree)
            self._modules[key] = code
        return self._modules[key]


def _sources(values: Iterable[Value]) -> list[NameSource]:
    """Select the values that are other names."""
    return [value for value in values if isinstance(value, NameSource)]


def _module_of(owner: Any) -> ModuleType | None:
    """Return a module itself, or the module of a class; None for any other object."""
    if isinstance(owner, type):
        module_name = namespace(owner).get("__module__")
        owner = sys.modules.get(str(module_name))
    if not isinstance(owner, ModuleType):
        return None
    return owner


def _imported(source: NameSource, module: ModuleType) -> Any:
    """Return the module that an import names; None if it is not loaded."""
    package = namespace(module).get("__package__") or ""
    parts = str(package).split(".")
    outer_parts: list[str] = []
    if source.level:
        # One dot means the package itself, each further one the package around it.
        outer_parts = parts[: len(parts) + 1 - source.level]
    # `from . import b` names no module, and a module outside of packages has the package "".
    named_parts = filter(None, (*outer_parts, source.module))
    return sys.modules.get(".".join(named_parts))


def _attributes(owners: Iterable[Any], names: Sequence[str]) -> list[_Attribute]:
    """Return the attribute that a dotted name leads to from each owner, if there is one."""
    attributes = (_walk(owner, names) for owner in owners)
    return [attribute for attribute in attributes if attribute is not None]


def _walk(owner: Any, names: Sequence[str]) -> _Attribute | None:
    """Return the attribute that a dotted name leads to; None if it leads to no module or class.

    An inherited attribute is that of the base. Without a name, as for the module of `import a`, the
    attribute is "": nothing has it, so that a search ends there without a result.
    """
    *path, last = names or ("",)
    for name in path:
        owner = _step(owner, name)
    if isinstance(owner, type):
        for cls in owner.__mro__:
            if last in namespace(cls):
                owner = cls
                break
    if not isinstance(owner, (ModuleType, type)):
        return None
    return _Attribute(owner, last)


def _step(owner: Any, name: str) -> Any:
    """Return an attribute's value; a submodule counts as one even if it is not set there."""
    value = peek(owner, name)
    if value is MISSING and isinstance(owner, ModuleType):
        return sys.modules.get(f"{owner.__name__}.{name}")
    return value


def _by_star(code: Bindings, name: str, module: ModuleType) -> set[Value]:
    """Return all star imports that bind a name; any of them may have been the last."""
    stars: set[Value] = set()
    for star in code.stars:
        if _exports(namespace(_imported(star, module)), name):
            stars.add(star._replace(names=(name,)))
    return stars


def _exports(values: dict[str, Any], name: str) -> bool:
    """Whether a star import of a module binds a name.

    Args:
        values: The module's attributes.
        name: The name.
    """
    listed = values.get("__all__")
    if listed is None:
        return name in values and name[0] != "_"
    return name in list(listed)
