"""Builds dataclasses and pydantic's classes anew whose members are changed.

That is done once for all changes of a group, and once more when they are taken back. A member that
nothing is built from (a plain method) costs two look-ups.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.context import PreparedLayers, unwind
from patchkit.runtime.changes.fields.dataclass_fields import (
    options,
    parts_of,
    post_init_parts,
)
from patchkit.runtime.changes.fields.msgspec_caches import forget_caches
from patchkit.runtime.changes.fields.pydantic_classes import (
    collect_decorators,
    dependents,
    forget_schema,
    is_complete,
    matters,
    rebuild,
    with_default,
)
from patchkit.runtime.changes.fields.type_adapters import (
    adapter_words,
    adapters_of,
    rebuild_adapter,
)
from patchkit.runtime.changes.owners import (
    DECORATORS,
    FIELDS,
    MISSING,
    heirs,
    is_pydantic,
)
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites

_BuildStep = tuple[type, Callable[[Any], None]]
"""A class to be built, and what is done to it."""


class Rebuild:
    """What one group of changes has to rebuild, and what it has rebuilt.

    Args:
        changed: The classes whose fields are changed.
        members: The changed members of classes that are built from their members.
        sites: All changed attributes of this process.
    """

    def __init__(
        self, changed: Iterable[type], members: Iterable[Site], sites: Sites
    ) -> None:
        self._changed = list(changed)
        self._members = list(members)
        self._sites = sites
        self._built: list[type] = []
        self._undos: list[Callable[[], None]] = []
        self.kept: list[str] = []
        """What goes on without the changes, in words."""

    def apply(self) -> None:
        """Carry the changes, which are made, into what was built.

        Raises:
            TargetError: A class cannot be rebuilt.
        """
        classes = dict.fromkeys(self._changed)
        for site in self._members:
            if self._carry(site):
                classes[site.owner] = None
        self._built = list(classes)
        if classes and "msgspec" in sys.modules:
            self.kept = forget_caches(classes)
        if not classes or "pydantic" not in sys.modules:
            return
        errors = self._sites.noted(Rebuilt).build(self, self._built)
        if errors:
            raise TargetError(_joined(errors)) from errors[0]

    def _carry(self, site: Site) -> bool:
        """Make a field's default of a member; return whether its class has to be rebuilt."""
        cls = site.owner
        name = str(site.name)
        if name in vars(cls).get(FIELDS, ()):
            for parts in _default_parts(site, self._sites):
                self._undos.append(parts.undo)
                parts.apply()
            return True
        if name == "__post_init__" and site.original is MISSING:
            constructors = PreparedLayers(list(post_init_parts(site, self._sites)))
            self._undos.append(constructors.undo)
            constructors.apply()
        return is_pydantic(cls) and matters(cls, name, (site.original, site.current))

    def undo(self) -> None:
        """Build again without the changes, which are taken back.

        Raises:
            UndoError: A class cannot be rebuilt, or a member put back; all others are.
        """
        errors = unwind(self._undos)
        built = self._built
        self._built = []
        if built and "msgspec" in sys.modules:
            forget_caches(built)
        if built and "pydantic" in sys.modules:
            errors += self._sites.noted(Rebuilt).without(self, built)
        if errors:
            raise UndoError(_joined(errors))


def _joined(errors: Iterable[Exception]) -> str:
    return "; ".join(str(error) for error in errors)


