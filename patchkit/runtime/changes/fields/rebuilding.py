"""What follows a change of a dataclass's or pydantic class's members: the class is built anew.

Once for all changes of a group, and once more when they are taken back. A member that nothing is
built from (a plain method) costs two look-ups.
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
from patchkit.runtime.changes.fields.dataclass_fields import heirs, options, parts_of
from patchkit.runtime.changes.fields.pydantic_classes import (
    collect_decorators,
    dependents,
    forget_schema,
    is_whole,
    matters,
    rebuild,
    with_default,
)
from patchkit.runtime.changes.owners import DECORATORS, FIELDS, MISSING, is_pydantic
from patchkit.runtime.changes.sites import Layer, Site, Sites


class Rebuild:
    """What one group of changes has rebuilt: `changed` classes, and those of changed `members`."""

    def __init__(self, changed: Iterable[type], members: Iterable[Site], sites: Sites) -> None:
        self._changed = list(changed)
        self._members = list(members)
        self._sites = sites
        self._built: list[type] = []
        self._undos: list[Callable[[], None]] = []

    def apply(self) -> None:
        """Carry the changes, which are made, into what was built; a TargetError if that fails."""
        built = dict.fromkeys(self._changed)
        for site in self._members:
            cls, name = site.owner, str(site.name)
            if name in vars(cls).get(FIELDS, ()):
                for parts in _default_parts(site, self._sites):
                    self._undos.append(parts.undo)
                    parts.apply()
            elif not (is_pydantic(cls) and matters(cls, name, (site.original, site.current))):
                continue
            built[cls] = None
        if built and "pydantic" in sys.modules:
            self._built = list(built)
            if errors := self._sites.noted(Rebuilt).build(self, self._built):
                raise TargetError("; ".join(str(error) for error in errors)) from errors[0]

    def undo(self) -> None:
        """Build again without the changes, which are taken back; an UndoError once all is done."""
        errors = unwind(self._undos)
        built, self._built = self._built, []
        if built:
            errors += self._sites.noted(Rebuilt).without(self, built)
        if errors:
            raise UndoError("; ".join(str(error) for error in errors))


@dataclass(eq=False)
class _Record:
    """One rebuilt class."""

    cls: type
    known: Any  # the decorated methods that pydantic had found
    is_upstreams: bool  # `before` is how upstream made it, with no part patched or not built yet
    before: dict[str, Any] = field(default_factory=dict)  # what rebuilding has changed, as it was
    reasons: set[object] = field(default_factory=set)  # who asked for it

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Note what changes meanwhile, also where it ends in an error."""
        former = dict(vars(self.cls))
        try:
            yield
        finally:
            new = vars(self.cls)
            for name in (*former, *(name for name in new if name not in former)):
                if former.get(name, MISSING) is not new.get(name, MISSING):
                    self.before.setdefault(name, former.get(name, MISSING))

    def restore(self) -> bool:
        """Put the former objects back where nobody asks any more; tell whether that is all."""
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
        self._records: dict[type, _Record] = {}

    def build(self, reason: object, changed: list[type]) -> list[Exception]:
        """Build changed classes, heirs and who embeds them, as `reason` asks; return errors."""
        classes = dependents(changed)
        for cls in classes:
            self._record(cls).reasons.add(reason)
        return self._build(classes, changed)

    def without(self, reason: object, changed: list[type]) -> list[Exception]:
        """Take that back: what nobody else has changed is as it was; the rest is built anew."""
        classes = dependents(changed)
        records = self._records
        classes += [cls for cls in records if reason in records[cls].reasons and cls not in classes]
        for cls in classes:
            if cls in records and reason not in records[cls].reasons:
                records[cls].is_upstreams = False
            self._record(cls).reasons.discard(reason)
        errors = self._build([cls for cls in classes if not records[cls].restore()], changed)
        for cls in classes:
            if not records[cls].reasons:
                del records[cls]
        return errors

    def _record(self, cls: type) -> _Record:
        if cls not in self._records:
            whole = is_whole(cls)
            self._records[cls] = _Record(cls, vars(cls)[DECORATORS], whole)
        return self._records[cls]

    def _build(self, classes: list[type], changed: list[type]) -> list[Exception]:
        derived = [cls for cls in classes if not set(cls.__mro__).isdisjoint(changed)]
        whole = [cls for cls in classes if is_whole(cls)]
        # These may inherit a changed method.
        steps: list[tuple[type, Callable[[Any], None]]] = [
            (cls, lambda cls: collect_decorators(cls, self._records[cls].known)) for cls in derived
        ]
        # Classes that embed one another have no right order. Of one that is built later the fields
        # are read, and these are the new ones once the changed classes have been built.
        ring = [cls for cls in whole if cls in derived] if len(whole) > 1 else []
        for built in (ring, whole):
            steps += [(cls, forget_schema) for cls in whole]
            steps += [(cls, rebuild) for cls in built]
        errors: list[Exception] = []
        for cls, step in steps:
            try:
                with self._records[cls].noting():
                    step(cls)
            except Exception as error:  # noqa: BLE001 - pydantic raises what it likes
                name = f"{cls.__module__}:{cls.__qualname__}"
                errors.append(TargetError(f"{name} cannot be rebuilt: {error}"))
                errors[-1].__cause__ = error
        return errors


def _default_parts(site: Site, sites: Sites) -> Iterator[PreparedLayers]:
    name, owner, top = str(site.name), site.owner, site.layers[-1]
    replaced = vars(owner)[FIELDS][name]

    def change(below: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**below, name: _with_default(below[name], site.current)}

    for cls in (owner, *heirs(owner, FIELDS)):
        if vars(cls)[FIELDS].get(name) is replaced:  # a subclass may have one of its own
            yield parts_of(cls, Layer(change, True, top.rank, top.patch), sites)


def _with_default(field: Any, value: Any) -> Any:
    new, given = copy(field), options(value)
    if type(field.default).__module__ == "pydantic.fields":
        new.default = with_default(field.default, given)
    else:
        new.default = given.get("default", dataclasses.MISSING)
        new.default_factory = given.get("default_factory", dataclasses.MISSING)
    return new
