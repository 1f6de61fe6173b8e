"""Finds where an attribute was bound from, by reading the code that bound it.

An attribute is one of a module or a class. Its code leads to another attribute, and so on, up to a
changed one, or to where somebody else made what is there.
"""

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, cast

from patchkit.runtime.changes.owners import MISSING, namespace, peek
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.bindings import Bindings, NameSource, Value, all_scopes
from patchkit.runtime.copies.scope import UNRELATED, UnrelatedOrigin


class _Attribute(NamedTuple):
    """An attribute of a module or a class, where anything else leads nowhere."""

    owner: Any
    name: str

    def is_among(self, attributes: Iterable["_Attribute"]) -> bool:
        """Whether it is one of these; owners are told apart by identity."""
        return any(
            self.owner is owner and self.name == name for owner, name in attributes
        )


_Ends = Iterator[Site | bool | None]
"""Where code leads: to a changed attribute, or to something else.

True is something else that holds the value, False one that does not; None is where the code does
not say.
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
        """Find the changed attribute that another attribute got its value from.

        Args:
            owner: The module or class that has the other one.
            name: Its name.
            value: What it holds.

        Returns:
            The site of the changed attribute. UNRELATED where the code names something else that
            holds the value; None where the code does not say, names both, or may bind the attribute
            by other means too.
        """
        attribute = _Attribute(owner, name)
        ends = set(self._ends(attribute, value, ()))
        sites = [end for end in ends if isinstance(end, Site)]
        is_held_elsewhere = True in ends
        if len(sites) == 1 and not is_held_elsewhere:
            return sites[0]
        if sites or None in ends:
            return None
        if not is_held_elsewhere:
            return None
        code = self._code(owner)
        if code is not None and code.may_set(name):
            return None
        return UNRELATED

    def is_copy(self, owner: Any, name: str) -> bool:
        """Whether the code says that the attribute `name` of `owner` is bound from another."""
        bound = self._bound(owner, name)
        return bool(_sources(bound))

    def leads(self, start: tuple[Any, str], goal: tuple[Any, str]) -> bool:
        """Whether an attribute got what it holds from another one, as far as the code says.

        Args:
            start: Owner and name of the attribute.
            goal: Owner and name of the other one.
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
        return destination.is_among(visited[1:])

    def _ends(
        self, attribute: _Attribute, value: Any, path: tuple[_Attribute, ...]
    ) -> _Ends:
        """Follow the code of an attribute to all ends; a path leads to no attribute twice."""
        bound = self._bound(*attribute)
        if not bound:
            yield None
        for source in bound:
            if isinstance(source, NameSource):
                yield from self._ends_of_source(source, attribute, value, path)
            elif source is None:
                yield None
            else:
                yield source.constant is value

    def _ends_of_source(
        self,
        source: NameSource,
        attribute: _Attribute,
        value: Any,
        path: tuple[_Attribute, ...],
    ) -> _Ends:
        origins = self._follow(source, attribute)
        if not origins:
            yield None
        for origin in origins:
            if not origin.is_among(path):
                yield from self._ends_at(origin, value, (*path, attribute))

    def _ends_at(
        self, origin: _Attribute, value: Any, path: tuple[_Attribute, ...]
    ) -> _Ends:
        """Tell where an attribute leads that another one was bound from."""
        site = self._sites.get(*origin)
        knowing = None
        if site is not None and site.knows(value):
            knowing = site
        if knowing is not None and knowing.layers:
            yield knowing
            return
        leader = knowing or self._sites.leader(*origin)
        ends = self._ends(origin, value, path)
        further = [end for end in ends if isinstance(end, Site)]
        if not further and leader is not None:
            further = [leader]
        if not further:
            values = namespace(origin.owner)
            current = values.get(origin.name, MISSING)
            yield None if current is MISSING else current is value
        elif site is not None and site.layers:
            yield site  # patched when it held another value of where it is from
        else:
            yield from further

    # -- from what the code says to an attribute ---------------------------------------------------

    def _follow(self, source: NameSource, attribute: _Attribute) -> list[_Attribute]:
        """List the attributes that a source names, of which one is it; none where nobody can tell.

        Args:
            source: What the code binds the attribute to.
            attribute: The attribute.
        """
        owner, name = attribute
        module = _module_of(owner)
        if module is None:
            return []
        if source.module is not None:
            imported = _imported(source, module)
            return _attributes([imported], source.names)
        first, *names = source.names or ("",)
        if names:
            objects = self._objects(owner, module, first)
            return _attributes(objects, names)
        # In a class's body a name may be the class's own, or the module's.
        may_be_inner = owner is not module and first != name
        if may_be_inner and self._bound(owner, first):
            return [_Attribute(owner, first)]
        return [_Attribute(module, first)]

    def _objects(self, owner: Any, module: ModuleType, name: str) -> list[Any]:
        """Return what a name stood for: what it is now, and all that it was bound to."""
        current = []
        for holder in (owner, module):
            values = namespace(holder)
            if name in values:
                current.append(values[name])
        objects = current[:1]
        bound = self._bound(module, name)
        if len(bound) == 1 and objects:
            return objects
        for source in _sources(bound):
            if source.module is not None:
                imported = _imported(source, module)
                ends = _attributes([imported], (*source.names, ""))
                objects += [end.owner for end in ends]
        return objects

    def _bound(self, owner: Any, name: str) -> set[Value]:
        """Return all that the code binds an attribute to."""
        code = self._code(owner)
        if code is None:
            return set()
        if not isinstance(owner, type):
            own = code.own(name)
            return own | _by_star(code, name, owner)
        path = owner.__qualname__.split(".")
        bodies = self._classes.get(owner)
        if bodies is None:
            bodies = self._classes[owner] = code.inner(path)
        dotted = ".".join((*path, name))
        bound = code.own(dotted).copy()
        for body in bodies:
            bound |= body.own(name)
        return bound

    def _code(self, owner: Any) -> Bindings | None:
        """Return the bindings of the module of an owner; None where there is no source."""
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
    return [value for value in values if isinstance(value, NameSource)]


