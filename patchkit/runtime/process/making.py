"""Makes the changes of one group: loads the body, asks its `when` functions, and changes upstream.

Either all changes are made or none: all are resolved before the first one is made, and an error on
the way undoes those that were made.
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
    in_waves,
    route_of,
    unwind,
)
from patchkit.runtime.changes.owners import is_built
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.scope import compiled_left, scope_of
from patchkit.runtime.imports.finder import other_sessions
from patchkit.runtime.imports.half_imported import culprit, lost_packages, mend
from patchkit.runtime.process.eligibility import (
    YES,
    EligibilityTable,
    divide_by_condition,
    reason_to_skip,
)
from patchkit.runtime.process.journal import file_of
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
    from patchkit.runtime.changes.set_by_call import PreparedSets


_MODULES = {
    "Replace": "objects.replace",
    "Wrap": "objects.wrap",
    "Decorate": "objects.decorate",
    "Edit": "source.edit",
    "Add": "objects.replace",
    "AddField": "fields.add_field",
    "Provide": "modules",
    "BeforeImport": "modules",
    "AfterImport": "modules",
}
"""By kind of change, the module in `runtime.changes` that makes it, imported when first needed."""


FAILURES = (Exception, SystemExit)
"""What fails a patch if its body raises it. After `sys.exit(0)`, the process would seem well."""


class NotWanted(Exception):  # noqa: N818 - an answer, not an error
    """The `when` of a patch says that it is not for this process; the argument is the reason."""


class Maker(Record, eq=False):
    """Makes the changes of groups.

    Args:
        sites: the changed attributes of this process.
        states: the statuses of patches.
        table: says which groups and changes are for this process.
        executions: numbers the executions of modules, and says which are whole.
        turns: lets one thread at a time work on a group.
        loaded: by body, its file and the checksum that it had when it was loaded.
        lost: packages of which the failed import of a body has left submodules alone.
    """

    sites: Sites
    states: PatchStates
    table: EligibilityTable
    executions: Executions
    turns: Turns
    loaded: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def make(
        self, group: ChangeGroup, changes: list[Placed], module: ModuleType | None
    ) -> bool:
        """Make changes of a group; this thread has its turn at the group.

        Args:
            group: the change group.
            changes: those that are for the versions here, with their indices in the row.
            module: the group's module; None before that executes.

        Returns:
            Whether a change was made; False also if the body is not imported as a whole yet.

        Raises:
            NotWanted: `when` says that the patch, or each of its changes, is not for this process.
            ApplyError: a BeforeImport is too late, as the module has executed.
        """
        if group.moment != SERVING and not self._is_body_whole(group):
            return False  # the end of that import of the body makes the group due again
        if group.moment == BEFORE and module is not None:
            name = group.module
            raise ApplyError(f"{name} was imported before patchkit could run before it")
        if group.applied_to is not None:  # to an earlier execution of the module
            group.made.take_back()
            self.sites.forget(group.module)
        body = self._load(group)
        if body is None or not self._is_body_whole(group):
            # None: the group waits for an import. Not whole: the body is executing, and itself
            # imports the module that it provides.
            return False
        if self.table.of_group(group).answer != YES:
            return False  # another thread has undone the patch meanwhile
        reason = reason_to_skip(group.patch.row.patch, body)
        if reason is not None:
            raise NotWanted(reason)
        chosen, skipped = divide_by_condition(changes, body)
        if self._waits_for_targets(group, chosen):
            return False
        group.made = Transaction(group.patch.name, group.rank)
        apply_changes(group.made, chosen, module, body, self.sites)
        group.applied_to = self.executions.now(group, module)
        for result in group.made.results:
            self.states.journal.write("sets", name=group.patch.name, **result)
        if skipped:
            self._report_skipped(group, skipped, is_all=not chosen)
        return bool(chosen)

    def _waits_for_targets(self, group: ChangeGroup, changes: list[Placed]) -> bool:
        """Whether a group waits for the import of a module in which an AfterImport sets targets."""
        has_sets = any(change.sets for _, change in changes)
        if not has_sets or group.moment != AFTER:
            return False
        from patchkit.runtime.process.called import half_imported  # noqa: PLC0415 - few set any

        needed = half_imported(changes, group.module)
        return needed is not None and self._postpone(group, needed, "which it changes")

    def _postpone(self, group: ChangeGroup, needed: str, why: str) -> bool:
        """Have a group wait for the end of an import; False if that has ended meanwhile."""
        if not self.executions.postpone(group, needed):
            return False
        if group.patch.status == ARMED:
            text = f"waits for the end of the import of {needed}, {why}"
            self.states.set(group.patch, ARMED, text)
        return True

    def _report_skipped(
        self, group: ChangeGroup, skipped: list[tuple[Change, str]], *, is_all: bool
    ) -> None:
        """Report the changes that their `when` skips; NotWanted if the patch has no others."""
        name = group.patch.name
        for change, reason in skipped:
            target = str(change.place)
            self.states.journal.write(
                "left-out", name=name, target=target, reason=reason
            )
            self.states.say(
                "info", f"{name}: {change.kind} of {target} left out: {reason}"
            )
        if is_all and not self._has_more(group):
            _, first_reason = skipped[0]
            raise NotWanted(f"no change applies here: {first_reason}")

    def _has_more(self, group: ChangeGroup) -> bool:
        """Whether the patch has another change that is made, or may yet be."""
        patch = group.patch
        if self.table.has_changes_left(patch, lambda each: each.applied_to is not None):
            return True
        return any(each.made.undos for each in patch.groups)

    def _load(self, group: ChangeGroup) -> ModuleType | None:
        """Load the body; None if a group of AFTER now waits for an import that the body needs."""
        group.loads = True
        self.turns.wake()  # threads that wait for this one may give up while it loads
        try:
            return self._import(group)
        except (ImportError, AttributeError) as error:
            needed = None
            if group.moment == AFTER:  # only such a group can be made later
                needed = culprit(error)
            if needed and self._postpone(group, needed, "which its body needs"):
                self.lost.update(lost_packages(group.module.partition(".")[0]))
                return None
            raise
        finally:
            group.loads = False

    def _import(self, group: ChangeGroup) -> ModuleType:
        """Import the body; execute it once more if its target's module has executed once more.

        The body may have kept objects of the module's former execution.
        """
        name = group.patch.body
        present = sys.modules.get(name)
        is_pack = group.patch.row.patch.body is None  # a row without a body of its own
        if group.applied_to is None or present is None or is_pack:
            body = importlib.import_module(name)
        else:
            body = importlib.reload(present)
            self.loaded.pop(name, None)  # its file may have changed since
        if self.states.journal.directory is not None:
            if name not in self.loaded:
                self.loaded[name] = file_of(body)
            group.body = self.loaded[name]
        if self.lost:
            mend(self.lost)
        return body

    def _is_body_whole(self, group: ChangeGroup) -> bool:
        """Whether the body is imported as a whole, or not at all."""
        body = group.patch.body
        return body not in sys.modules or self.executions.is_whole(body)


# -- all or none -----------------------------------------------------------------------------------


def apply_changes(
    made: Transaction,
    changes: Iterable[Placed],
    module: ModuleType | None,
    body: ModuleType,
    sites: Sites,
) -> None:
    """Make all of some changes; if one cannot be made, undo the others and raise its error.

    Args:
        made: records the changes and their undos.
        changes: the changes with their indices in the row.
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


