"""Keeps functions whose code is edited, and takes any edit off again, in any order.

The function object stays; its code is always compiled from the original text with the edits that
are left, and is the very original once none is left.
"""

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary

from patchkit.core.text.rewriting import (
    FunctionText,
    MiscountError,
    TextEdit,
    describe,
    rewrite,
)
from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.owners import held_elsewhere
from patchkit.runtime.changes.source.recompile import Source, publish

Rank = tuple[int, int]
"""Orders edits, whenever they came: the row's place among rows, and the change's in its row."""


@dataclass(frozen=True, eq=False)
class CodeEdit:
    """One patch's part in a function's code.

    Args:
        label: The change as its row declares it, for messages.
        text_edit: What is replaced in the function's text, and by what.
        rank: Where it comes among the edits of a function.
        patch: The name of its patch.
    """

    label: str
    text_edit: TextEdit
    rank: Rank
    patch: str = ""


@dataclass(frozen=True)
class _EditedState:
    """What some edits make of a function.

    Args:
        edits: The edits, ordered by their ranks.
        attributes: Those of the function that differ from the original, by name.
    """

    edits: tuple[CodeEdit, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


class CodeSite:
    """One function whose code can be edited.

    Args:
        function: The function, which lives as long as it is edited.
        edited: The sites that have an edit on; this one adds itself and takes itself out.

    Raises:
        TargetError: The function's source cannot be had.
    """

    def __init__(self, function: FunctionType, edited: "set[CodeSite]") -> None:
        self.function = function
        self._label = f"the code of {function.__module__}.{function.__qualname__}"
        self.caches: dict[int, Any] = {}
        """Caches of its answers; cleared when its code becomes another."""
        self._edited = edited
        self._source = Source(function)
        self._edits: list[CodeEdit] = []
        self._prepared: dict[Rank, tuple[CodeEdit, _EditedState]] = {}
        self._state = _EditedState()
        self._original: dict[str, Any] = {"__code__": function.__code__}
        # What edits have put there before, as far as anybody still holds it.
        self._former: dict[str, list[Any]] = {"__code__": []}
        self._is_busy = False

    @property
    def patches(self) -> list[str]:
        """The names of the patches that edit the function, the first edit's first."""
        return list(dict.fromkeys(edit.patch for edit in self._edits))

    def prepare(self, edit: CodeEdit) -> None:
        """Build the function with one more edit, after its row's earlier ones.

        Args:
            edit: What `put` is called with later.

        Raises:
            TargetError: The edit does not match, or somebody else has changed the function.
        """
        if not self._is_ours():
            raise TargetError(f"{self._label} was changed by somebody else")
        row = edit.rank[0]
        earlier = [
            prepared
            for prepared, _ in self._prepared.values()
            if prepared.rank[0] == row and prepared.rank < edit.rank
        ]
        state = self._build([*self._edits, *earlier, edit])
        self._prepared[edit.rank] = (edit, state)

    def put(self, edit: CodeEdit) -> None:
        """Put on an edit that was prepared; it finds its place by its rank.

        Args:
            edit: What `prepare` was called with.

        Raises:
            TargetError: It does not match beside the edits that have come since.
        """
        _, state = self._prepared.pop(edit.rank, (edit, _EditedState()))
        edits = [*self._edits, edit]
        if set(state.edits) != set(edits):
            state = self._build(edits)
        # Noted first: what is torn off in the middle can be taken back.
        self._edits = edits
        self._set(state)

    def take(self, edit: CodeEdit) -> None:
        """Take an edit off, if it is on; also one that was put on by half.

        Args:
            edit: What `put` was called with.

        Raises:
            UndoError: Somebody else has changed the code since, or a later edit changes text of
                this one, which so stays until that is taken off.
        """
        if edit not in self._edits:
            return
        self._edits.remove(edit)
        if not self._is_ours():
            raise UndoError(
                f"{self._label} was changed by somebody else; it is left as it is"
            )
        try:
            self._set(self._build(self._edits))
        except TargetError as error:
            self._take_alone(edit, error)

    def _take_alone(self, edit: CodeEdit, error: TargetError) -> None:
        """Take an edit from those in effect, where the edits that are left do not match alone."""
        if edit not in self._state.edits:
            return  # it was torn off before anything was changed
        remaining = [active for active in self._state.edits if active is not edit]
        try:
            self._set(self._build(remaining))
        except TargetError:
            raise UndoError(
                f"{edit.label} stays in effect until the edit is undone that builds on it: {error}"
            ) from error

    def _build(self, edits: list[CodeEdit]) -> _EditedState:
        """Build what these edits make of the original; a TargetError where one does not match."""
        if not edits:
            return _EditedState()
        ordered = tuple(sorted(edits, key=lambda edit: edit.rank))
        function = self._source.text
        for edit in ordered:
            function = self._rewritten(function, edit)
        try:
            return _EditedState(ordered, self._attributes(function))
        except TargetError as error:
            labels = dict.fromkeys(edit.label for edit in ordered)
            raise TargetError(f"{', '.join(labels)}: {error}") from error

    def _rewritten(self, function: FunctionText, edit: CodeEdit) -> FunctionText:
        try:
            return rewrite(function, edit.text_edit)
        except MiscountError as error:
            fault = describe(error, edit.text_edit, self._source.place)
            raise TargetError(f"{edit.label}: {fault}") from error
        except TargetError as error:
            raise TargetError(f"{edit.label}: {error}") from error

    def _attributes(self, function: FunctionText) -> dict[str, Any]:
        """Compile an edited text; return the function's attributes that it changes."""
        original = self._source.text
        module_text = self._source.whole(function.text)
        filename = publish(module_text, self._source.place.file)
        code = self._source.compiled(function.text, filename)
        if function.text.startswith(original.text[: original.header_end]):
            return {"__code__": code}
        from patchkit.runtime.changes.source.parameters import edited_values  # noqa: PLC0415 - few need it

        values = edited_values(
            self.function, self._original, original.header, function.header
        )
        return {**values, "__code__": code}

    def _is_ours(self) -> bool:
        """Whether the function has nothing that somebody else has put there."""
        for name, original in self._original.items():
            current = getattr(self.function, name)
            ours = [original, *self._former[name]]
            if not _contains(ours, current):
                return False
        return True

    def is_intact(self) -> bool:
        """Whether the function has what was last put there; another thread may be at it."""
        return self._has_all() or self._is_busy or self._has_all()

    def _has_all(self) -> bool:
        attributes = {**self._original, **self._state.attributes}
        return all(
            getattr(self.function, name) is value for name, value in attributes.items()
        )

    def _set(self, state: _EditedState) -> None:
        """Give the function what a state says, and the original for the rest."""
        for name, value in state.attributes.items():
            self._original.setdefault(name, getattr(self.function, name))
            former = self._former.setdefault(name, [])
            former[:] = held_elsewhere(former)
            if not _contains(former, value):
                former.append(value)
        self._is_busy = True
        try:
            self._state = state
            if state.edits:
                self._edited.add(self)
            else:
                self._edited.discard(self)
            for name, original in self._original.items():
                value = state.attributes.get(name, original)
                if getattr(self.function, name) is not value:
                    setattr(self.function, name, value)
            for cache in self.caches.values():
                cache.cache_clear()
        finally:
            self._is_busy = False


def _contains(objects: list[Any], value: Any) -> bool:
    """Whether a list has this very object, not only an equal one."""
    return any(candidate is value for candidate in objects)


class CodeSites:
    """The functions of this process that are edited, or are about to be."""

    def __init__(self) -> None:
        self._edited: set[CodeSite] = set()
        self._sites: WeakValueDictionary[int, CodeSite] = WeakValueDictionary()

    def get(self, function: FunctionType) -> CodeSite | None:
        """Return the site of a function, or None where nothing has edited it.

        Args:
            function: The function itself, beneath all that is around it.
        """
        site = self._sites.get(id(function))
        if site is None or site.function is not function:
            return None
        return site

    def at(self, function: FunctionType) -> CodeSite:
        """Return the site of a function, a new one where it has none.

        Args:
            function: The function itself, beneath all that is around it.

        Raises:
            TargetError: The function's source cannot be had.
        """
        site = self._sites.get(id(function))
        if site is None:
            site = CodeSite(function, self._edited)
            self._sites[id(function)] = site
        return site
