"""
What follows a change of a dataclass's or pydantic class's members: the class is built anew.

Once for all changes of a group, and once more when they are taken back. A member that nothing is
built from (a plain method) costs two look-ups.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.changes.fields import pydantic_classes
from patchkit.changes.fields.embedding import dependents
from patchkit.changes.owners import DECORATORS, FIELDS, MISSING, is_pydantic
from patchkit.errors import TargetError, UndoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from patchkit.changes.context import PreparedLayers
    from patchkit.changes.sites import Site, Sites


class Rebuild:
    """
    The rebuilding that one group of changes asks for.

    Args:
        changed: classes whose fields the changes alter themselves.
        members: changed members of dataclasses and pydantic classes.
        sites: every changed attribute of this process.

    """

    def __init__(self, changed: Iterable[type], members: Iterable[Site], sites: Sites) -> None:
        self._changed = list(changed)
        self._members = list(members)
        self._sites = sites
        self._built: list[type] = []
        self._defaults: list[PreparedLayers] = []

    def apply(self) -> None:
        """
        Carry the changes, which are made, into what was built from the members.

        Raises:
            TargetError: pydantic cannot build a class any more.

        """
        built = dict.fromkeys(self._changed)
        for site in self._members:
            if self._is_default(site):
                self._set_default(site)
                built[site.owner] = None
            elif self._matters(site):
                built[site.owner] = None
        if built and "pydantic" in sys.modules:
            self._built = list(built)
            self._build()

    def undo(self) -> None:
        """
        Build again without the changes, which are taken back; nothing before `apply`.

        Raises:
            UndoError: something could not be taken back; the rest was.

        """
        defaults, self._defaults = self._defaults, []
        built, self._built = self._built, []
        errors: list[Exception] = []
        for parts in defaults:
            try:
                parts.undo()
            except UndoError as error:
                errors.append(error)
        if built:
            from patchkit.changes.fields.rebuilding import rebuilt  # noqa: PLC0415 - few changes need it

            errors += rebuilt(self._sites).without(self, built)
        if errors:
            raise UndoError("; ".join(str(error) for error in errors))

    def _build(self) -> None:
        from patchkit.changes.fields.rebuilding import rebuilt  # noqa: PLC0415 - few changes need it

        errors = rebuilt(self._sites).build(self, self._built)
        if errors:
            raise TargetError("; ".join(str(error) for error in errors)) from errors[0]

    def _is_default(self, site: Site) -> bool:
        return site.name in vars(site.owner).get(FIELDS, ())

    def _matters(self, site: Site) -> bool:
        if not is_pydantic(site.owner):
            return False
        from patchkit.changes.fields.pydantic_classes import matters  # noqa: PLC0415 - is loaded by now

        return matters(site.owner, str(site.name), (site.original, site.current))

    def _set_default(self, site: Site) -> None:
        from patchkit.changes.fields.dataclass_fields import default_parts  # noqa: PLC0415 - few need it

        for parts in default_parts(site, self._sites):
            self._defaults.append(parts)
            parts.apply()


@dataclass(eq=False)
class _Record:
    """
    One rebuilt class.

    Args:
        cls: the class.
        known: the decorated methods that pydantic had found.
        is_upstreams: whether `before` is how upstream made it; otherwise it was made while it
            or a part of it was patched, or was not built yet.
        before: what rebuilding has changed, as it was.
        reasons: who asked for it.

    """

    cls: type
    known: Any
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
            new = vars(self.cls)
            for name in (*former, *(name for name in new if name not in former)):
                if former.get(name, MISSING) is not new.get(name, MISSING):
                    self.before.setdefault(name, former.get(name, MISSING))

    def restore(self) -> None:
        """Put the former objects back."""
        for name, value in self.before.items():
            if value is not MISSING:
                setattr(self.cls, name, value)
            elif name in vars(self.cls):
                delattr(self.cls, name)


class Rebuilt:
    """Every rebuilt class."""

    def __init__(self) -> None:
        self._records: dict[type, _Record] = {}

    def build(self, reason: object, changed: list[type]) -> list[Exception]:
        """
        Build changed classes anew, with all that derives from them or embeds them.

        Args:
            reason: stands for who asks; the same is given to `without`.
            changed: the classes.

        Returns:
            What went wrong.

        """
        classes = dependents(changed)
        for cls in classes:
            self._record(cls).reasons.add(reason)
        return self._build(classes, _heirs_of(changed, classes))

    def without(self, reason: object, changed: list[type]) -> list[Exception]:
        """
        Do the same after the change is taken back.

        What nobody else has changed gets its former objects back. So do not those that came later:
        they are built anew.
        """
        classes = dependents(changed)
        records = self._records
        classes += [cls for cls in records if reason in records[cls].reasons and cls not in classes]
        for cls in classes:
            if cls in records and reason not in records[cls].reasons:
                records[cls].is_upstreams = False
            self._record(cls).reasons.discard(reason)
        done = {cls for cls in classes if self._restore(records[cls])}
        left = [cls for cls in classes if cls not in done]
        errors = self._build(left, _heirs_of(changed, left))
        for cls in classes:
            if not records[cls].reasons:
                del records[cls]
        return errors

    def _record(self, cls: type) -> _Record:
        if cls not in self._records:
            whole = pydantic_classes.is_whole(cls)
            self._records[cls] = _Record(cls, vars(cls)[DECORATORS], whole)
        return self._records[cls]

    def _restore(self, record: _Record) -> bool:
        """Restore what can be; tell whether that is all of it."""
        if record.reasons or not record.before:
            return False
        record.restore()
        return record.is_upstreams

    def _build(self, classes: list[type], heirs: set[type]) -> list[Exception]:
        errors: list[Exception] = []
        whole = [cls for cls in classes if pydantic_classes.is_whole(cls)]
        steps: list[tuple[type, Callable[[Any], None]]] = []
        steps += [(cls, self._collect) for cls in classes if cls in heirs]
        # Classes that embed one another have no right order. Of one that is built later the fields
        # are read, and these are the new ones once the changed classes have been built.
        ring = [cls for cls in whole if cls in heirs] if len(whole) > 1 else []
        for built in (ring, whole):
            steps += [(cls, pydantic_classes.forget_schema) for cls in whole]
            steps += [(cls, pydantic_classes.rebuild) for cls in built]
        for cls, step in steps:
            try:
                with self._records[cls].noting():
                    step(cls)
            except Exception as error:  # noqa: BLE001 - pydantic raises what it likes
                errors.append(_told(cls, error))
        return errors

    def _collect(self, cls: type) -> None:
        pydantic_classes.collect_decorators(cls, self._records[cls].known)


def rebuilt(sites: Sites) -> Rebuilt:
    """Return the record of this process."""
    return sites.noted(Rebuilt)


def _heirs_of(changed: list[type], classes: list[type]) -> set[type]:
    """Return those that may inherit a changed method."""
    return {cls for cls in classes if not set(cls.__mro__).isdisjoint(changed)}


def _told(cls: type, error: Exception) -> Exception:
    told = TargetError(f"{cls.__module__}:{cls.__qualname__} cannot be rebuilt: {error}")
    told.__cause__ = error
    return told