class _ReadyChange(NamedTuple):
    """A change whose target is resolved, and that can be made.

    Args:
        change: the change.
        target: its target.
        target_name: the target as text.
        prepared: what `prepare` returned for it.
        sites: the attributes that it will set.
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
    """Resolve all changes of a wave, then make them, then record the route to each target."""
    ready: list[_ReadyChange] = []
    for index, change in wave:
        context = Context(module, body, sites, made.patch, (made.rank, index))
        prepared = prepare(change, context)
        changed = prepared.sites
        place = change.place
        ready.append(_ReadyChange(change, place, change.place_text, prepared, changed))
    for each in ready:
        if _may_discard(each, sites):
            from patchkit.runtime.process.discarding import refuse_to_discard  # noqa: PLC0415 - few do

            prepared = cast("PreparedLayers", each.prepared)
            refuse_to_discard(each.target_name, prepared, sites, made.patch)
    rebuild = _rebuild_after(ready, sites)
    if rebuild is not None:
        # Undos run last to first: classes are rebuilt after the changes are undone.
        made.undos.append(rebuild.undo)
    for each in ready:
        _apply_change(made, each)
    if rebuild is not None:
        rebuild.apply()
        made.kept += rebuild.kept
    for each in ready:
        _record_routes(made, each, module)


def _record_routes(
    made: Transaction, ready: _ReadyChange, module: ModuleType | None
) -> None:
    """Record the way to each target of a change that was made."""
    if ready.change.sets:
        made.routes += cast("PreparedSets", ready.prepared).routes()
    if module is None or not ready.target.qualname:
        return  # no route leads to a whole module
    edited = None
    if isinstance(ready.change, Edit):
        edited = cast("Any", ready.prepared).code.function
        made.kept += compiled_left(edited)  # torch.jit does not compile it again
    qualname = ready.target.qualname
    route = route_of(ready.target_name, module, qualname, ready.sites, edited)
    made.routes.append(route)


def prepare(change: Change, context: Context) -> Prepared:
    """Resolve a change's target and its object in the body; nothing upstream is changed.

    Args:
        change: the change.
        context: its module, body and rank.

    Returns:
        An object whose `apply` makes the change, and whose `undo` undoes it.

    Raises:
        TargetError: the target or the object does not exist, or the change is refused.
    """
    name = _MODULES[type(change).__name__]
    if change.sets:
        name = "set_by_call"
    kind = importlib.import_module(f"patchkit.runtime.changes.{name}")
    return cast("Prepared", kind.prepare(change, context))


def _may_discard(ready: _ReadyChange, sites: Sites) -> bool:
    """Whether a change is a Replace of something that others may have changed in part."""
    if not isinstance(ready.change, Replace):
        return False
    if any(type(site.original) is not FunctionType for site in ready.sites):
        return True
    # Of a function, only another copy of patchkit or an Edit can have changed a part.
    return bool(other_sessions()) or sites.has_noted("CodeSites")


def _rebuild_after(ready: Iterable[_ReadyChange], sites: Sites) -> "Rebuild | None":
    """Prepare to rebuild the dataclasses and models that changes affect; None if there are none."""
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
    """Make a change, and record its undo, target and sites."""
    undo = ready.prepared.undo
    made.undos.append(undo)  # first, so that a change that fails halfway is undone, too
    if isinstance(ready.change, AfterImport):
        made.calls.append(undo)
    ready.prepared.apply()
    if ready.change.sets:
        from patchkit.runtime.process.called import record_sets  # noqa: PLC0415 - few set any

        record_sets(made, ready.change, cast("PreparedSets", ready.prepared))
        return
    if isinstance(ready.change, AfterImport):
        made.of_calls[ready.target_name] = ""  # no package: nobody knows what it sets
    scope = scope_of(ready.target.module, ready.change.rebind)
    made.targets.append(ready.target_name)
    for site in ready.sites:
        site.rebind |= scope
        site.home = ready.target.module
        made.sites.append((ready.target_name, site))
