"""Makes one change group: loads the body, asks it what is wanted, and makes the changes.

Changes are made all or none: each is resolved before the first one is made, and an error on the way
takes back what was made.
"""

import importlib
import sys
from collections.abc import Collection, Iterable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import (
    AFTER,
    BEFORE,
    SERVING,
    AfterImport,
    Change,
    Edit,
    Replace,
)
from patchkit.core.rows.target import Target
from patchkit.errors import ApplyError
from patchkit.runtime.changes.context import (
    Context,
    Prepared,
    PreparedLayers,
    unwind,
)
from patchkit.runtime.changes.overwrites import route_of
from patchkit.runtime.changes.owners import is_built
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.scope import compiled_left, scope_of
from patchkit.runtime.imports.finder import others
from patchkit.runtime.imports.half_imported import culprit
from patchkit.runtime.process.eligibility import YES, EligibilityTable, reason_to_skip
from patchkit.runtime.process.patch_state import (
    ARMED,
    ChangeGroup,
    PatchStates,
    Placed,
    Transaction,
)
from patchkit.runtime.process.schedule import Executions, Turns

if TYPE_CHECKING:
    from patchkit.runtime.changes.fields.rebuilding import Rebuild


_MODULES = {
    "Replace": "objects.replace",
    "Wrap": "objects.wrap",
    "Edit": "source.edit",
    "Add": "objects.replace",
    "AddField": "fields.add_field",
    "Provide": "modules",
    "BeforeImport": "modules",
    "AfterImport": "modules",
}
"""A kind's module is imported with its first change: some of them need half of the library."""


class NotWanted(Exception):  # noqa: N818 - an answer, not an error
    """The body says that its patch is not for here, and why."""


class Maker(Record, eq=False):
    """Makes change groups, one at a time in each thread.

    Args:
        sites: the changed attributes of this process.
        states: the statuses of patches.
        table: says which groups and changes are for this process.
        executions: says which modules have executed, and which are whole.
        turns: who waits for whose turn at a group.
        loaded: by body, its file and the checksum that it had when it was loaded.
    """

    sites: Sites
    states: PatchStates
    table: EligibilityTable
    executions: Executions
    turns: Turns
    loaded: dict[str, tuple[str, str] | None] = field(default_factory=dict)

    def make(
        self, group: ChangeGroup, changes: list[Placed], module: ModuleType | None
    ) -> bool:
        """Make changes of a group, at which it is this thread's turn.

        Args:
            group: the change group.
            changes: those that are for the versions here, with their places in the row.
            module: its module; None before that executes.

        Returns:
            Whether anything was made.

        Raises:
            NotWanted: the body says that the whole patch is not for here.
            ApplyError: the module has executed before what was to come first.
        """
        if group.moment != SERVING and not self._has_no_half_body(group):
            return False  # where somebody else imports the body, its end makes the group due again
        if group.moment == BEFORE and module is not None:
            name = group.module
            raise ApplyError(f"{name} was imported before patchkit could run before it")
        if group.applied_to is not None:
            group.made.take_back()  # what the module's last execution left of it
            self.sites.forget(group.module)
        body = self._load(group)
        if body is None or not self._has_no_half_body(group):
            return False  # the body itself asks for the module that it provides
        if self.table.of_group(group).answer != YES:
            return False  # another thread has taken the patch back meanwhile
        reason = reason_to_skip(group.patch.row.patch, body)
        if reason is not None:
            raise NotWanted(reason)
        chosen: list[Placed] = []
        left_out: list[tuple[Change, str]] = []
        for index, change in changes:
            reason = reason_to_skip(change, body)
            if reason is None:
                chosen.append((index, change))
            else:
                left_out.append((change, reason))
        group.made = Transaction(group.patch.name, group.rank)
        apply_changes(group.made, chosen, module, body, self.sites)
        group.applied_to = self.executions.now(group, module)
        if left_out:
            self._leave_out(group, left_out, is_all=not chosen)
        return bool(chosen)

    def _leave_out(
        self, group: ChangeGroup, left_out: list[tuple[Change, str]], *, is_all: bool
    ) -> None:
        """Tell which changes the body leaves out; NotWanted where none of the patch is left."""
        name = group.patch.name
        for change, reason in left_out:
            target = str(change.place)
            self.states.journal.write(
                "left-out", name=name, target=target, reason=reason
            )
            self.states.say(
                "info", f"{name}: {change.kind} of {target} left out: {reason}"
            )
        if is_all and not self._has_more(group):
            _, first_reason = left_out[0]
            raise NotWanted(f"no change applies here: {first_reason}")

    def _has_more(self, group: ChangeGroup) -> bool:
        """Whether a change of the group's patch is made, or may yet be."""
        patch = group.patch
        if self.table.has_changes_left(patch, lambda each: each.applied_to is not None):
            return True
        return any(each.made.undos for each in patch.groups)

    def _load(self, group: ChangeGroup) -> ModuleType | None:
        """Load the body; None where it needs a module that is being imported, and waits for it."""
        group.loads = True
        self.turns.wake()
        try:
            return self._import(group)
        except (ImportError, AttributeError) as error:
            needed = culprit(error) if group.moment == AFTER else None
            if needed is None or not self.executions.postpone(group, needed):
                raise
            if group.patch.status == ARMED:
                text = (
                    f"waits for the end of the import of {needed}, which its body needs"
                )
                self.states.set(group.patch, ARMED, text)
            return None
        finally:
            group.loads = False

    def _import(self, group: ChangeGroup) -> ModuleType:
        """Import the body, anew where the module that it builds on has executed anew."""
        name = group.patch.body
        present = sys.modules.get(name)
        if (
            group.applied_to is None
            or present is None
            or group.patch.row.patch.body is None
        ):
            body = importlib.import_module(name)
        else:
            body = importlib.reload(present)
            self.loaded.pop(name, None)
        if self.states.journal.directory is not None:
            if name not in self.loaded:
                self.loaded[name] = _file_of(body)
            group.body = self.loaded[name]
        return body

    def _has_no_half_body(self, group: ChangeGroup) -> bool:
        body = group.patch.body
        return body not in sys.modules or self.executions.is_whole(body)


