"""Tells which targets run here without their patch, as it is for another role.

What stands at a target is read without running any code. Data is never called: for an entry of a
registry, the class or function that it names counts.
"""

import sys
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from patchkit.core.rows.declaration import AFTER
from patchkit.core.rows.target import Target
from patchkit.runtime.changes.context import parts_of
from patchkit.runtime.changes.owners import MISSING, namespace, peek
from patchkit.runtime.process.effects import Key
from patchkit.runtime.process.named_objects import named_objects
from patchkit.runtime.process.observing import Counted
from patchkit.runtime.process.patch_state import ARMED, ChangeGroup, PatchStates
from patchkit.runtime.process.schedule import Schedule

_MOST = 200
"""The most functions of a target that are observed."""

_DEEPEST = 20
"""The most decorators that are followed."""


class UnpatchedTargets:
    """The targets of patches that are for other roles than those of this process.

    Args:
        schedule: All change groups of this process.
        states: The statuses of patches, and the journal.
        observer: Says whether code has run.
    """

    def __init__(
        self, schedule: Schedule, states: PatchStates, observer: Counted
    ) -> None:
        self._schedule = schedule
        self._states = states
        self._observer = observer
        self.after_fork()

    def after_fork(self) -> None:
        """Begin anew; the observer has forgotten what it observed."""
        self._codes: dict[Key, list[CodeType]] = {}
        # Targets of which no code is observed yet: what their data names may be imported later.
        self._unobserved: dict[Key, Target] = {}

    def watch(self, module: str) -> None:
        """Begin to observe what patches for other roles would change in a module.

        Args:
            module: The name of the module, which has been imported.
        """
        for group in self._schedule.due(module, AFTER):
            if self._is_for_others(group):
                self._watch_group(group)

    def look(self) -> None:
        """Write which targets have run since the last look."""
        for key, place in list(self._unobserved.items()):
            self._watch_target(key, place)
        ran: dict[str, list[str]] = {}
        for patch, target in self._newly_run():
            ran.setdefault(patch, []).append(target)
        if ran:
            self._states.journal.write("unpatched", patches=ran)

    def _is_for_others(self, group: ChangeGroup) -> bool:
        """Whether a group waits for a role that this process does not have."""
        patch = group.patch
        is_waiting = patch.status == ARMED and not patch.holders
        return is_waiting and self._states.roles.isdisjoint(patch.row.roles)

    def _watch_group(self, group: ChangeGroup) -> None:
        """Observe the targets of a group, except for modules as a whole, which are not called."""
        for part in parts_of(group.changes):
            key = (group.patch.name, str(part.place))
            if part.inside_module and key not in self._codes:
                self._codes[key] = []
                self._watch_target(key, part.place)

    def _watch_target(self, key: Key, target: Target) -> None:
        """Observe what runs when a target is called, as far as it is imported by now."""
        codes: list[CodeType] = []
        # Whatever a stranger's object raises: of that one nothing is seen.
        with suppress(Exception):
            codes = _codes_of(target)
        if codes:
            self._codes[key] = codes
            self._observer.watch(codes)
            self._unobserved.pop(key, None)
        else:
            self._unobserved[key] = target

    def _newly_run(self) -> list[Key]:
        """List the targets that have run since the last look; they are observed no more."""
        ran = []
        for key, codes in list(self._codes.items()):
            if any(map(self._observer.has_run, codes)):
                self._observer.forget(codes)
                self._codes[key] = []  # the key stays: `_watch_group` leaves it out
                if self._is_still_for_others(key):
                    ran.append(key)
        return ran

    def _is_still_for_others(self, key: Key) -> bool:
        """Whether the patch that a key names, in its first item, still waits for another role."""
        patch = self._states.patches.get(key[0])
        if patch is None or patch.status != ARMED:
            return False
        return self._states.roles.isdisjoint(patch.row.roles)


def _codes_of(target: Target) -> list[CodeType]:
    """Return the code that runs when a target is called; of data, that of what the data names.

    Only code that runs for nothing else: not what a class inherits, nor a decorator's wrapper.
    """
    owner: Any = None
    value: Any = sys.modules.get(target.module, MISSING)
    for step in target.steps:
        owner = value
        value = peek(owner, step)
    if isinstance(owner, type) and target.steps[-1] not in vars(owner):
        return []  # other classes inherit it, too
    codes = _own_codes(value)
    if not codes:
        for named in named_objects(value, target):
            codes += _own_codes(named)
    return codes[:_MOST]


def _own_codes(value: Any) -> list[CodeType]:
    """Return the code of a function, or of the methods that a class itself defines.

    Nothing but its type is asked of a value: `isinstance` reads `__class__`, and that of a proxy
    loads what it stands for.
    """
    if not issubclass(type(value), type):
        return _code_beneath(value)
    codes: list[CodeType] = []
    for member in list(vars(value).values()):
        codes += _code_beneath(member)
    return codes


def _code_beneath(value: Any) -> list[CodeType]:
    """Return the code of the function beneath decorators, in a list; an empty one for none.

    A function that another one has made shares its code with all that are made so.
    """
    if type(value) in {staticmethod, classmethod}:
        value = value.__func__
    elif type(value) is property:
        value = value.fget
    for _ in range(_DEEPEST):
        value = namespace(value).get("__wrapped__", value)
    if type(value) is not FunctionType or "<locals>" in value.__qualname__:
        return []
    return [value.__code__]
