"""
The copy of a module that runs as the main one, beside one that is imported under its own name.

Both are patched, each by groups of its own. A body builds on the objects of one of them; where
both are there, it is loaded once for each, and the first is the one that imports find.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import util
from types import ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import MISSING, locate_free
from patchkit.errors import ApplyError, TargetError
from patchkit.imports.run_as_main import name_run
from patchkit.process.transaction import load_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.process.plan import Group
    from patchkit.rows.declaration import Change

_IN_PLACE = ("Edit", "AddField")
"""Kinds that leave the target the same object."""


class MainCopies:
    """The modules of this process that were run by their names, and how far they have come."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self._begun: set[str] = set()
        self._ran: set[str] = set()

    def begin(self, name: str) -> None:
        """Note that a module has begun to run; its end will be told."""
        self._begun.add(name)
        self._ran.discard(name)

    def end(self, name: str, module: ModuleType) -> None:
        """Note the module that has run; the one in `sys.modules` may be a copy of it."""
        self._begun.add(name)
        self._ran.add(name)
        self._modules[module.__name__] = module

    def module(self, name: str) -> ModuleType:
        """Return what is to be patched under a name that is in `sys.modules`."""
        return self._modules.get(name) or sys.modules[name]

    def stands_in(self, name: str) -> bool:
        """Whether a main copy is in `sys.modules` under its own name, while its body is loaded."""
        present = sys.modules.get(name)
        return any(one is present for key, one in list(self._modules.items()) if key != name)

    def missed(self) -> str | None:
        """Return the name of the main module if it was run before anybody could be told."""
        name = name_run()
        return None if name in self._begun else name

    def acts_too_early(self) -> str | None:
        """Return the name of the main module if it acts already and has not told that it ran."""
        name = name_run()
        return name if name in self._begun - self._ran else None


def unreachable(name: str, reason: str) -> ApplyError:
    """Make the error for a module that runs as `__main__` and cannot be patched there."""
    return ApplyError(
        f"{name} runs as __main__, where the patch does not reach it: {reason}. Expected it to be "
        f"imported under its own name: start it by its command (such as `vllm serve`), or with "
        f"python -c 'import {name}; …'"
    )


def body_for(group: Group, module: ModuleType | None, others: Sequence[Group]) -> ModuleType:
    """
    Load the body that is to be applied to a module.

    Args:
        group: the group that is applied.
        module: its module; None before it executes.
        others: all groups with the same body.

    """
    again = group.done is not None
    row = group.row
    if module is not None:
        _restore_originals(group, module, others)
    if row.patch.body is None:
        return load_body(row)
    if group.copy_of and module is not None:
        return _body_for_main(group, module, others)
    if group.body is None and not _serves_main(group, others):
        return load_body(row, afresh=again)
    if group.body is None or again:
        group.body = _one_more(row.body)
    return group.body


def apart(
    group: Group,
    changes: Sequence[tuple[int, Change]],
    module: ModuleType | None,
    others: Sequence[Group],
) -> list[tuple[int, Change]]:
    """
    Leave out changes of what both copies share: they are made already.

    Args:
        group: the group that is applied.
        changes: its changes.
        module: its module; None before it executes.
        others: all groups of its row.

    """
    twins = [one for one in _twins(group, others) if one.done is not None]
    if module is None or not twins:
        return list(changes)
    there = [sys.modules[twin.module] for twin in twins if twin.module in sys.modules]
    return [one for one in changes if not any(_is_shared(one[1], module, other) for other in there)]


def _is_shared(change: Change, module: ModuleType, other: ModuleType) -> bool:
    """Whether a change is to the same thing in both: what the module has from elsewhere."""
    if not change.place.qualname:
        return False
    try:
        here, there = (locate_free(one, change.place.qualname) for one in (module, other))
    except TargetError:
        return False
    if here.owner is there.owner:
        return True
    return change.kind in _IN_PLACE and here.value is not MISSING and here.value is there.value


def _restore_originals(group: Group, module: ModuleType, others: Sequence[Group]) -> None:
    """Give a copy the originals of what it has from elsewhere, where the other is patched."""
    for twin in _twins(group, others):
        for site in [site for _, site in twin.sites if isinstance(site.owner, ModuleType)]:
            value = vars(module).get(str(site.name), site.original)
            if site.owner is not module and value is not site.original and site.knows(value):
                vars(module)[str(site.name)] = site.original


def _twins(group: Group, others: Sequence[Group]) -> list[Group]:
    """The groups of the same row for the other copies of the same module."""
    name = group.copy_of or group.module
    alike = [one for one in others if one.row is group.row and one.before is group.before]
    return [one for one in alike if one is not group and name == (one.copy_of or one.module)]


def _body_for_main(group: Group, module: ModuleType, others: Sequence[Group]) -> ModuleType:
    name, body = group.copy_of, group.row.body
    if group.body is not None and group.done is None:
        return group.body
    if body not in sys.modules:
        with _standing_in(name, module):
            group.body = load_body(group.row)
    elif _is_for_main(name, body, others) or name not in sys.modules:
        group.body = sys.modules[body]  # it has nothing of another copy
    else:
        with _standing_in(name, module):
            group.body = _one_more(body)
    return group.body


def _serves_main(group: Group, others: Sequence[Group]) -> bool:
    """Whether the body that imports find builds on the main copy of a group's module."""
    return not group.copy_of and _is_for_main(group.module, group.row.body, others)


def _is_for_main(name: str, body: str, others: Sequence[Group]) -> bool:
    present = sys.modules.get(body)
    return present is not None and any(
        other.copy_of == name and other.body is present for other in others
    )


def _one_more(body: str) -> ModuleType:
    """Execute a body once more, beside the one in `sys.modules`, which stays as it is."""
    spec: Any = sys.modules[body].__spec__
    if not hasattr(spec.loader, "get_code"):
        raise TargetError(f"body {body} cannot be loaded twice: its loader gives no code")
    module = util.module_from_spec(spec)
    exec(spec.loader.get_code(body), vars(module))  # noqa: S102 - as an import does
    return module


@contextlib.contextmanager
def _standing_in(name: str, module: ModuleType) -> Iterator[None]:
    """Have imports of a name find the main copy for a while, also as its package's attribute."""
    parent, _, child = name.rpartition(".")
    outer = vars(sys.modules[parent]) if parent in sys.modules else {}
    with _kept(sys.modules, name, module), _kept(outer, child, module):
        yield


@contextlib.contextmanager
def _kept(names: dict[str, Any], name: str, value: object) -> Iterator[None]:
    """Bind a name for a while, then as it was."""
    before = {name: names[name]} if name in names else {}
    names[name] = value
    try:
        yield
    finally:
        if names.get(name) is value:
            del names[name]
            names.update(before)