def _file_of(body: ModuleType) -> tuple[str, str] | None:
    """Return the file of a body, and its checksum; None where there is none that can be read."""
    from binascii import crc32  # noqa: PLC0415 - only who writes a journal needs it

    file = getattr(body, "__file__", None) or ""
    try:
        with open(file, "rb") as source:  # noqa: PTH123 - pathlib costs a start
            checksum = crc32(source.read())
    except OSError:
        return None
    return file, f"{checksum:08x}"


# -- all or none -----------------------------------------------------------------------------------


def apply_changes(
    made: Transaction,
    changes: Iterable[Placed],
    module: ModuleType | None,
    body: ModuleType,
    sites: Sites,
) -> None:
    """Make changes, or none of them where one cannot be made.

    Args:
        made: takes up what was made.
        changes: the changes with their places in the row.
        module: the module that they change; None before it executes.
        body: the body.
        sites: the changed attributes of this process.
    """
    try:
        for wave in in_waves(changes):
            _apply_wave(made, wave, module, body, sites)
    except BaseException:
        unwind(made.undos)
        raise


def in_waves(changes: Iterable[Placed]) -> list[list[Placed]]:
    """Cut changes where one lies in what an earlier one puts in place, or replaces what it edits.

    Wrapping a method of a class that the same row replaces means the class that is there then.

    Args:
        changes: the changes in declared order, with their places in the row.

    Returns:
        The parts, each to be resolved once those before it are made.
    """
    wave: list[Placed] = []
    waves = [wave]
    for index, change in changes:
        if any(_hang_together(change, earlier) for _, earlier in wave):
            wave = []
            waves.append(wave)
        wave.append((index, change))
    return waves


def _hang_together(change: Change, earlier: Change) -> bool:
    """Whether one lies in what the other puts in place, or one replaces what the other edits."""
    kinds = {change.kind, earlier.kind}
    if kinds == {"Edit", "Replace"} and change.place == earlier.place:
        return True
    return _is_inside(change, earlier) or _is_inside(earlier, change)


