"""Prepares an AfterImport with `sets`: what its call puts on the named targets becomes layers.

So undo, the order of rows, copies and checks for strangers work for them as for a Replace. Around
the call, the namespaces of the targets' modules are compared, to find what it changed else.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import AfterImport
from patchkit.core.rows.target import Target, TargetStep
from patchkit.errors import TargetError
from patchkit.runtime.changes import modules
from patchkit.runtime.changes.context import Context, Route, route_of, unwind
from patchkit.runtime.changes.objects.refusals import (
    refuse_fixed,
    refuse_members_and_slots,
)
from patchkit.runtime.changes.owners import (
    MISSING,
    inherited,
    locate,
    namespace,
    read,
    restore,
    write,
)
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites, site_key

_KEPT_BY_PYTHON = frozenset(
    {
        "__annotations__",
        "__annotations_cache__",
        "__warningregistry__",
        "_abc_impl",
    }
)
"""Attributes that Python itself sets when a module or class is used."""


class _Named(NamedTuple):
    """A target that `sets` names.

    Args:
        target: The target.
        module: Its module.
        site: Its attribute or item.
        layer: The layer that the call's object becomes.
    """

    target: Target
    module: ModuleType
    site: Site
    layer: Layer


class _Difference(NamedTuple):
    """An attribute that a call has changed.

    Args:
        name: Its name, in the form of a target.
        owner: The module or class that has it.
        attribute: The attribute.
        is_new: Whether there was none before, not even an inherited one.
    """

    name: str
    owner: Any
    attribute: str
    is_new: bool


def prepare(change: AfterImport, context: Context) -> "PreparedSets":
    """Find the function to call, import the modules of the targets, and find the targets in them.

    Args:
        change: The change, as its row declares it.
        context: What it is prepared with; the change's module has been imported.

    Returns:
        The change, to be applied.

    Raises:
        TargetError: The function or a target is missing, or a target cannot be set.
    """
    call = modules.prepare(change, context)
    assert isinstance(call, modules.PreparedCall)
    assert context.module is not None
    named: list[_Named] = []
    _the_call, *parts = change.parts
    for part in parts:
        target = part.place
        label = f"AfterImport({change.module!r}) sets {str(target)!r}"
        module = _module_of(target, context.module, label)
        location = locate(module, target.qualname)
        refuse_members_and_slots(location, None, label)
        refuse_fixed(location, label)
        site = context.sites.at(location)
        if not any(site is other.site for other in named):
            # It changes nothing until the call has run: then it gives what the call has set. Like
            # a Replace's it lies below the layers that wrap (`base`).
            layer = context.layer(lambda below: below, base=True)
            named.append(_Named(target, module, site, layer))
    return PreparedSets(call, change.call, context.module, named, context.sites)


def _module_of(target: Target, module: ModuleType, label: str) -> ModuleType:
    """Import the module of a target; TargetError if that fails.

    Args:
        target: The target.
        module: The module of the change.
        label: The start of the message.
    """
    if target.module == module.__name__:
        return module
    try:
        return importlib.import_module(target.module)
    except ImportError as error:
        raise TargetError(f"{label}: its module cannot be imported: {error}") from error


class PreparedSets(Record, frozen=False, eq=False):
    """An AfterImport with `sets`.

    Args:
        call: The call itself.
        name: The name of the function in the body.
        module: The module of the change.
        named: The targets that `sets` names.
        all_sites: All changed attributes of this process.
        changed: The targets that the call has changed, each with its attribute.
        result: What the call has not changed though it is named, and what it has changed though it
            is not; with its name, the fields of an entry in the journal.
    """

    call: modules.PreparedCall
    name: str
    module: ModuleType
    named: list[_Named]
    all_sites: Sites
    changed: list[tuple[Target, Site]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    _unnamed: list[str] = field(default_factory=list)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The attributes of all named targets."""
        return tuple(each.site for each in self.named)

    @property
    def package(self) -> str:
        """The package of the function, which the functions that it puts there are likely from."""
        function = getattr(self.call.function, "func", self.call.function)
        home = getattr(function, "__module__", None) or type(function).__module__
        return str(home).partition(".")[0]

    @property
    def left(self) -> tuple[str, ...]:
        """What undo does not restore, in words."""
        if not self.call.left:
            return ()
        return tuple(
            f"{name} ({self.name}() has set it, and sets does not name it)"
            for name in self._unnamed
        )

    def routes(self) -> list[Route]:
        """Return the routes to the targets that the call has changed."""
        changed = {id(site) for _, site in self.changed}
        return [
            route_of(str(each.target), each.module, each.target.qualname, [each.site])
            for each in self.named
            if id(each.site) in changed
        ]

    def apply(self) -> None:
        """Call the function, and put a layer on each named target that it has changed.

        It finds the targets as they are beneath the layers that will lie above its own.
        """
        lifted: list[tuple[Site, Layer]] = []
        values_before: list[Any] = []
        try:
            for each in self.named:
                _lift(each, lifted)
            values_before += [
                read(each.site.owner, each.site.name) for each in self.named
            ]
            snapshot = _Snapshot(
                {self.module, *(each.module for each in self.named)}, self.all_sites
            )
            self.call.apply()
            self._compare(snapshot)
            self._put_layers(values_before)
        except BaseException:
            # (There are no values if the error came before the call, which has set nothing then.)
            for each, value in zip(self.named, values_before, strict=False):
                if each.layer not in each.site.layers:
                    _put_back(each.site, value)
            raise
        finally:
            self._put_again(lifted)

    def _put_again(self, lifted: list[tuple[Site, Layer]]) -> None:
        """Put the lifted layers back, above the call's.

        If one refuses what the call has set, the call's layers are removed, and all others put on.
        """
        try:
            for site, layer in reversed(lifted):
                site.put(layer)
        except Exception:
            for each in self.named:
                each.site.remove(each.layer)
            for site, layer in reversed(lifted):
                if layer not in site.layers:
                    site.put(layer)
            raise

    def _compare(self, snapshot: "_Snapshot") -> None:
        """Note what the call has changed besides the named targets."""
        named = {site_key(each.site.owner, each.site.name) for each in self.named}
        differences: list[_Difference] = []
        for difference in snapshot.differences():
            key = site_key(difference.owner, difference.attribute)
            if key not in named:
                differences.append(difference)
        self._unnamed = [difference.name for difference in differences]
        changed_names = [each.name for each in differences if not each.is_new]
        self.result = {"call": self.name, "left": [], "unnamed": changed_names}

    def _put_layers(self, values_before: Iterable[Any]) -> None:
        """Put a layer on each named target whose value is not the one before the call."""
        self.changed = []
        for each, before in zip(self.named, values_before, strict=True):
            target, _, site, layer = each
            value = read(site.owner, site.name)
            if value is before:
                self.result["left"].append(str(target))
                continue
            if value is MISSING:
                raise TargetError(
                    f"{self.name}() has removed {target}, expected another object there"
                )
            if not (site.own or site.layers):
                # `put` reads the inherited value: without this, it would read the new one.
                _put_back(site, before)
            layer.make = partial(_constant, value)
            site.put(layer)
            self.changed.append((target, site))

    def undo(self) -> None:
        """Remove the layers, then call what the function has returned, if that is an undo."""
        removals: list[Callable[[], None]] = [
            partial(each.site.remove, each.layer) for each in self.named
        ]
        errors = unwind(removals)
        has_undo = self.call.returned_undo
        errors += unwind([self.call.undo])
        if has_undo:
            for each in self.named:
                _settle(each.site)
        if errors:
            raise errors[0]


