"""Rebuilds the dataclasses and pydantic classes that a group of changes has changed.

The decorator and pydantic read members of a class once (fields, defaults, validators) and generate
methods and schemas from them. So a change of such a member takes effect once the class is built
again: once for all changes of a group, and once more at their undo.
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
    is_pydantic,
    subclasses_with,
)
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites

_BuildStep = tuple[type, Callable[[Any], None]]
"""A class, and a function to call with it."""


class Rebuild:
    """Rebuilds the classes of one group of changes, and does so again at undo.

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
        """Decoders and structs of msgspec that go on without the changes, in words."""

    def apply(self) -> None:
        """Rebuild the classes, once the changes have been made.

        Raises:
            TargetError: A class cannot be rebuilt.
        """
        classes = dict.fromkeys(self._changed)
        for site in self._members:
            if self._update_generated(site):
                classes[site.owner] = None
        self._built = list(classes)
        if classes and "msgspec" in sys.modules:
            self.kept = forget_caches(classes)
        if not classes or "pydantic" not in sys.modules:
            return
        errors = self._sites.noted(Rebuilt).build(self, self._built)
        if errors:
            raise TargetError(_joined(errors)) from errors[0]

    def _update_generated(self, site: Site) -> bool:
        """Update what the dataclass decorator had generated from a changed member.

        Returns:
            Whether pydantic or msgspec has to compile the class anew, too.
        """
        cls = site.owner
        name = str(site.name)
        # A class attribute with the name of a field is the field's default.
        if name in vars(cls).get(FIELDS, ()):
            for parts in _default_parts(site, self._sites):
                self._undos.append(parts.undo)
                parts.apply()
            return True
        # The generated `__init__` calls `__post_init__` only if the class had one at the time.
        if name == "__post_init__" and site.original is MISSING:
            constructors = PreparedLayers(list(post_init_parts(site, self._sites)))
            self._undos.append(constructors.undo)
            constructors.apply()
        return is_pydantic(cls) and matters(cls, name, (site.original, site.current))

    def undo(self) -> None:
        """Rebuild the classes once more, after the changes have been undone.

        Raises:
            UndoError: A class cannot be rebuilt, or a member cannot be restored. All others have
                been rebuilt and restored by then.
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


def _joined(errors: Iterable[BaseException]) -> str:
    """Return the messages of some errors as one."""
    return "; ".join(str(error) for error in errors)


@dataclass(eq=False)
class _RebuiltClass:
    """A rebuilt pydantic class, with the attributes that rebuilding has replaced.

    Args:
        cls: The class.
        decorators: The validators and serializers that pydantic had found before any patch.
        is_upstreams: Whether `before` is the class as upstream had built it: complete, and with no
            patch on it.
        before: The attributes that rebuilding has replaced, by name; MISSING for a new one.
        reasons: The groups of changes that need the class to be rebuilt.
    """

    cls: type
    decorators: Any
    is_upstreams: bool
    before: dict[str, Any] = field(default_factory=dict)
    reasons: set[object] = field(default_factory=set)

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Note in `before` each attribute that the `with` block replaces, even if it raises."""
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
        """Restore the replaced attributes, if no group of changes needs the rebuilt class any more.

        Returns:
            Whether the class is as upstream had built it, and need not be built again.
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
    """The pydantic classes that are rebuilt in this process, with their former attributes."""

    def __init__(self) -> None:
        self._records: dict[type, _RebuiltClass] = {}

    def build(self, reason: object, changed: list[type]) -> list[Exception]:
        """Build changed classes, their subclasses, and the classes with a field of any of these.

        Args:
            reason: The group of changes that needs it.
            changed: The classes that are changed.

        Returns:
            An error for each class or adapter that cannot be built.
        """
        classes = dependents(changed)
        for cls in classes:
            self._record(cls).reasons.add(reason)
        return self._build(classes, changed)

    def without(self, reason: object, changed: list[type]) -> list[Exception]:
        """Undo `build`: restore classes that no other group needs rebuilt, and rebuild the others.

        Args:
            reason: The group of changes that needed the classes rebuilt, and that is undone.
            changed: The classes that the group had changed.

        Returns:
            An error for each class or adapter that cannot be built.
        """
        records = self._records
        classes = dependents(changed)
        # And classes that depended on the changed ones only by the changes that are undone now.
        classes += [
            cls
            for cls in records
            if reason in records[cls].reasons and cls not in classes
        ]
        for cls in classes:
            # The class was recorded for another group, after this group's `build`: its `before` was
            # built with the changes that are undone now, and is not upstream's.
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
        """Return the record of a class, a new one before it is rebuilt for the first time."""
        if cls not in self._records:
            self._records[cls] = _RebuiltClass(
                cls, vars(cls)[DECORATORS], is_complete(cls)
            )
        return self._records[cls]

    def _build(self, classes: list[type], changed: list[type]) -> list[Exception]:
        """Build classes, and the adapters of changed ones; return an error for each failure."""
        errors: list[Exception] = []
        for cls, step in self._steps(classes, changed):
            label = f"{cls.__module__}:{cls.__qualname__}"
            with self._records[cls].noting(), _collecting_errors(label, errors):
                step(cls)
        for adapter in adapters_of(changed):
            with _collecting_errors(adapter_words(adapter), errors):
                rebuild_adapter(adapter)
        return errors

    def _steps(self, classes: list[type], changed: list[type]) -> list[_BuildStep]:
        """List the calls that build some classes, in the order in which they have to be made."""
        derived = [cls for cls in classes if not set(cls.__mro__).isdisjoint(changed)]
        complete = [cls for cls in classes if is_complete(cls)]
        # For subclasses, too, as they may inherit a validator that was changed.
        steps: list[_BuildStep] = [(cls, self._collect_decorators) for cls in derived]
        # Classes with fields of one another have no right order: one is built while the schema of
        # the other is missing, and pydantic reads the other's fields instead. Fields are right once
        # their class has been built. So the changed classes are built twice: first alone, then in
        # order with all others. (A single class needs that not.)
        built_first: list[type] = []
        if len(complete) > 1:
            built_first = [cls for cls in complete if cls in derived]
        for built in (built_first, complete):
            steps += [(cls, forget_schema) for cls in complete]
            steps += [(cls, rebuild) for cls in built]
        return steps

    def _collect_decorators(self, cls: type) -> None:
        """Find the validators and serializers of a class again."""
        collect_decorators(cls, self._records[cls].decorators)


@contextlib.contextmanager
def _collecting_errors(label: str, errors: list[Exception]) -> Iterator[None]:
    """Add an error that the `with` block raises to a list, with a label in front."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - pydantic raises what it likes
        failure = TargetError(f"{label} cannot be rebuilt: {error}")
        failure.__cause__ = error
        errors.append(failure)


