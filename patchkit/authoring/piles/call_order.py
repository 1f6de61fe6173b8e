"""Knows which calls of a pile's functions have rows, and keeps these in the order of the calls.

A pile is a package that patches upstream. Several of its functions may change one target, each what
the one before has left there.
"""

from collections.abc import Iterable

from patchkit.authoring.piles.observed import ObservedChange
from patchkit.core.rows.declaration import Change, Decorate, Patch, Wrap


def changed_again_by_import(
    changes: Iterable[ObservedChange],
) -> list[ObservedChange]:
    """Return what calls have changed before the import of the pile has changed it again.

    Args:
        changes: All changes, in their order.
    """
    in_order = list(changes)
    last_steps = {change.target: change.step for change in in_order}
    again = list[ObservedChange]()
    for change in in_order:
        if change.step and not last_steps[change.target]:
            again.append(change)
    return again


class CallOrder:
    """The calls in their order, and the rows that stand for them.

    Args:
        calls: The functions that were called, as `module:name`, the first one first.
    """

    def __init__(self, calls: Iterable[str]) -> None:
        self._numbers = {call: number for number, call in enumerate(calls)}
        # By row, the function that it stands for.
        self._functions: dict[str, str] = {}
        # The target and the function of each change that a row makes.
        self._made: set[tuple[str, str]] = set()

    def note_row(self, row: Patch, function: str) -> None:
        """Note that a row stands for a call.

        Args:
            row: The row.
            function: The function that was called.
        """
        self._functions[row.name] = function

    def note_made(self, changes: Iterable[ObservedChange]) -> None:
        """Note that a row makes changes.

        Args:
            changes: The changes.
        """
        for change in changes:
            self._made.add((change.target, change.step))

    def is_made(self, change: ObservedChange) -> bool:
        """Return whether the row of a call makes a change.

        Args:
            change: The change.
        """
        return (change.target, change.step) in self._made

    def sorted(self, rows: Iterable[Patch]) -> list[Patch]:
        """Return rows with those that stand for calls at the end, in the order of the calls.

        Args:
            rows: The rows.
        """
        return sorted(rows, key=self._number)

    def _number(self, row: Patch) -> int:
        """Return the number of the call that a row stands for; -1 if it stands for none."""
        function = self._functions.get(row.name, "")
        return self._numbers.get(function, -1)

    def is_below_a_wrap(
        self,
        rows: Iterable[Patch],
        changes: Iterable[ObservedChange],
        row_changes: Iterable[Change] = (),
    ) -> bool:
        """Return whether a row of what came before wraps what a call sets again.

        A call sets what lies below all that wraps: the order would be another one than the pile's.

        Args:
            rows: The rows.
            changes: What the call changes.
            row_changes: The changes of its row; a Decorate lies above what others wrap.
        """
        decorated = set[str]()
        for row_change in row_changes:
            if isinstance(row_change, Decorate):
                decorated.add(row_change.target)
        last_number = len(self._numbers)
        for change in changes:
            last_number = self._numbers.get(change.step, last_number)
        wrapped = set[str]()
        for row in rows:
            if self._number(row) > last_number:
                continue  # it wraps what this call sets, as in the pile
            for row_change in row.changes:
                if isinstance(row_change, (Decorate, Wrap)):
                    wrapped.add(row_change.target)
        wrapped -= decorated
        return any(change.target in wrapped for change in changes)
