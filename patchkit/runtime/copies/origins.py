"""Where a place got from what it holds, by the code that bound it.

A place is an attribute of a module or a class. Its code leads from it to another place, and so on,
up to a changed attribute, or to where somebody else made what is there.
"""

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

from patchkit.runtime.changes.owners import MISSING, namespace, peek
from patchkit.runtime.changes.sites import Site, Sites
from patchkit.runtime.copies.bindings import Bindings, NameSource, Value, all_scopes
from patchkit.runtime.copies.scope import UNRELATED, UnrelatedOrigin

Place = tuple[Any, str]
Ends = Iterator[Site | bool | None]


class Origins:
    """The origins of places; each module's source is read once."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._modules: dict[int, Bindings | None] = {}
        self._classes: dict[type, list[Bindings]] = {}

    def of(self, owner: Any, name: str, value: Any) -> Site | UnrelatedOrigin | None:
        """Tell which changed attribute a module's or class's attribute got its value from.

        UNRELATED where the code names another place, and that holds it; None where the code does
        not say, names both, or may bind the place by other means too.
        """
        ends = set(self._ends((owner, name), value, ()))
        sites = [end for end in ends if isinstance(end, Site)]
        if len(sites) == 1 and True not in ends:
            return sites[0]
        if sites or None in ends or True not in ends:
            return None
        code = self._code(owner)
        return None if code is not None and code.may_set(name) else UNRELATED

    def is_copy(self, owner: Any, name: str) -> bool:
        """Whether the code says that a place has what it holds from another."""
        return bool(_sources(self._bound(owner, name)))

    def leads(self, start: Place, goal: Place) -> bool:
        """Whether a place got what it holds from another one, as far as the code says."""
        waiting, seen = [start], [start]
        while waiting:
            place = waiting.pop()
            sources = _sources(self._bound(*place))
            further = [way for source in sources for way in self._follow(source, place)]
            waiting += [way for way in further if not _is_among(way, seen)]
            seen += waiting
        return _is_among(goal, seen[1:])

    def _ends(self, place: Place, value: Any, seen: tuple[Place, ...]) -> Ends:
        bound = self._bound(*place)
        if not bound:
            yield None
        for source in bound:
            if not isinstance(source, NameSource):
                yield source and source.constant is value
                continue
            for further in self._follow(source, place) or (None,):
                if further is None:
                    yield None
                elif not _is_among(further, seen):
                    yield from self._arrived(further, value, (*seen, place))

    def _arrived(self, place: Place, value: Any, seen: tuple[Place, ...]) -> Ends:
        site = self._sites.get(*place)
        known = site if site is not None and site.knows(value) else None
        if known is not None and known.layers:
            yield known
            return
        known = known or self._sites.leader(*place)
        further = [end for end in self._ends(place, value, seen) if isinstance(end, Site)]
        if (further or known is not None) and site is not None and site.layers:
            yield site  # patched when it held another value of where it is from
        elif further or known is not None:
            yield from further or (known,)
        else:
            there = namespace(place[0]).get(place[1], MISSING)
            yield None if there is MISSING else there is value

    # -- from what the code says to a place --------------------------------------------------------

    def _follow(self, source: NameSource, place: Place) -> list[Place]:
        """Tell the places that a source names, of which one is it; none where nobody can tell."""
        owner, name = place
        module = _module_of(owner)
        if module is None:
            return []
        first, *rest = source.names or ("",)
        if source.module is None and not rest:
            # In a class's body a name may be the class's own, or the module's.
            is_inner = owner is not module and first != name and self._bound(owner, first)
            return [(owner if is_inner else module, first)]
        if source.module is not None:
            owners, rest = [_imported(source, module)], list(source.names)
        else:
            owners = self._objects(owner, module, first)
        places = (_attribute(value, tuple(rest)) for value in owners)
        return [further for further in places if further is not None]

    def _objects(self, owner: Any, module: ModuleType, name: str) -> list[Any]:
        """Return what a name stood for: what it is now, and all that it was bound to."""
        now = [values[name] for values in map(namespace, (owner, module)) if name in values]
        bound = self._bound(module, name)
        if len(bound) == 1 and now:
            return now[:1]
        imports = [source for source in _sources(bound) if source.module is not None]
        ways = (_attribute(_imported(source, module), (*source.names, "")) for source in imports)
        return now[:1] + [way[0] for way in ways if way is not None]

    def _bound(self, owner: Any, name: str) -> set[Value]:
        code = self._code(owner)
        if code is None:
            return set()
        if not isinstance(owner, type):
            return code.own(name) | _by_star(code, name, owner)
        bodies = self._classes.get(owner)
        path = owner.__qualname__.split(".")
        if bodies is None:
            bodies = self._classes[owner] = code.inner(path)
        return set().union(code.own(".".join((*path, name))), *(body.own(name) for body in bodies))

    def _code(self, owner: Any) -> Bindings | None:
        if (module := _module_of(owner)) is None:
            return None
        if id(module) not in self._modules:
            tree = code_of(module)
            self._modules[id(module)] = None if tree is None else Bindings(tree)
        return self._modules[id(module)]


def _sources(values: Iterable[Value]) -> list[NameSource]:
    return [value for value in values if isinstance(value, NameSource)]


def _is_among(place: Place, places: Iterable[Place]) -> bool:
    return any(place[0] is owner and place[1] == name for owner, name in places)


def _module_of(owner: Any) -> ModuleType | None:
    if isinstance(owner, type):
        owner = sys.modules.get(str(namespace(owner).get("__module__")))
    return owner if isinstance(owner, ModuleType) else None


def _imported(source: NameSource, module: ModuleType) -> Any:
    package = str(namespace(module).get("__package__") or "").split(".")
    outer = package[: len(package) + 1 - source.level] if source.level else []
    return sys.modules.get(".".join(filter(None, (*outer, source.module))))


def _attribute(owner: Any, names: tuple[str, ...]) -> Place | None:
    """Walk to the place of the last name; through modules and classes, as they are now."""
    *path, last = names or ("",)
    for name in path:
        owner = _step(owner, name)
    if isinstance(owner, type):
        owner = next((cls for cls in owner.__mro__ if last in namespace(cls)), owner)
    return (owner, last) if isinstance(owner, (ModuleType, type)) else None


def _step(owner: Any, name: str) -> Any:
    value = peek(owner, name)
    is_left = value is MISSING and isinstance(owner, ModuleType)
    return sys.modules.get(f"{owner.__name__}.{name}") if is_left else value


def _by_star(code: Bindings, name: str, module: ModuleType) -> set[Value]:
    """Name every star import that brings a name, of which any may have been the last."""
    brought: set[Value] = set()
    for star in code.stars:
        values = namespace(_imported(star, module))
        listed = values.get("__all__")
        if name in list(listed) if listed is not None else name in values and name[0] != "_":
            brought.add(star._replace(names=(name,)))
    return brought


def code_of(module: ModuleType) -> ast.Module | None:
    """Parse the source that a module was made by; None if there is none, or another by now."""
    values = namespace(module)
    file, spec = str(values.get("__file__") or ""), cast("Any", values.get("__spec__"))
    try:
        if not file.endswith(".py") or not Path(file).exists():
            source = spec.loader.get_source(spec.name).removeprefix("\ufeff")  # in a zip file
        elif _is_as_imported(Path(file), spec):
            source = Path(file).read_bytes()
        else:
            return None
        tree = _parsed(source)
    except Exception:  # noqa: BLE001 - a stranger's loader may raise anything
        return None
    return tree if _has_made(tree, values) else None


def _parsed(source: bytes | str) -> ast.Module:
    """Parse a source; what Python warns of in it was told when it was compiled."""
    name = "patchkit_copies"  # only this one's: another thread may warn of its own meanwhile
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=name)
        return ast.parse(source, name)


def _is_as_imported(file: Path, spec: Any) -> bool:
    """Whether the file is not newer than Python's cache, which each import brings up to date."""
    cached = Path(str(getattr(spec, "cached", None) or ""))
    if not cached.is_file() or type(spec.loader) is not SourceFileLoader:
        return True
    with cached.open("rb") as opened:
        magic, flags, stamp = opened.read(4), opened.read(4), opened.read(8)
    stat = file.stat()
    now = b"".join(int(fact).to_bytes(8, "little")[:4] for fact in (stat.st_mtime, stat.st_size))
    is_fresh = magic == MAGIC_NUMBER and (flags != bytes(4) or stamp == now)
    return is_fresh or sys.dont_write_bytecode


def _has_made(tree: ast.Module, values: dict[str, Any]) -> bool:
    """Whether a module's functions are from this source, as far as it has any of its own file."""
    functions = [value for value in tuple(values.values()) if type(value) is FunctionType]
    codes = [function.__code__ for function in functions]
    own = {
        (code.co_name, code.co_firstlineno)
        for code in codes
        if code.co_filename == values.get("__file__") and code.co_name != "<lambda>"
    }
    made = {
        (node.name, min(part.lineno for part in (node, *node.decorator_list)))
        for node in all_scopes(tree)
    }
    return not own or not own.isdisjoint(made)