@dataclass(eq=False)
class _RebuiltClass:
    """One rebuilt class.

    Args:
        cls: The class.
        decorators: The decorated methods that pydantic had found before any patch.
        is_upstreams: Whether `before` is how upstream made the class: it had been built, and with
            no patched part.
        before: What rebuilding has changed, as it was.
        reasons: Who has asked for it to be rebuilt.
    """

    cls: type
    decorators: Any
    is_upstreams: bool
    before: dict[str, Any] = field(default_factory=dict)
    reasons: set[object] = field(default_factory=set)

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Note what changes meanwhile, also where it ends in an error."""
        former = dict(vars(self.cls))
        try:
            yield
        finally:
            current = vars(self.cls)
            for name in dict.fromkeys((*former, *current)):
                value = former.get(name, MISSING)
                if value is not current.get(name, MISSING):
                    self.before.setdefault(name, value)

    def restore(self) -> bool:
        """Put the former objects back if nobody asks for the class any more.

        Returns:
            Whether the class is as upstream made it then, and need not be built.
        """
        if self.reasons or not self.before:
            return False
        for name, value in self.before.items():
            if value is not MISSING:
                setattr(self.cls, name, value)
            elif name in vars(self.cls):
                delattr(self.cls, name)
        return self.is_upstreams


class Rebuilt:
    """The pydantic classes that are rebuilt in this process, and how they were before."""

    def __init__(self) -> None:
        self._records: dict[type, _RebuiltClass] = {}

    def build(self, reason: object, changed: list[type]) -> list[Exception]:
        """Build changed classes, those derived from them, and what embeds any of these.

        Args:
            reason: Who asks for it.
            changed: The classes that are changed.

        Returns:
            An error for each class or adapter that cannot be built.
        """
        classes = dependents(changed)
        for cls in classes:
            self._record(cls).reasons.add(reason)
        return self._build(classes, changed)

    def without(self, reason: object, changed: list[type]) -> list[Exception]:
        """Take that back: what nobody else has changed is as it was; the rest is built anew.

        Args:
            reason: Who asked for it.
            changed: The classes that are changed no more.

        Returns:
            An error for each class or adapter that cannot be built.
        """
        records = self._records
        classes = dependents(changed)
        classes += [
            cls
            for cls in records
            if reason in records[cls].reasons and cls not in classes
        ]
        for cls in classes:
            if cls in records and reason not in records[cls].reasons:
                records[cls].is_upstreams = False
            self._record(cls).reasons.discard(reason)
        altered = [cls for cls in classes if not records[cls].restore()]
        errors = self._build(altered, changed)
        for cls in classes:
            if not records[cls].reasons:
                del records[cls]
        return errors

    def _record(self, cls: type) -> _RebuiltClass:
        if cls not in self._records:
            self._records[cls] = _RebuiltClass(
                cls, vars(cls)[DECORATORS], is_complete(cls)
            )
        return self._records[cls]

    def _build(self, classes: list[type], changed: list[type]) -> list[Exception]:
        errors: list[Exception] = []
        for cls, step in self._steps(classes, changed):
            label = f"{cls.__module__}:{cls.__qualname__}"
            with self._records[cls].noting(), _errors_kept(label, errors):
                step(cls)
        for adapter in adapters_of(changed):
            with _errors_kept(adapter_words(adapter), errors):
                rebuild_adapter(adapter)
        return errors

    def _steps(self, classes: list[type], changed: list[type]) -> list[_BuildStep]:
        """List what has to be done to build some classes, in order."""
        derived = [cls for cls in classes if not set(cls.__mro__).isdisjoint(changed)]
        complete = [cls for cls in classes if is_complete(cls)]
        # These may inherit a changed method.
        steps: list[_BuildStep] = [(cls, self._collect_decorators) for cls in derived]
        # Classes that embed one another have no right order. Of one that is built later the fields
        # are read, and these are the new ones once the changed classes have been built.
        ring: list[type] = []
        if len(complete) > 1:
            ring = [cls for cls in complete if cls in derived]
        for built in (ring, complete):
            steps += [(cls, forget_schema) for cls in complete]
            steps += [(cls, rebuild) for cls in built]
        return steps

    def _collect_decorators(self, cls: type) -> None:
        collect_decorators(cls, self._records[cls].decorators)


@contextlib.contextmanager
def _errors_kept(label: str, errors: list[Exception]) -> Iterator[None]:
    """Add the error to a list with which something cannot be rebuilt."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - pydantic raises what it likes
        failure = TargetError(f"{label} cannot be rebuilt: {error}")
        failure.__cause__ = error
        errors.append(failure)


def _default_parts(site: Site, sites: Sites) -> Iterator[PreparedLayers]:
    """Prepare the default of a field, which is a member of the class that has the field."""
    owner = site.owner
    name = str(site.name)
    outermost = site.layers[-1]
    replaced = vars(owner)[FIELDS][name]

    def change(below: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**below, name: _with_default(below[name], site.current)}

    for cls in (owner, *heirs(owner, FIELDS)):
        # A subclass may have one of its own.
        if vars(cls)[FIELDS].get(name) is replaced:
            layer = Layer(change, base=True, rank=outermost.rank, patch=outermost.patch)
            yield parts_of(cls, layer, sites)


def _with_default(definition: Any, value: Any) -> Any:
    """Return a copy of a dataclass's field with another default."""
    new = copy(definition)
    arguments = options(value)
    if type(definition.default).__module__ == "pydantic.fields":
        new.default = with_default(definition.default, arguments)
    else:
        new.default = arguments.get("default", dataclasses.MISSING)
        new.default_factory = arguments.get("default_factory", dataclasses.MISSING)
    return new