def _constant(value: Any, _below: Any) -> Any:
    """Return the first argument: the `make` of a layer, whatever lies below."""
    return value


def _lift(named: _Named, lifted: list[tuple[Site, Layer]]) -> None:
    """Remove the layers of a target that will lie above the call's, and note them in a list."""
    _, _, site, own = named
    for layer in reversed(site.layers):
        if layer.height > own.height:
            lifted.append((site, layer))
            site.remove(layer)


def _put_back(site: Site, value: Any) -> None:
    """Store the value that an attribute had before the call, unless it has it still."""
    if site.own or site.layers:
        if read(site.owner, site.name) is not value:
            write(site.owner, site.name, value)
    else:
        restore(site.owner, site.name, value)


def _settle(site: Site) -> None:
    """Store the value of the layers that are left, if the function's own undo has set another one.

    It restores what the function had found, which may be a value without these layers.
    """
    with site.guard:
        if site.knows(read(site.owner, site.name)):
            _put_back(site, site.current)


class _Snapshot:
    """The attributes of modules, and of the classes that they define, as they are now.

    Args:
        of_modules: The modules.
        sites: All changed attributes of this process.
    """

    def __init__(self, of_modules: Iterable[ModuleType], sites: Sites) -> None:
        self._sites = sites
        self._spaces: list[tuple[str, Any, dict[str, Any]]] = []
        for module in sorted(of_modules, key=lambda module: module.__name__):
            name = module.__name__
            attributes = dict(namespace(module))
            self._spaces.append((f"{name}:", module, attributes))
            for cls in _classes_of(module, name):
                label = f"{name}:{cls.__qualname__}."
                self._spaces.append((label, cls, dict(vars(cls))))

    def differences(self) -> Iterator[_Difference]:
        """Yield the attributes that somebody else than patchkit has changed since."""
        for label, owner, before in self._spaces:
            now = dict(namespace(owner))
            for attribute in {**before, **now}:
                old = before.get(attribute, MISSING)
                new = now.get(attribute, MISSING)
                if new is old or self._is_to_be_expected(owner, attribute, new):
                    continue
                if old is MISSING and isinstance(owner, type):
                    old = inherited(owner, attribute)
                is_new = old is MISSING
                yield _Difference(f"{label}{attribute}", owner, attribute, is_new)

    def _is_to_be_expected(self, owner: Any, attribute: str, value: Any) -> bool:
        """Whether Python or patchkit sets an attribute to a value: a submodule, a patched copy."""
        if attribute in _KEPT_BY_PYTHON:
            return True
        if isinstance(value, ModuleType) and isinstance(owner, ModuleType):
            submodule = f"{owner.__name__}.{attribute}"
            return value is sys.modules.get(submodule)
        name: TargetStep = attribute
        changed = self._sites.get(owner, name)
        leader = self._sites.leader(owner, name)
        if changed is not None and changed.knows(value):
            return True
        return leader is not None and leader.knows(value)


def _classes_of(owner: Any, module: str) -> Iterator[type]:
    """Yield the classes in an owner that a module defines, and the classes in them."""
    for name, value in list(namespace(owner).items()):
        # A class that has another name, too, is found under its own.
        if (
            isinstance(value, type)
            and value.__module__ == module
            and value.__name__ == name
        ):
            yield value
            yield from _classes_of(value, module)
