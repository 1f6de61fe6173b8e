"""Which of the applied changes are in effect: their code was called in this process, or traced.

A look asks and tells the journal; nothing is written, and nothing runs, in the call itself. What
torch.compile inlines is never called, but it lists the code that it traces.
"""

import threading
from types import CodeType
from typing import Any
from weakref import ref

from patchkit.core.record import Record, field
from patchkit.runtime.changes.own_code import functions_in, is_unseen, values_at
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.observing import observer
from patchkit.runtime.process.patch_state import APPLIED, ChangeGroup
from patchkit.runtime.process.schedule import Schedule

Key = tuple[str, str]  # a patch and a target of it

CALLED, NEVER_CALLED, NOT_OBSERVABLE = "called", "never called", "not observable"

_EDITED = "an edited file"
"""Home of edited code, which artefacts do not name."""


class Observation(Record, frozen=False, eq=False):
    """What can be seen of one target of a patch."""

    codes: list[CodeType] = field(default_factory=list)  # what runs, by now
    homes: set[str] = field(default_factory=set)  # modules whose code an artefact may hold
    is_called: bool = False  # by what applied it
    is_unseen: bool = False  # a call may run none of the functions


class Compilers(Record, frozen=False, eq=False):
    """What torch.compile has told of the code that it has traced."""

    tracings: list[tuple[Any, list[CodeType]]] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)  # modules with code in artefacts of a cache
    is_silent: bool = False  # it traces, and this release of torch does not tell what

    def begins(self, context: Any) -> None:
        """Note that a tracing begins: it fills the list of code that it keeps."""
        codes = getattr(context, "traced_code", None)
        if isinstance(codes, list):
            self.tracings.append((ref(context), codes))
        else:
            self.is_silent = True

    def loads(self, artefact: Any) -> None:
        """Note of which modules an artefact holds code, which is not traced again."""
        try:
            self.loaded.update(one.module for one in artefact.source_info().inlined_sources)
            self.loaded.add(_EDITED)
        except (AttributeError, TypeError):
            self.is_silent = True

    def traced(self) -> set[int]:
        """Identify the code that was traced since the last look."""
        is_over = [context() is None for context, _ in self.tracings]  # before its list is read
        found = {id(code) for _, codes in self.tracings for code in list(codes)}
        pairs = zip(self.tracings, is_over, strict=False)
        self.tracings[: len(is_over)] = [tracing for tracing, over in pairs if not over]
        return found


class Effects:
    """Observes what is applied, as long as it is, where the journal is for others to read."""

    def __init__(self, schedule: Schedule, journal: Journal) -> None:
        self._schedule = schedule
        self._journal = journal
        self._observer = observer()
        self._begin()

    def _begin(self) -> None:
        self.compilers = Compilers()
        self._guard = threading.Lock()
        self._called: set[Key] = set()
        self._told: dict[Key, str] = {}

    def observe(self) -> None:
        """Begin to observe what was applied."""
        if self._journal.directory is not None:
            with self._guard:
                self._judge()

    def look(self, *, is_last: bool = False) -> None:
        """Tell which targets have become another word since the last look; at the end, of all."""
        if self._journal.directory is None:
            return
        with self._guard:
            words = self._judge()
            told: dict[str, dict[str, str]] = {}
            for (patch, target), word in words.items():
                if is_last or self._told.get((patch, target)) != word:
                    told.setdefault(patch, {})[target] = word
            self._told = words
        if told:
            self._journal.write("in-effect", patches=told)

    def after_fork(self) -> None:
        """Begin anew: what the parent has called says nothing of the child."""
        self._observer.watch(())
        self._begin()
        self.observe()

    def close(self) -> None:
        """Observe nothing more."""
        with self._guard:
            self._observer.close()

    # -- the evidence -----------------------------------------------------------------------------

    def _judge(self) -> dict[Key, str]:
        groups = [group for group in self._schedule.groups() if group.patch.status == APPLIED]
        found = {
            (group.patch.name, target): _evidence(group, target)
            for group in groups
            for target in tuple(group.made.targets)
        }
        self._called &= found.keys()
        self._observer.watch(code for one in found.values() for code in one.codes)
        traced, shared = self.compilers.traced(), _shared(found)
        return {key: self._word(key, one, traced, shared) for key, one in found.items()}

    def _word(self, key: Key, one: Observation, traced: set[int], shared: set[int]) -> str:
        ran = {id(code): self._observer.has_run(code) for code in one.codes}
        ran |= dict.fromkeys(ran.keys() & traced, True)
        called = {code for code, has_run in ran.items() if has_run}
        if one.is_called or key in self._called or called - shared:
            self._called.add(key)
            return CALLED
        is_silent = self.compilers.is_silent or not one.homes.isdisjoint(self.compilers.loaded)
        is_known = bool(ran) and all(has_run is False for has_run in ran.values())
        return NEVER_CALLED if is_known and not (is_silent or one.is_unseen) else NOT_OBSERVABLE


def _evidence(group: ChangeGroup, target: str) -> Observation:
    patch, pack, made = group.patch.name, group.patch.row.pack, group.made
    # What runs beside an import, or serves one, was called with it.
    one = Observation(homes={group.module, group.patch.body}, is_called=":" not in target)
    sites = [site for told, site in tuple(made.sites) if told == target]
    for value in [value for site in sites for value in values_at(site, patch)]:
        functions = list(functions_in(value, pack))
        one.codes += [function.__code__ for function in functions]
        one.homes |= {str(function.__globals__.get("__name__")) for function in functions}
        one.is_unseen |= is_unseen(value, pack)
    for way in tuple(made.routes):
        if way.target == target and way.edited is not None:
            one.codes.append(way.edited[0].__code__)
            one.homes.add(_EDITED)
    return one


def _shared(found: dict[Key, Observation]) -> set[int]:
    """Identify the code that serves several targets: nobody knows for which it was called."""
    holders: dict[int, set[str]] = {}
    for (_, target), one in found.items():
        for code in one.codes:
            holders.setdefault(id(code), set()).add(target)
    return {code for code, targets in holders.items() if len(targets) > 1}