def _is_inside(change: Change, other: Change) -> bool:
    if other.kind not in {"Replace", "Add"} or not change.inside_module:
        return False
    outer = other.place
    inner = change.place
    length = len(outer.steps)
    is_deeper = outer.module == inner.module and len(inner.steps) > length
    return is_deeper and inner.steps[:length] == outer.steps


def prepare(change: Change, context: Context) -> Prepared:
    """Resolve a change's target and its object in the body; nothing upstream is changed.

    Args:
        change: the change.
        context: where it works.

    Returns:
        What makes the change, and can take back what it has made.

    Raises:
        TargetError: a target or an object is not there, or the change is refused.
    """
    kind = importlib.import_module(
        f"patchkit.runtime.changes.{_MODULES[type(change).__name__]}"
    )
    return cast("Prepared", kind.prepare(change, context))


class _ReadyChange(NamedTuple):
    """A change that only has to be made.

    Args:
        change: the change.
        target: its target.
        target_name: the same, in words.
        prepared: what makes it.
        sites: the attributes that hold another object then.
    """

    change: Change
    target: Target
    target_name: str
    prepared: Prepared
    sites: Collection[Site]


def _apply_wave(
    made: Transaction,
    wave: Iterable[Placed],
    module: ModuleType | None,
    body: ModuleType,
    sites: Sites,
) -> None:
    """Resolve all changes of a wave, then make them, then note the way to each target."""
    ready: list[_ReadyChange] = []
    for index, change in wave:
        context = Context(module, body, sites, made.patch, (made.rank, index))
        prepared = prepare(change, context)
        changed = prepared.sites
        target = change.place
        name = str(target)
        ready.append(_ReadyChange(change, target, name, prepared, changed))
    for each in ready:
        if _may_discard(each, sites):
            from patchkit.runtime.process.discarding import refuse_to_discard  # noqa: PLC0415 - few do

            prepared = cast("PreparedLayers", each.prepared)
            refuse_to_discard(each.target_name, prepared, sites, made.patch)
    rebuild = _rebuild_after(ready, sites)
    if rebuild is not None:
        # First: it runs once the changes are taken back.
        made.undos.append(rebuild.undo)
    for each in ready:
        _apply_change(made, each)
    if rebuild is not None:
        rebuild.apply()
        made.kept += rebuild.kept
    for each in ready:
        if module is None or not each.target.qualname:
            continue
        edited = None
        if isinstance(each.change, Edit):
            edited = cast("Any", each.prepared).code.function
            made.kept += compiled_left(edited)
        steps = each.target.steps
        route = route_of(each.target_name, module, steps, each.sites, edited)
        made.routes.append(route)


def _may_discard(ready: _ReadyChange, sites: Sites) -> bool:
    """Whether others may have changed something in what a change replaces; all else acts around."""
    if not isinstance(ready.change, Replace):
        return False
    if any(type(site.original) is not FunctionType for site in ready.sites):
        return True
    return bool(others()) or sites.has_noted("CodeSites")


def _rebuild_after(ready: Iterable[_ReadyChange], sites: Sites) -> "Rebuild | None":
    """Prepare what follows these changes: built classes are built anew; None for nothing."""
    changed: list[type] = []
    members: list[Site] = []
    for each in ready:
        changed += getattr(each.prepared, "classes", ())
        members += [
            site
            for site in each.sites
            if isinstance(site.owner, type) and is_built(site.owner)
        ]
    if not (changed or members):
        return None
    from patchkit.runtime.changes.fields.rebuilding import Rebuild  # noqa: PLC0415 - few changes need it

    return Rebuild(changed, members, sites)


def _apply_change(made: Transaction, ready: _ReadyChange) -> None:
    undo = ready.prepared.undo
    made.undos.append(undo)  # first: what is torn off in the middle is taken back too
    if isinstance(ready.change, AfterImport):
        made.calls.append(undo)
    ready.prepared.apply()
    scope = scope_of(ready.target.module, ready.change.rebind)
    made.targets.append(ready.target_name)
    for site in ready.sites:
        site.rebind |= scope
        site.home = ready.target.module
        made.sites.append((ready.target_name, site))
