"""Rows by the module that makes them due: what is to be done when which module is imported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from patchkit.changes.sites import Site
    from patchkit.declaration import Change
    from patchkit.registry import Registry, Row

ARMED, APPLIED, SKIPPED, FAILED = "armed", "applied", "skipped", "failed"


@dataclass(eq=False)
class Group:
    """
    The changes of one row that one module's import makes due; they apply together.

    Args:
        row: their row.
        module: name of the module.
        before: due just before the module executes, not after.
        rank: place of the row among all rows.
        changes: in declared order with their places in the row, those for other versions included.
        done: which execution of the module they were applied to; None while they are not.
        thread: ident of the thread that is applying them now.
        undos: what takes them back, in the order in which they were made.
        sites: changed attributes whose copies may have to be repointed.

    """

    row: Row
    module: str
    before: bool
    rank: int = 0
    changes: list[tuple[int, Change]] = field(default_factory=list)
    done: tuple[int, int] | None = None
    thread: int | None = None
    undos: list[Callable[[], None]] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)


@dataclass(eq=False)
class State:
    """
    How it stands with one row in this process.

    Args:
        row: the row.
        groups: its groups.
        status: armed, applied, skipped or failed.
        reason: of skipped and failed, in words.
        error: of failed.
        settled: whether it has been asked if the row is for here.

    """

    row: Row
    groups: list[Group]
    status: str = ARMED
    reason: str = ""
    error: BaseException | None = None
    settled: bool = False


class Plan:
    """The rows of a registry, by module and by name."""

    def __init__(self, registry: Registry) -> None:
        self.states: dict[str, State] = {}
        self._groups: dict[tuple[str, bool], list[Group]] = {}
        for rank, row in enumerate(registry):
            self.states[row.name] = State(row, self._group(row, rank))
        self._by_body: dict[str, list[Group]] = {}
        for state in self.states.values():
            if state.row.patch.body is not None:
                self._by_body.setdefault(state.row.body, []).extend(state.groups)
        # Bodies call the originals under the names that they imported.
        self.keepers = ("patchkit", *{row.pack for row in registry})

    @property
    def modules(self) -> set[str]:
        """Every module whose import matters: targets, and bodies that others may import."""
        return {module for module, _ in self._groups} | set(self._by_body)

    def of_body(self, module: str) -> list[Group]:
        """Return the groups whose body is this module."""
        return self._by_body.get(module, [])

    def due(self, module: str, *, before: bool) -> list[Group]:
        """Return the groups of a module in the order in which they apply."""
        return self._groups.get((module, before), [])

    def groups(self) -> Iterator[Group]:
        """Iterate over all groups in the order in which their rows apply."""
        return (group for state in self.states.values() for group in state.groups)

    def _group(self, row: Row, rank: int) -> list[Group]:
        groups: dict[tuple[str, bool], Group] = {}
        for place, change in enumerate(row.patch.changes):
            key = (change.place.module, change.before)
            group = groups.get(key)
            if group is None:
                group = groups[key] = Group(row, *key, rank)
                self._groups.setdefault(key, []).append(group)
            group.changes.append((place, change))
        return list(groups.values())
