"""Gives a function edited code, and removes edits again, in any order.

The function object stays the same. Its code is always compiled from the original text with all
edits that are in place, and is the very original once no edit remains.
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
from patchkit.runtime.changes.site import held_elsewhere
from patchkit.runtime.changes.source.recompile import Source, publish

Rank = tuple[int, int]
"""The position of an edit's row, and of the change in it: it decides the order of edits."""


@dataclass(frozen=True, eq=False)
class CodeEdit:
    """One change of a function's text.

    Args:
        label: The change as its row declares it, for messages.
        text_edit: The text to replace, and the new text.
        rank: Decides its position among the edits of a function.
        patch: The name of its patch.
    """

    label: str
    text_edit: TextEdit
    rank: Rank
    patch: str = ""


@dataclass(frozen=True)
class _EditedState:
    """The result of some edits of a function.

    Args:
        edits: The edits, ordered by their ranks.
        attributes: The attributes of the function that differ from the original ones, by name:
            `__code__`, and `__defaults__` or the like if the `def` line was edited.
    """

    edits: tuple[CodeEdit, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


class CodeSite:
    """One function whose code can be edited.

    Args:
        function: The function.
        edited: All sites with an edit. This one adds and removes itself: it has to exist as long as
            its function is edited.

    Raises:
        TargetError: The function has no source, or not the one that is loaded.
    """

    def __init__(self, function: FunctionType, edited: "set[CodeSite]") -> None:
        self.function = function
        self._label = f"the code of {function.__module__}.{function.__qualname__}"
        self.caches: dict[int, Any] = {}
        """Caches of the function's results, by id; cleared whenever its code changes."""
        self._edited = edited
        self._source = Source(function)
        # The edits that are asked for. Those in effect, in `_state`, may be more: an edit that was
        # removed stays in effect as long as another one changes text that it has made.
        self._edits: list[CodeEdit] = []
        self._prepared: dict[Rank, tuple[CodeEdit, _EditedState]] = {}
        """Edits that are prepared and not put yet, each with the state that `put` will set."""
        self._state = _EditedState()
        self._original: dict[str, Any] = {"__code__": function.__code__}
        # Former values of edited attributes that something still refers to.
        self._former: dict[str, list[Any]] = {"__code__": []}
        self._is_busy = False

    @property
    def patches(self) -> list[str]:
        """The names of the patches that edit the function, the first edit's first."""
        return list(dict.fromkeys(edit.patch for edit in self._edits))

    def prepare(self, edit: CodeEdit) -> None:
        """Check that an edit can be made, together with earlier edits of its row.

        Args:
            edit: The edit, which `put` is to be called with later.

        Raises:
            TargetError: The edit does not match, or other code has changed the function.
        """
        if not self._is_ours():
            raise TargetError(f"{self._label} was changed by somebody else")
        # Edits of one row are applied together, and a later one may change text of an earlier one.
        row = edit.rank[0]
        earlier = [
            prepared
            for prepared, _ in self._prepared.values()
            if prepared.rank[0] == row and prepared.rank < edit.rank
        ]
        state = self._build([*self._edits, *earlier, edit])
        self._prepared[edit.rank] = (edit, state)

    def put(self, edit: CodeEdit) -> None:
        """Make an edit; its rank decides its position among the others.

        Args:
            edit: The edit that `prepare` was called with.

        Raises:
            TargetError: It does not match any more, since other edits have been made.
        """
        # `prepare` has built the state with this edit, unless the edit was put and removed since.
        # That state is right if no other edit has been made or removed in the meantime.
        _, state = self._prepared.pop(edit.rank, (edit, _EditedState()))
        edits = [*self._edits, edit]
        if set(state.edits) != set(edits):
            state = self._build(edits)
        # Before anything is changed, so that `remove` can undo it after an interruption.
        self._edits = edits
        self._set(state)

    def remove(self, edit: CodeEdit) -> None:
        """Remove an edit, if it is in place.

        Args:
            edit: The edit that `put` was called with, even if that was interrupted.

        Raises:
            UndoError: Other code has changed the function since; or another edit changes text that
                this edit has made, so that this edit stays as long as that one.
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
            self._remove_alone(edit, error)

    def _remove_alone(self, edit: CodeEdit, error: TargetError) -> None:
        """Remove one edit, and keep those in effect that were removed before and are built on.

        Args:
            edit: The edit.
            error: Why the edits that should remain cannot be made without earlier removed ones.
        """
        if edit not in self._state.edits:
            return  # `put` was interrupted before it changed anything
        remaining = [active for active in self._state.edits if active is not edit]
        try:
            self._set(self._build(remaining))
        except TargetError:
            raise UndoError(
                f"{edit.label} stays in effect until the edit is undone that builds on it: {error}"
            ) from error

    def _build(self, edits: list[CodeEdit]) -> _EditedState:
        """Compile the original text with some edits; raise a TargetError if one does not match."""
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
        """Return a function's text with an edit; raise a TargetError if that does not match."""
        try:
            return rewrite(function, edit.text_edit)
        except MiscountError as error:
            fault = describe(error, edit.text_edit, self._source.place)
            raise TargetError(f"{edit.label}: {fault}") from error
        except TargetError as error:
            raise TargetError(f"{edit.label}: {error}") from error

    def _attributes(self, function: FunctionText) -> dict[str, Any]:
        """Compile an edited text; return the attributes of the function that it changes."""
        original = self._source.text
        module_text = self._source.whole(function.text)
        filename = publish(module_text, self._source.place.file)
        code = self._source.compiled(function.text, filename)
        # If the text up to the colon of the `def` line is as it was, only the code changes.
        if function.text.startswith(original.text[: original.header_end]):
            return {"__code__": code}
        from patchkit.runtime.changes.source.parameters import edited_values  # noqa: PLC0415 - few need it

        values = edited_values(
            self.function, self._original, original.header, function.header
        )
        return {**values, "__code__": code}

    def _is_ours(self) -> bool:
        """Whether all attributes of the function are original or from an edit, now or formerly."""
        for name, original in self._original.items():
            current = getattr(self.function, name)
            known_values = [original, *self._former[name]]
            if not _contains(known_values, current):
                return False
        return True

    def is_intact(self) -> bool:
        """Whether the function still has the attributes that were set last.

        While another thread is setting them, the answer is yes.
        """
        # Once more: the other thread may have finished between the first two tests.
        return self._has_all() or self._is_busy or self._has_all()

    def _has_all(self) -> bool:
        """Whether the function has all attributes of its state, and is original otherwise."""
        attributes = {**self._original, **self._state.attributes}
        return all(
            getattr(self.function, name) is value for name, value in attributes.items()
        )

    def _set(self, state: _EditedState) -> None:
        """Set the function's attributes to those of a state, and all others to the originals."""
        for name, value in state.attributes.items():
            self._original.setdefault(name, getattr(self.function, name))
            former = self._former.setdefault(name, [])
            # What nothing else refers to cannot be found on the function again.
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
    """The sites of this process's functions that are edited, or are about to be.

    An edited site exists as long as its edits; another one, as long as somebody else refers to it.
    """

    def __init__(self) -> None:
        self._edited: set[CodeSite] = set()
        self._sites: WeakValueDictionary[int, CodeSite] = WeakValueDictionary()

    def get(self, function: FunctionType) -> CodeSite | None:
        """Return the site of a function, or None if it has none.

        Args:
            function: The function itself, without decorators around it.
        """
        # (A site refers to its function, so that no other function has the id meanwhile.)
        return self._sites.get(id(function))

    def at(self, function: FunctionType) -> CodeSite:
        """Return the site of a function, a new one if it has none.

        Args:
            function: The function itself, without decorators around it.

        Raises:
            TargetError: The function has no source, or not the one that is loaded.
        """
        site = self.get(function)
        if site is None:
            site = CodeSite(function, self._edited)
            self._sites[id(function)] = site
        return site
