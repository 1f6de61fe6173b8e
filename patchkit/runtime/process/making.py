"""Change groups made: bodies loaded and asked what they want, changes applied, copies repointed.

`Maker` makes one group, `CopiesPass` then repoints the copies of all that were made, and `remarks`
collects what the journal says of them. `Inspection` looks later whether somebody else has
overwritten anything.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import AFTER, BEFORE, SERVING, Change, Patch
from patchkit.errors import ApplyError, OverwrittenError, PatchkitError, TargetError, VerifyError
from patchkit.runtime.changes.overwrites import (
    Overwrite,
    stranger_at,
    stranger_on,
    strangers_on_copies,
)
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies import scope as copies
from patchkit.runtime.copies.scope import Keepers, Outcome
from patchkit.runtime.imports.half_imported import culprit
from patchkit.runtime.process.patch_state import ARMED, ChangeGroup, PatchState, PatchStates
from patchkit.runtime.process.schedule import Relevance, Schedule
from patchkit.runtime.process.transaction import Placed, Transaction
from patchkit.runtime.process.waiting import Executions, Turns


class NotWanted(Exception):  # noqa: N818 - an answer, not an error
    """The body says that its patch is not for here, and why."""


class Maker(Record, eq=False):
    """Makes groups, one at a time in each thread."""

    sites: Sites
    states: PatchStates
    relevance: Relevance
    executions: Executions
    turns: Turns

    def make(self, group: ChangeGroup, module: ModuleType | None) -> bool:
        """Make what is for here of a group; whether that is anything.

        It is this thread's turn at the group; its module is None before that executes. Raises
        NotWanted where the whole patch is not for here.
        """
        changes = self.relevance.changes_here(group)
        serves = group.moment == SERVING
        if not changes or not (serves or self._has_no_half_body(group)):
            return False  # where somebody else imports the body, its end makes the group due again
        if group.moment == BEFORE and module is not None:
            name = group.module
            raise ApplyError(f"{name} was imported before patchkit could run before it")
        if group.applied_to is not None:
            group.made.take_back()  # what the module's last execution left of it
        body = self._load(group)
        if body is None or not (self._has_no_half_body(group) and self.relevance.is_open(group)):
            return False  # the body itself asks for the module that it provides
        if (reason := reason_to_skip(group.patch.row.patch, body)) is not None:
            raise NotWanted(reason)
        return self._make_wanted(group, changes, module, body)

    def _make_wanted(
        self,
        group: ChangeGroup,
        changes: list[Placed],
        module: ModuleType | None,
        body: ModuleType,
    ) -> bool:
        reasons = [reason_to_skip(change, body) for _, change in changes]
        asked = list(zip(changes, reasons, strict=True))
        wanted = [placed for placed, reason in asked if reason is None]
        group.made = Transaction(group.patch.name, group.rank)
        group.made.apply(wanted, module, body, self.sites)
        group.applied_to = self.executions.now(group, module)
        for (_, change), reason in asked:
            if reason is not None:
                name, target = group.patch.name, str(change.place)
                self.states.journal.write("left-out", name=name, target=target, reason=reason)
                self.states.say("info", f"{name}: {change.kind} of {target} left out: {reason}")
        if not wanted and not self._is_left(group.patch):
            raise NotWanted(f"no change applies here: {reasons[0]}")
        return bool(wanted)

    def _is_left(self, state: PatchState) -> bool:
        left = [group for group in state.groups if group.applied_to is None]
        is_waiting = any(self.relevance.changes_here(group) for group in left)
        return is_waiting or any(group.made.undos for group in state.groups)

    def _load(self, group: ChangeGroup) -> ModuleType | None:
        """Load the body; None where it needs a module that is being imported, and waits for it."""
        group.loads = True
        self.turns.tell()
        try:
            loaded = sys.modules.get(group.patch.body)
            if group.applied_to is None or loaded is None or group.patch.row.patch.body is None:
                return importlib.import_module(group.patch.body)
            return importlib.reload(loaded)  # as the module that it builds on, which executed anew
        except (ImportError, AttributeError) as error:
            needed = culprit(error) if group.moment == AFTER else None
            if needed is None or not self.executions.postpone(group, needed):
                raise
            if group.patch.status == ARMED:
                text = f"waits for the end of the import of {needed}, which its body needs"
                self.states.set(group.patch, ARMED, text)
            return None
        finally:
            group.loads = False

    def _has_no_half_body(self, group: ChangeGroup) -> bool:
        body = group.patch.body
        return body not in sys.modules or self.executions.is_whole(body)


def reason_to_skip(asked: Patch | Change, body: ModuleType) -> str | None:
    """Ask a `when`: None for True, else the reason; a TargetError where it says neither."""
    if asked.when is None:
        return None
    return _answer("when", asked.when, body, "the reason to skip", TargetError)


def refuse_unverified(patch: Patch, body: ModuleType) -> None:
    """Ask a `verify`; VerifyError where it does not answer True."""
    name = str(patch.verify)
    if (answer := _answer("verify", name, body, "what is wrong", VerifyError)) is not None:
        raise VerifyError(f"verify: {name}() of {body.__name__}: {answer}")


def _answer(
    field: str, name: str, body: ModuleType, words: str, error: type[PatchkitError]
) -> str | None:
    ask = getattr(body, name, None)
    if not callable(ask):
        raise error(f"{field}: body {body.__name__} has no function {name!r}")
    answer = ask()
    if answer is True:
        return None
    if isinstance(answer, str) and answer:
        return answer
    found = f"{name}() of {body.__name__} returned {answer!r}"
    raise error(f"{field}: {found}, expected True or {words}")


class CopiesPass(Record, eq=False):
    """Repoints copies of what patches have changed, and of what was taken back."""

    sites: Sites
    schedule: Schedule
    states: PatchStates

    def repoint(
        self, groups: Sequence[ChangeGroup], scope: Callable[[], copies.SearchScope]
    ) -> None:
        """Repoint the copies of what groups have changed, and note what is to be told of each."""
        from patchkit.runtime.copies.repointing import repoint  # noqa: PLC0415 - few processes get here

        sites = [site for group in groups for _, site in group.made.sites if site.rebind]
        where = scope() if sites else copies.NO_MODULES
        latecomers = copies.Latecomers(where.modules) if where.late else None
        outcome = repoint(sites, where, self._keepers())
        if latecomers is not None:
            latecomers.revisit(self._revisit)
        facts = [remarks(group, outcome, late=where.late) for group in groups]
        for group, noted in zip(groups, facts, strict=True):
            group.facts = noted

    def restore(self) -> list[Exception]:
        """Repoint what was copied since, after patches were taken back; return what went wrong."""
        from patchkit.runtime.copies.repointing import restore  # noqa: PLC0415 - as above

        where = copies.all_modules()
        latecomers = copies.Latecomers(where.modules)
        try:
            outcome = restore(self.sites, where, self._keepers())
            latecomers.revisit(self._revisit)
        except Exception as error:  # noqa: BLE001 - the targets are as they were all the same
            return [error]
        for copy in outcome.left:
            self.states.say("info", f"undo: out of reach: {copy.words}")
        return []

    def _revisit(self, module: str) -> None:
        """Repoint what a module has copied that another thread was importing meanwhile."""
        from patchkit.runtime.copies.repointing import repoint  # noqa: PLC0415 - as above

        try:
            outcome = repoint(self.sites, copies.SearchScope([module]), self._keepers())
        except Exception as error:  # noqa: BLE001 - that thread's import is none of ours to fail
            self.states.say("error", f"copies in {module} are not repointed: {error}")
            return
        for copy in outcome.rebound:
            self.states.say("info", f"{copy.words} was copied meanwhile, and is repointed")

    def _keepers(self) -> Keepers:
        # Bodies call originals under the names that they, and their packs, have imported.
        packs = {patch.row.pack for patch in self.schedule.patches.values()}
        return Keepers(("patchkit", *packs), self.schedule.by_body.keys(), self.sites)


def remarks(group: ChangeGroup, outcome: Outcome, *, late: bool) -> dict[str, Any]:
    """Tell the copies of what a group has changed, and how patches lie on it.

    `late`: somebody may have copied before. `layers` has for each target the patches on it, the
    innermost first; `untraced`, if anything, why copies were not looked for.
    """
    sites = [site for _, site in group.made.sites]
    subclasses = [copies.subclasses_left(site.original, site.current) for site in sites]
    told: dict[str, Any] = {
        "module": group.module,
        "rebound": [copy.words for copy in outcome.rebound if copy.site in sites],
        "out_of_reach": [
            *(copy.words for copy in outcome.left if copy.site in sites),
            *(words for left in subclasses for words in left),
        ],
        "layers": layers_of(group),
    }
    untraced = dict(_untraced(group)) if late else {}
    return told | ({"untraced": untraced} if untraced else {})


def layers_of(group: ChangeGroup) -> dict[str, list[str]]:
    """Name for each target of a group the patches that lie on it, the innermost first.

    Of what is no attribute (code that is edited, a field, a module) only this group's is known.
    """
    layers: dict[str, list[str]] = {target: [] for target in group.made.targets}
    for target, site in group.made.sites:
        order = layers.setdefault(target, [])
        order += [patch for patch in site.patches if patch not in order]
    return {target: order or [group.patch.name] for target, order in layers.items()}


def _untraced(group: ChangeGroup) -> Iterator[tuple[str, str]]:
    for target, site in group.made.sites:
        is_changed = site.original is not site.current
        if site.rebind and is_changed and (reason := copies.untraced(site)) is not None:
            yield target, reason


class Inspection(Record, eq=False):
    """Looks whether strangers act on what was changed, and tells of each once."""

    sites: Sites
    states: PatchStates
    told: set[tuple[str, str]] = field(default_factory=set)

    def error_of(
        self, group: ChangeGroup, is_settled: Callable[[ChangeGroup], bool]
    ) -> OverwrittenError | None:
        """Return why a group's changes act no more; another thread may be at those not settled."""
        name, made = group.patch.name, group.made
        looks = [(target, stranger_at(site, self.sites)) for target, site in tuple(made.sites)]
        looks += [(way.target, stranger_on(way, self.sites)) for way in tuple(made.routes)]
        for target, overwrite in looks:
            if overwrite is not None and is_settled(group):
                self._tell(name, target, overwrite)
                if not overwrite.wraps:
                    return OverwrittenError(f"{target} was overwritten by {overwrite.by}")
        for _, site in tuple(made.sites):
            for words, overwrite in strangers_on_copies(site):
                self._tell(name, words, overwrite, "info" if overwrite.wraps else "warning")
        return None

    def _tell(self, name: str, target: str, overwrite: Overwrite, level: str = "info") -> None:
        event = "wrapped" if overwrite.wraps else "overwritten"
        text = f"{target} was {event} by {overwrite.by}"
        if (name, text) not in self.told:
            self.told.add((name, text))
            self.states.journal.write(event, name=name, target=target, by=overwrite.by)
            self.states.say(level, f"{name}: {text}")
