"""Functions whose code is edited. Several edits may lie on one; any can be taken off, in any order.

The function object stays; its code is always compiled from the original text with the edits that
are left, and is the very original once none is left.
"""

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary

from patchkit.core.text.rewriting import FunctionText, MiscountError, TextEdit, describe, rewrite
from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.owners import held_elsewhere
from patchkit.runtime.changes.source.recompile import Source, publish


@dataclass(frozen=True, eq=False)
class CodeEdit:
    """One patch's part in a function's code; its rank orders edits, whenever they came."""

    words: str
    wanted: TextEdit
    rank: tuple[int, int]


@dataclass(frozen=True)
class _Built:
    """What a function is to have: the edits that it comes from, its attributes that are others."""

    edits: tuple[CodeEdit, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)


class CodeSite:
    """One function, among the `edited` as long as it is; a TargetError where it has no source."""

    def __init__(self, function: FunctionType, edited: "set[CodeSite]") -> None:
        self.function = function
        self._words = f"the code of {function.__module__}.{function.__qualname__}"
        self.caches: dict[int, Any] = {}  # of its answers; cleared when its code becomes another
        self._edited = edited
        self._source = Source(function)
        self._edits: list[CodeEdit] = []
        self._coming: dict[tuple[int, int], tuple[CodeEdit, _Built]] = {}
        self._built = _Built()
        self._original: dict[str, Any] = {"__code__": function.__code__}
        self._known: dict[str, list[Any]] = {"__code__": []}
        self._is_busy = False

    def prepare(self, edit: CodeEdit) -> None:
        """Build it with one more edit, after its row's earlier ones; a TargetError for no match."""
        if not self._is_ours():
            raise TargetError(f"{self._words} was changed by somebody else")
        coming = [other for other, _ in self._coming.values() if other.rank[0] == edit.rank[0]]
        before = [other for other in coming if other.rank < edit.rank]
        self._coming[edit.rank] = edit, self._build([*self._edits, *before, edit])

    def put(self, edit: CodeEdit) -> None:
        """Put on an edit that was prepared; it finds its place by its rank."""
        _, built = self._coming.pop(edit.rank, (edit, _Built()))
        edits = [*self._edits, edit]
        if set(built.edits) != set(edits):
            built = self._build(edits)
        self._edits = edits  # noted first: what is torn off in the middle can be taken back
        self._set(built)

    def take(self, edit: CodeEdit) -> None:
        """Take an edit off, if it is on; also one that was put on by half.

        An UndoError where somebody else has changed the code since, or a later edit changes text
        of this one, which so stays until that is taken off.
        """
        if edit not in self._edits:
            return
        self._edits.remove(edit)
        if not self._is_ours():
            raise UndoError(f"{self._words} was changed by somebody else; it is left as it is")
        try:
            self._set(self._build(self._edits))
        except TargetError as error:
            self._set_beside(edit, error)

    def _set_beside(self, edit: CodeEdit, error: TargetError) -> None:
        if edit not in self._built.edits:
            return  # it was torn off before anything was changed
        try:
            self._set(self._build([other for other in self._built.edits if other is not edit]))
        except TargetError:
            raise UndoError(
                f"{edit.words} stays in effect until the edit is undone that builds on it: {error}"
            ) from error

    def _build(self, edits: list[CodeEdit]) -> _Built:
        if not edits:
            return _Built()
        ordered = tuple(sorted(edits, key=lambda edit: edit.rank))
        function = self._source.text
        for edit in ordered:
            try:
                function = rewrite(function, edit.wanted)
            except TargetError as error:
                said: object = error
                if isinstance(error, MiscountError):
                    said = describe(error, edit.wanted, self._source.place)
                raise TargetError(f"{edit.words}: {said}") from error
        try:
            return _Built(ordered, self._values(function))
        except TargetError as error:
            words = dict.fromkeys(edit.words for edit in ordered)
            raise TargetError(f"{', '.join(words)}: {error}") from error

    def _values(self, function: FunctionText) -> dict[str, Any]:
        text, old = function.text, self._source.text
        filename = publish(self._source.whole(text), self._source.place.file)
        code = self._source.compiled(text, filename)
        if text.startswith(old.text[: old.header_end]):
            return {"__code__": code}
        from patchkit.runtime.changes.source.parameters import edited_values  # noqa: PLC0415 - few need it

        values = edited_values(self.function, self._original, old.header, function.header)
        return {**values, "__code__": code}

    def _is_ours(self) -> bool:
        return all(
            any(getattr(self.function, name) is known for known in (value, *self._known[name]))
            for name, value in self._original.items()
        )

    def is_intact(self) -> bool:
        """Whether the function has what was last put there; another thread may be at it."""
        return self._has_all() or self._is_busy or self._has_all()

    def _has_all(self) -> bool:
        values = {**self._original, **self._built.values}
        return all(getattr(self.function, name) is value for name, value in values.items())

    def _set(self, built: _Built) -> None:
        for name, value in built.values.items():
            self._original.setdefault(name, getattr(self.function, name))
            known = self._known.setdefault(name, [])
            known[:] = held_elsewhere(known)
            if all(former is not value for former in known):
                known.append(value)
        self._is_busy = True
        try:
            self._built = built
            (self._edited.add if built.edits else self._edited.discard)(self)
            for name, original in self._original.items():
                value = built.values.get(name, original)
                if getattr(self.function, name) is not value:
                    setattr(self.function, name, value)
            for cache in self.caches.values():
                cache.cache_clear()
        finally:
            self._is_busy = False


class CodeSites:
    """The functions of this process that are edited, or are about to be."""

    def __init__(self) -> None:
        self._edited: set[CodeSite] = set()
        self._sites: WeakValueDictionary[int, CodeSite] = WeakValueDictionary()

    def get(self, function: FunctionType) -> CodeSite | None:
        """Return the site of a function that has been edited, or None."""
        site = self._sites.get(id(function))
        return site if site is not None and site.function is function else None

    def at(self, function: FunctionType) -> CodeSite:
        """Return the site of a function; a TargetError where its source cannot be had."""
        site = self._sites.get(id(function))
        if site is None:
            site = self._sites[id(function)] = CodeSite(function, self._edited)
        return site