def _module_of(owner: Any) -> ModuleType | None:
    if isinstance(owner, type):
        module_name = namespace(owner).get("__module__")
        owner = sys.modules.get(str(module_name))
    if not isinstance(owner, ModuleType):
        return None
    return owner


def _imported(source: NameSource, module: ModuleType) -> Any:
    """Return the module that a source names; None where it is not loaded."""
    package = namespace(module).get("__package__") or ""
    parts = str(package).split(".")
    outer: list[str] = []
    if source.level:
        outer = parts[: len(parts) + 1 - source.level]
    named_parts = filter(None, (*outer, source.module))
    return sys.modules.get(".".join(named_parts))


def _attributes(owners: Iterable[Any], names: Sequence[str]) -> list[_Attribute]:
    """Walk from each owner to the attribute of the last name, as far as there is one."""
    attributes = (_walk(owner, names) for owner in owners)
    return [attribute for attribute in attributes if attribute is not None]


def _walk(owner: Any, names: Sequence[str]) -> _Attribute | None:
    """Walk to the attribute of the last name, through modules and classes as they are now."""
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
    value = peek(owner, name)
    if value is MISSING and isinstance(owner, ModuleType):
        return sys.modules.get(f"{owner.__name__}.{name}")
    return value


def _by_star(code: Bindings, name: str, module: ModuleType) -> set[Value]:
    """Name every star import that brings a name, of which any may have been the last."""
    stars: set[Value] = set()
    for star in code.stars:
        if _exports(namespace(_imported(star, module)), name):
            stars.add(star._replace(names=(name,)))
    return stars


def _exports(values: dict[str, Any], name: str) -> bool:
    """Whether a star import of a module brings a name."""
    listed = values.get("__all__")
    if listed is None:
        return name in values and name[0] != "_"
    return name in list(listed)


def code_of(module: ModuleType) -> ast.Module | None:
    """Parse the source that a module was made by.

    Args:
        module: The module.

    Returns:
        Its syntax tree; None if there is no source, or it is another by now.
    """
    values = namespace(module)
    try:
        source = _source_of(values)
        if source is None:
            return None
        tree = _parsed(source)
    except Exception:  # noqa: BLE001 - a stranger's loader may raise anything
        return None
    if not _has_made(tree, values):
        return None
    return tree


def _source_of(values: dict[str, Any]) -> str | bytes | None:
    """Read the source of a module; None if its file is newer than the module."""
    file = str(values.get("__file__") or "")
    spec = cast("Any", values.get("__spec__"))
    path = Path(file)
    if not file.endswith(".py") or not path.exists():
        source: str = spec.loader.get_source(spec.name)  # in a zip file
        return source.removeprefix("\ufeff")
    if not _is_as_imported(path, spec):
        return None
    return path.read_bytes()


def _parsed(source: bytes | str) -> ast.Module:
    """Parse a source; what Python warns of in it was told when it was compiled."""
    name = "patchkit_copies"  # only this one's: another thread may warn of its own meanwhile
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=name)
        return ast.parse(source, name)


def _is_as_imported(file: Path, spec: Any) -> bool:
    """Whether the file is not newer than Python's cache, which each import brings up to date."""
    cached_name = getattr(spec, "cached", None) or ""
    cached = Path(str(cached_name))
    if not cached.is_file():
        return True
    if type(spec.loader) is not SourceFileLoader:
        return True
    with cached.open("rb") as opened:
        magic = opened.read(4)
        flags = opened.read(4)
        time_and_size = opened.read(8)
    if sys.dont_write_bytecode:
        return True
    if magic != MAGIC_NUMBER:
        return False
    has_hash = flags != bytes(4)  # in place of time and size
    return has_hash or time_and_size == _time_and_size(file)


def _time_and_size(file: Path) -> bytes:
    """Return what the cache has of a source file, the lower half of each number."""
    stat = file.stat()
    seconds = int(stat.st_mtime)
    time = seconds.to_bytes(8, "little")
    size = stat.st_size.to_bytes(8, "little")
    return time[:4] + size[:4]


def _has_made(tree: ast.Module, values: dict[str, Any]) -> bool:
    """Whether a module's functions are from this source, as far as it has any of its own file."""
    own = set()
    for value in tuple(values.values()):
        if type(value) is FunctionType:
            code = value.__code__
            is_own = code.co_filename == values.get("__file__")
            if is_own and code.co_name != "<lambda>":
                own.add((code.co_name, code.co_firstlineno))
    if not own:
        return True
    defined = set()
    for node in all_scopes(tree):
        parts = (node, *node.decorator_list)
        first_line = min(part.lineno for part in parts)
        defined.add((node.name, first_line))
    return not own.isdisjoint(defined)