def _default_parts(site: Site, sites: Sites) -> Iterator[PreparedLayers]:
    """Prepare to make a changed class attribute the default of the field with its name.

    Args:
        site: The class attribute.
        sites: All changed attributes of this process.

    Yields:
        The layers on the class, and those on each subclass that inherits the field.
    """
    owner = site.owner
    name = str(site.name)
    outermost = site.layers[-1]
    definition = vars(owner)[FIELDS][name]

    def change(below: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**below, name: _with_default(below[name], site.current)}

    for cls in (owner, *subclasses_with(owner, FIELDS)):
        # A subclass that declares the field itself has a definition and a default of its own.
        if vars(cls)[FIELDS].get(name) is definition:
            layer = Layer(change, base=True, rank=outermost.rank, patch=outermost.patch)
            yield parts_of(cls, layer, sites)


def _with_default(definition: Any, value: Any) -> Any:
    """Return a copy of a dataclass's field with another default.

    Args:
        definition: The `dataclasses.Field`. In a pydantic class, its default may be the `FieldInfo`
            that has the actual default.
        value: The new default.
    """
    new = copy(definition)
    arguments = options(value)
    if type(definition.default).__module__ == "pydantic.fields":
        new.default = with_default(definition.default, arguments)
    else:
        new.default = arguments.get("default", dataclasses.MISSING)
        new.default_factory = arguments.get("default_factory", dataclasses.MISSING)
    return new
