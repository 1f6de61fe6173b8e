"""Rows by the module that makes them due: what is to be done when which module is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.rows.declaration import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from patchkit.changes.routes import Route
    from patchkit.changes.sites import Site
    from patchkit.registry import Registry
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row

    # Module, before it executes, serves it.
    _Key = tuple[str, bool, bool]

ARMED, APPLIED, SKIPPED, FAILED = "armed", "applied", "skipped", "failed"


class Group:
    """
    The changes of one row that one module's import makes due; they apply together.

    Args:
        row: their row.
        module: name of the module.
        before: due just before the module executes, not after.
        provides: it serves the module itself, where nobody else does.
        rank: place of the row among all rows.
        changes: in declared order with their places in the row, those for other versions included.
        copy_of: the module's own name, where this group is for the copy that runs as the main one.

    Attributes:
        done: which execution of the module they were applied to; None while they are not.
        thread: ident of the thread that is applying them now.
        loads: whether that thread is importing the body, or waits for who does.
        undos: what takes them back, in the order in which they were made.
        calls: those of the undos that belong to one execution of the module, and run before the
            next.
        sites: changed attributes, each with the target that led to it.
        routes: the ways to the targets, as they were when it was applied.
        targets: all that is changed, also where that is no attribute.
        told: what the journal says of it, beside that it was applied.

    """

    def __init__(
        self,
        row: Row,
        module: str,
        before: bool,
        provides: bool = False,
        *,
        rank: int = 0,
        changes: Iterable[tuple[int, Change]] = (),
    ) -> None:
        self.row, self.module, self.before, self.provides = row, module, before, provides
        self.rank = rank
        self.changes = list(changes)
        self.done: tuple[int, int] | None = None
        self.thread: int | None = None
        self.loads = False
        self.undos: list[Callable[[], None]] = []
        self.calls: list[Callable[[], None]] = []
        self.sites: list[tuple[str, Site]] = []
        self.routes: list[Route] = []
        self.targets: list[str] = []
        self.told: dict[str, Any] = {}


class State:
    """
    How it stands with one row in this process.

    Args:
        row: the row.
        groups: its groups.

    Attributes:
        status: armed, applied, skipped or failed.
        reason: of skipped and failed, in words; of armed, where it was more than that.
        error: of failed.
        settled: whether it has been asked if the row is for here.
        forced: how many ask for it in this process, whatever its roles.
        thread: ident of the thread that makes it held, or lets it go.

    """

    def __init__(self, row: Row, groups: list[Group]) -> None:
        self.row, self.groups = row, groups
        self.status, self.reason = ARMED, ""
        self.error: BaseException | None = None
        self.settled = False
        self.forced = 0
        self.thread: int | None = None

    @property
    def is_for_every_role(self) -> bool:
        """Whether every process is to have it."""
        return self.row.roles.issuperset(Role)

    def is_for(self, roles: Collection[Role]) -> bool:
        """Whether a process with these roles is to have it."""
        return self.forced > 0 or not self.row.roles.isdisjoint(roles)


class Plan:
    """The rows of a registry, by module and by name."""

    def __init__(self, registry: Registry) -> None:
        self.states: dict[str, State] = {}
        self._groups: dict[_Key, list[Group]] = {}
        self._by_body: dict[str, list[Group]] = {}
        self._postponed: dict[str, list[Group]] = {}
        self._next_rank = 0
        for row in registry:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take in a row, to apply after those that are here."""
        state = State(row, self._group(row, self._next_rank))
        self._next_rank += 1
        if row.patch.body is not None:
            self._by_body.setdefault(row.body, []).extend(state.groups)
        self.states[row.name] = state

    def remove(self, name: str) -> None:
        """Leave a row out again."""
        state = self.states.pop(name)
        for groups in (*self._groups.values(), *self._by_body.values()):
            groups[:] = [group for group in groups if group not in state.groups]

    @property
    def keepers(self) -> tuple[str, ...]:
        """Packages that keep originals: bodies call them under the names that they imported."""
        return ("patchkit", *{state.row.pack for state in self.states.values()})

    @property
    def bodies(self) -> Collection[str]:
        """Names of the bodies."""
        return self._by_body.keys()

    @property
    def modules(self) -> set[str]:
        """Every module whose import matters: targets, and bodies that others may import."""
        return self.targets | set(self._by_body)

    @property
    def targets(self) -> set[str]:
        """Every module that a patch changes."""
        return {module for module, *_ in list(self._groups)}

    def of_body(self, module: str) -> list[Group]:
        """Return the groups whose body is this module."""
        return self._by_body.get(module, [])

    def postpone(self, group: Group, module: str) -> None:
        """Have a group wait for the end of the import of a module that its body needs."""
        self._postponed.setdefault(module, []).append(group)

    def postponed(self, module: str) -> list[Group]:
        """Return the groups that have waited for a module, once."""
        return self._postponed.pop(module, [])

    def awaited(self, group: Group) -> str:
        """Name the module that a group waits for, or ''."""
        found = (name for name, groups in list(self._postponed.items()) if group in groups)
        return next(found, "")

    def due(self, module: str, *, before: bool) -> list[Group]:
        """Return the groups of a module in the order in which they apply."""
        return list(self._groups.get((module, before, False), ()))

    def providing(self, module: str) -> list[Group]:
        """Return the groups that serve a module, should nobody else."""
        return list(self._groups.get((module, True, True), ()))

    def provides_beneath(self, module: str) -> bool:
        """Whether a module is served whose name makes this one a package."""
        served = (key[0] for key, groups in list(self._groups.items()) if key[2] and groups)
        return any(name.startswith(f"{module}.") for name in served)

    def groups(self) -> Iterator[Group]:
        """Iterate over all groups in the order in which their rows apply."""
        return (group for state in list(self.states.values()) for group in state.groups)

    def _group(self, row: Row, rank: int) -> list[Group]:
        groups: dict[_Key, Group] = {}
        for place, change in enumerate(row.patch.changes):
            key = (change.place.module, change.before, change.kind == "Provide")
            group = groups.get(key)
            if group is None:
                group = groups[key] = Group(row, *key, rank=rank)
                self._groups.setdefault(key, []).append(group)
            group.changes.append((place, change))
        return list(groups.values())
