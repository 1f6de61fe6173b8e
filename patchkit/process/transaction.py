"""
One group of changes made as a whole: everything is resolved first, then changed, and undone on
the first error.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import TYPE_CHECKING, cast

from patchkit.changes import prepare
from patchkit.changes.context import Context
from patchkit.changes.fields.rebuilding import rebuild_after
from patchkit.changes.order import in_waves
from patchkit.changes.owners import MISSING, namespace
from patchkit.changes.routes import route_of
from patchkit.copies.scope import scope_of
from patchkit.errors import TargetError
from patchkit.imports.finder import home, others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from patchkit.changes.context import Prepared
    from patchkit.changes.sites import Sites
    from patchkit.changes.source.edit import PreparedEdit
    from patchkit.process.plan import Group
    from patchkit.rows.declaration import Change, Patch
    from patchkit.rows.row import Row


def load_body(row: Row, *, afresh: bool = False) -> ModuleType:
    """
    Import a row's body.

    Args:
        row: the row.
        afresh: execute it again, because the module that it builds on was executed again.

    """
    loaded = sys.modules.get(row.body)
    if afresh and loaded is not None and row.patch.body is not None:
        return importlib.reload(loaded)
    return importlib.import_module(row.body)


@contextlib.contextmanager
def bound_in_parent(name: str, module: ModuleType) -> Iterator[None]:
    """
    Let bodies write `import a.b` and use `a.b` while it is being imported.

    importlib makes `b` an attribute of `a` only after that, and not at all where it fails.
    """
    parent, _, child = name.rpartition(".")
    outer = namespace(sys.modules.get(parent))
    former = outer.get(child, MISSING)
    if former is module or not isinstance(outer, dict):
        yield
        return
    outer[child] = module
    try:
        yield
    except BaseException:
        outer.pop(child, None)  # an undo may have done it
        if former is not MISSING:
            outer[child] = former
        raise


def reason_to_skip(asked: Patch | Change, body: ModuleType) -> str | None:
    """
    Ask the `when` of a patch or a change.

    Raises:
        TargetError: `when` is not there, or its answer is neither True nor a reason.

    """
    if asked.when is None:
        return None
    ask = getattr(body, asked.when, None)
    if not callable(ask):
        raise TargetError(f"when: body {body.__name__} has no function {asked.when!r}")
    answer = ask()
    if answer is True:
        return None
    if isinstance(answer, str) and answer:
        return answer
    raise TargetError(
        f"when: {asked.when}() of {body.__name__} returned {answer!r}, expected True or the "
        "reason to skip"
    )


def apply_group(
    group: Group,
    changes: Iterable[tuple[int, Change]],
    module: ModuleType | None,
    body: ModuleType,
    sites: Sites,
) -> None:
    """
    Make the changes of one group, or none of them.

    Args:
        group: receives the undos and the changed sites.
        changes: those of the group's that are for the versions here, with their places in the
            row.
        module: the group's module; None before it executes.
        body: the loaded body.
        sites: every changed attribute of this process.

    """
    try:
        for wave in in_waves(changes):
            _apply_wave(group, wave, module, body, sites)
    except BaseException:
        unwind(group.undos)
        raise


def _apply_wave(
    group: Group,
    wave: Iterable[tuple[int, Change]],
    module: ModuleType | None,
    body: ModuleType,
    sites: Sites,
) -> None:
    """Resolve all changes of a wave, then make them."""
    prepared = [
        (change, prepare(change, Context(module, body, sites, group.row.name, (group.rank, place))))
        for place, change in wave
    ]
    for change, ready in prepared:
        _refuse_to_discard(change, ready)
    rebuild = rebuild_after([ready for _, ready in prepared], sites)
    if rebuild is not None:
        group.undos.append(rebuild.undo)  # first, so that it runs once the changes are taken back
    for change, ready in prepared:
        _make(group, change, ready)
    if rebuild is not None:
        rebuild.apply()
    for change, ready in prepared:
        _note_route(group, change, ready, module)


def _refuse_to_discard(change: Change, ready: Prepared) -> None:
    """Refuse to put an object in place of one on which another copy of patchkit has patches."""
    if change.kind != "Replace":
        return  # all else acts above or below
    for site in ready.sites:
        for other in others():
            if names := other.patches_on(site.owner, site.name):
                raise TargetError(
                    f"Replace({change.place!s}): it would discard {', '.join(names)} of another "
                    f"copy of patchkit, {home(other)}; expected one copy for both packs"
                )


def _make(group: Group, change: Change, ready: Prepared) -> None:
    group.undos.append(ready.undo)  # first: what is torn off in the middle is taken back too
    if change.kind == "AfterImport":
        group.calls.append(ready.undo)
    ready.apply()
    group.targets.append(str(change.place))
    scope = scope_of(change.place.module, change.rebind)
    for site in ready.sites:
        site.rebind |= scope
        group.sites.append((str(change.place), site))


def _note_route(group: Group, change: Change, ready: Prepared, module: ModuleType | None) -> None:
    """Note the way to a target, so that it can be walked again."""
    if module is not None and change.place.qualname:
        edited = cast("PreparedEdit", ready).code.function if change.kind == "Edit" else None
        words, steps = str(change.place), change.place.steps
        group.routes.append(route_of(words, module, steps, ready.sites, edited))


def unwind(undos: list[Callable[[], None]]) -> list[Exception]:
    """Run undos, the last first; one that fails does not stop the others. Empties the list."""
    errors: list[Exception] = []
    while undos:
        try:
            undos.pop()()
        except Exception as error:  # noqa: BLE001 - reported by the caller, once all have run
            errors.append(error)
    return errors
