"""Whether a change holds in one release: what it needs there, and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.check import codes
from patchkit.check.anchors import look
from patchkit.check.bases import bases_of
from patchkit.check.calls import refused_call, takes_wrapped
from patchkit.check.ranges import packages_of
from patchkit.declaration import Add, AddField, Edit, Provide, Replace, Wrap
from patchkit.target import Item, Target
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.check.codes import Code
    from patchkit.check.pack_source import PackSource
    from patchkit.check.subjects import Subject
    from patchkit.declaration import Change
    from patchkit.registry import Row
    from patchkit.upstream.facts import Facts

_FUNCTIONS = frozenset(
    map(
        str,
        [
            *(Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.CACHED_FUNCTION, Kind.DECORATED),
            *(Kind.METHOD, Kind.ASYNC_METHOD, Kind.STATICMETHOD, Kind.CLASSMETHOD),
            *(Kind.PROPERTY, Kind.CACHED_PROPERTY),
        ],
    )
)
_BOUND = frozenset(map(str, [Kind.METHOD, Kind.ASYNC_METHOD, Kind.CLASSMETHOD]))
_CLASS = str(Kind.CLASS)
_UNWRAPPABLE = frozenset(
    map(str, [Kind.CLASS, Kind.CONSTANT, Kind.MODULE, Kind.FIELD, Kind.INSTANCE_ATTRIBUTE])
)
_HARMLESS = (codes.UNDECIDABLE, codes.NOT_COMPARED, codes.MERGED_UPSTREAM)
_UNEDITABLE = _UNWRAPPABLE | {str(Kind.GENERATED), str(Kind.OUTSIDE)}


class Fault(NamedTuple):
    """
    Something that a change runs into in one release.

    Args:
        code: which sort.
        message: what was found and what was expected.
        fix: what to do.
        by: the object of the body that it is about, '' where it is about the row.

    """

    code: Code
    message: str
    fix: str
    by: str = ""

    @property
    def breaks(self) -> bool:
        """Whether the change fails at run time; an Edit does that is upstream by now."""
        is_edit = self.code is codes.MERGED_UPSTREAM and not self.by
        return is_edit or self.code not in _HARMLESS


def needed(change: Change) -> list[Target]:
    """List the targets that have to be looked up to judge a change."""
    place = change.place
    if isinstance(change, AddField):
        return [place, Target(place.module, f"{place.qualname}.{change.name}")]
    if isinstance(change, Add):
        return [place, around(place)]
    if isinstance(change, Provide) and "." in place.module:
        return [place, Target(place.module.rpartition(".")[0])]
    return [place]


def around(place: Target) -> Target:
    """Return what holds a target: a class, a container, its module."""
    steps = place.steps
    last = steps[-1]
    size = len(str(last)) if isinstance(last, Item) else len(last) + 1
    return Target(place.module, place.qualname[:-size] if len(steps) > 1 else "")


class Judge:
    """
    Judges the changes of one row in one release.

    Args:
        row: whose changes.
        subject: the release.
        pack: what the row's author wrote.

    """

    def __init__(self, row: Row, subject: Subject, pack: PackSource) -> None:
        self._row = row
        self._subject = subject
        self._pack = pack
        self._texts: dict[Target, str] = {}

    def faults(self, change: Change) -> Iterator[Fault]:
        """List what a change runs into."""
        if isinstance(change, Add):
            yield from self._add(change)
        elif isinstance(change, Provide):
            yield from self._provide(change)
        else:
            yield from self._present(change)

    def _present(self, change: Change) -> Iterator[Fault]:
        facts = self._facts(change.place)
        if facts.state == "absent":
            fix = "narrow the row's range, or follow the target to its new place"
            yield Fault(codes.TARGET_MISSING, facts.reason or "it is not there", fix)
        elif facts.state == "undecidable":
            yield _undecidable(facts.reason)
        elif isinstance(change, Edit):
            yield from self._edit(change, facts)
        elif isinstance(change, Wrap):
            yield from self._wrap(change, facts)
        elif isinstance(change, Replace):
            yield from self._replace(change, facts)
        elif isinstance(change, AddField):
            yield from self._add_field(change, facts)

    # --- what has to be absent

    def _add(self, change: Add) -> Iterator[Fault]:
        holder = around(change.place)
        outer, facts = self._facts(holder), self._facts(change.place)
        if outer.state == "absent":
            yield Fault(codes.TARGET_MISSING, f"{holder} is not there: {outer.reason}", _NARROW)
        elif facts.is_present:
            yield _already(f"{change.place} is upstream already, {_where(facts)}")
        elif facts.state == "undecidable":
            yield _undecidable(facts.reason)

    def _provide(self, change: Provide) -> Iterator[Fault]:
        facts = self._facts(change.place)
        parent = change.module.rpartition(".")[0]
        if facts.is_present:
            yield _already(f"the module {change.module} is upstream already, {_where(facts)}")
        elif parent and not self._is_package(parent):
            yield Fault(codes.TARGET_MISSING, f"its parent package {parent} is not there", _NARROW)

    def _is_package(self, name: str) -> bool:
        """Whether a package is there, or provided by the same row."""
        provided = {one.module for one in self._row.patch.changes if isinstance(one, Provide)}
        return name in provided or self._facts(Target(name)).is_present

    def _add_field(self, change: AddField, facts: Facts) -> Iterator[Fault]:
        field = Target(change.place.module, f"{change.place.qualname}.{change.name}")
        if facts.kind != _CLASS and facts.is_sure:
            yield _kind(facts, "a class")
        elif self._facts(field).is_present:
            yield _already(f"{field} is upstream already, {_where(self._facts(field))}")

    # --- what has to fit

    def _wrap(self, change: Wrap, facts: Facts) -> Iterator[Fault]:
        if facts.is_sure and facts.kind in _UNWRAPPABLE:
            yield _kind(facts, "something to call, as Wrap needs")
            return
        ours = self._body(change.by)
        fault = takes_wrapped(ours.signature) if ours and ours.signature else None
        if fault:
            message = f"{change.by}{ours.signature if ours else ''} has to take (wrapped, instance,"
            yield Fault(
                codes.SIGNATURE_CHANGED, f"{message} args, kwargs): {fault}", _REWRITE, change.by
            )

    def _replace(self, change: Replace, facts: Facts) -> Iterator[Fault]:
        ours = self._body(change.by)
        if ours is None or not ours.is_present or change.unrelated:
            return
        if facts.is_sure and facts.kind == _CLASS:
            yield from self._subclass(change, facts, ours)
            return
        if facts.is_sure and facts.kind in _FUNCTIONS and ours.kind == str(Kind.CONSTANT):
            yield _kind(facts, f"what {change.by} can stand for, which is a constant")
            return
        if facts.shape and ours.shape == facts.shape:
            message = f"upstream's source is that of {change.by} by now, {_where(facts)}"
            yield Fault(codes.MERGED_UPSTREAM, message, _RETIRE, change.by)
            return
        yield from _calls(change, facts, ours)

    def _subclass(self, change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
        if ours.is_sure and ours.kind in _FUNCTIONS | {str(Kind.CONSTANT)}:
            yield _kind(facts, f"no class, as {change.by} is none ({ours.kind})")
            return
        if self._row.patch.body is None:
            return
        bases = bases_of(self._pack.resolver, Target(self._row.body, change.by))
        if bases.is_whole and not any(self._derives(base, facts) for base in bases.outside):
            found = bases.outside[0] if bases.outside else "object"
            expected = f"{facts.module}:{facts.qualname}"
            message = f"{change.by} derives from {found}, expected a class derived from {expected}"
            yield Fault(codes.KIND_CHANGED, message, _REWRITE, change.by)

    def _derives(self, base: str, facts: Facts) -> bool:
        """Whether a class of upstream, `vllm.a.B`, is a target or derives from it; or may do so."""
        parts = base.split(".")
        if parts[0] not in packages_of([self._row]):
            return False
        for at in range(len(parts) - 1, 0, -1):
            module = Target(".".join(parts[:at]))
            if self._facts(module).is_present:
                place = Target(module.module, ".".join(parts[at:]))
                return self._is_or_derives(place, facts)
        return True  # the body cannot be imported here; that its target is missing is said

    def _is_or_derives(self, place: Target, facts: Facts) -> bool:
        found = self._facts(place)
        if (found.module, found.qualname) == (facts.module, facts.qualname):
            return True
        above = bases_of(self._subject.resolver, place)
        return not above.is_whole or (facts.module, facts.qualname) in above.inside

    def _edit(self, change: Edit, facts: Facts) -> Iterator[Fault]:
        if facts.is_sure and facts.kind in _UNEDITABLE:
            yield _kind(facts, "a function with source of its own, as Edit needs")
            return
        if facts.owner:
            message = f"it is only inherited from {facts.owner}, expected its own source"
            yield Fault(codes.KIND_CHANGED, message, f"name {facts.owner} in the row")
            return
        text = self._texts.get(change.place) or self._subject.text(facts)
        if not text or facts.lines is None:
            yield _undecidable("its source cannot be read")
            return
        yield from self._anchor(change, facts, text)

    def _anchor(self, change: Edit, facts: Facts, text: str) -> Iterator[Fault]:
        assert facts.lines is not None
        found = look(change, text, facts.lines[0])
        if found.after:
            self._texts[change.place] = found.after
        elif found.fault:
            yield _undecidable(found.fault)
        elif found.times == 0 and found.has_new:
            message = f"old is gone and new is there, {_where(facts)}; the Edit fails here"
            yield Fault(codes.MERGED_UPSTREAM, message, _RETIRE)
        elif found.times < change.count:
            near = f"; nearest to it:\n{found.nearest}" if found.nearest else ""
            message = f"{_occurs(found.times, change)} in {facts.path}{near}"
            yield Fault(codes.ANCHOR_ABSENT, message, "follow upstream's text in old and new")
        else:
            lines = ", ".join(map(str, found.lines))
            message = f"{_occurs(found.times, change)} in {facts.path}, lines {lines}"
            yield Fault(codes.ANCHOR_AMBIGUOUS, message, "make old longer, or set count")

    def _body(self, name: str) -> Facts | None:
        return self._pack.facts(self._row, name) if self._row.patch.body is not None else None

    def _facts(self, target: Target) -> Facts:
        return self._subject.facts(target)


_NARROW = "narrow the row's range, or follow the target to its new place"
_REWRITE = "change the body, or narrow the range and add a change for the releases from here on"
_RETIRE = "end the range before this release; the row can go once no other release needs it"


def _calls(change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
    theirs, mine = (one.signature if one.is_sure else None for one in (facts, ours))
    if theirs is None or mine is None:
        if facts.kind in _FUNCTIONS or ours.kind in _FUNCTIONS:
            yield _not_compared(change.by, ours if theirs else facts)
        return
    if facts.kind in _BOUND:
        theirs, mine = theirs.bound(), mine.bound()
    fault = refused_call(theirs, mine)
    if fault:
        message = f"upstream's is {theirs}, {change.by} takes {mine}: {fault}"
        yield Fault(codes.SIGNATURE_CHANGED, message, _REWRITE, change.by)


def _not_compared(by: str, unknown: Facts) -> Fault:
    reason = unknown.reason or f"the source does not tell how {unknown.qualname} is called"
    message = f"{by} may not take what callers pass: {reason}"
    return Fault(codes.NOT_COMPARED, message, "compare the parameters by hand, or test it", by)


def _kind(facts: Facts, expected: str) -> Fault:
    found = f"{facts.module}:{facts.qualname}" if facts.qualname else facts.module
    message = f"found {found} ({facts.kind}), expected {expected}"
    return Fault(codes.KIND_CHANGED, message, _REWRITE)


def _already(message: str) -> Fault:
    return Fault(codes.ALREADY_UPSTREAM, message, _RETIRE)


def _undecidable(reason: str) -> Fault:
    return Fault(codes.UNDECIDABLE, f"not decidable: {reason}", "look at it by hand")


def _where(facts: Facts) -> str:
    return f"{facts.path}:{facts.lines[0]}" if facts.path and facts.lines else facts.path or "there"


def _occurs(count: int, change: Edit) -> str:
    first = change.old.strip().splitlines()[0]
    if not count:
        return f"{first!r} not found"
    return f"{first!r} found {_times(count)}, expected {_times(change.count)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
