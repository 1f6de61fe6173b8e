"""The patches of a process, by the modules whose import makes them due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.process.patch_state import GroupState, PatchState
from patchkit.process.plan import AFTER, BEFORE, SERVING, groups_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from patchkit.rows.declaration import Row


class Schedule:
    """What is due when; rows may come and go."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.patches: dict[str, PatchState] = {}
        self._groups: dict[tuple[str, str], list[GroupState]] = {}
        self._by_body: dict[str, list[GroupState]] = {}
        self._next_rank = 0
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take in a row, to apply after those that are here."""
        patch = PatchState(row)
        for plan in groups_of(row, self._next_rank):
            group = GroupState(plan, patch)
            patch.groups.append(group)
            self._groups.setdefault((plan.module, plan.moment), []).append(group)
        self._next_rank += 1
        if row.patch.body is not None:
            self._by_body.setdefault(patch.body, []).extend(patch.groups)
        self.patches[patch.name] = patch

    def remove(self, name: str) -> None:
        """Leave a row out again."""
        patch = self.patches.pop(name)
        for groups in (*self._groups.values(), *self._by_body.values()):
            groups[:] = [group for group in groups if group.patch is not patch]

    @property
    def keepers(self) -> tuple[str, ...]:
        """Packages that keep originals: bodies call them under the names that they imported."""
        return ("patchkit", *{patch.row.pack for patch in self.patches.values()})

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
        return {module for module, _ in list(self._groups)}

    def of_body(self, module: str) -> list[GroupState]:
        """Return the groups whose body is this module."""
        return self._by_body.get(module, [])

    def before(self, module: str) -> list[GroupState]:
        """Return what is due before a module executes, in the order in which it applies."""
        return list(self._groups.get((module, BEFORE), ()))

    def serving(self, module: str) -> list[GroupState]:
        """Return what serves a module, should nobody else."""
        return list(self._groups.get((module, SERVING), ()))

    def after(self, module: str) -> list[GroupState]:
        """Return what is due once a module has executed, in the order in which it applies."""
        return list(self._groups.get((module, AFTER), ()))

    def serves_beneath(self, module: str) -> bool:
        """Whether a module is served whose name makes this one a package."""
        keys = [key for key, groups in list(self._groups.items()) if groups]
        return any(at == SERVING and name.startswith(f"{module}.") for name, at in keys)

    def groups(self) -> Iterator[GroupState]:
        """Iterate over all groups in the order in which their rows apply."""
        return (group for patch in list(self.patches.values()) for group in patch.groups)
