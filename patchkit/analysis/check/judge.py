"""Whether a change holds in one release: what it needs there, and what is there."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from textwrap import dedent

from patchkit.analysis.check import codes
from patchkit.analysis.check.compatibility import bases_of, is_beside, refused_call, takes_wrapped
from patchkit.analysis.check.coverage import packages_of
from patchkit.analysis.check.declarations import meet
from patchkit.analysis.check.findings import RETIRE, REWRITE, Fault, undecidable, where
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.trails import splits
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.fields import HOOKS
from patchkit.analysis.upstream.resolving.values import METHODS, Kind
from patchkit.core.rows.declaration import Add, AddField, Change, Edit, Provide, Replace, Row, Wrap
from patchkit.core.rows.target import Target
from patchkit.core.text.rewriting import FunctionText, MiscountError, TextEdit, nearest, rewrite
from patchkit.errors import TargetError

_PLAIN = frozenset([Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.CACHED_FUNCTION, Kind.DECORATED])
_FUNCTIONS = METHODS | _PLAIN | {Kind.PROPERTY, Kind.CACHED_PROPERTY}
_BOUND = METHODS - {Kind.STATICMETHOD}
_UNWRAPPABLE = {Kind.CLASS, Kind.CONSTANT, Kind.MODULE, Kind.FIELD, Kind.INSTANCE_ATTRIBUTE}
_VALUES = frozenset([Kind.FIELD, Kind.CONSTANT, Kind.ASSIGNMENT])
_UNEDITABLE = _UNWRAPPABLE | {Kind.GENERATED, Kind.OUTSIDE}
_NARROW = "narrow the row's range, or follow the target to its new place"
_HELPER = "where this row replaces all callers too, unrelated=True compares nothing"


class Judge:
    """Judges the changes of one row in one release, after the Edits of rows that come before."""

    def __init__(
        self, row: Row, subject: CheckedRelease, pack: PackSource, edits: "EditSequence"
    ) -> None:
        self._row = row
        self._subject = subject
        self._facts = subject.facts
        self._pack = pack
        self._edits = edits

    def faults(self, change: Change) -> Iterator[Fault]:
        """List what a change runs into."""
        if isinstance(change, Add):
            return self._add(change)
        return self._provide(change) if isinstance(change, Provide) else self._present(change)

    def _present(self, change: Change) -> Iterator[Fault]:
        facts = self._facts(change.place)
        if facts.state == "absent":
            yield Fault(codes.TARGET_MISSING, facts.reason or "it is not there", _NARROW)
        elif facts.state == "undecidable":
            yield undecidable(facts.reason)
        elif isinstance(change, Edit):
            yield from self._edit(change, facts)
        elif isinstance(change, (Wrap, Replace)) and (kept := self._elsewhere(change, facts)):
            message = f"found {change.place}, {kept}; expected what lies on its class"
            yield Fault(
                codes.KIND_CHANGED, message, "Replace the class by one that derives from it"
            )
        elif isinstance(change, Wrap):
            yield from self._wrap(change, facts)
        elif isinstance(change, Replace):
            yield from self._replace(change, facts)
        elif isinstance(change, AddField):
            yield from self._add_field(change, facts)

    # --- what has to be absent

    def _add(self, change: Add) -> Iterator[Fault]:
        holder = change.place.holder
        outer, facts = self._facts(holder), self._facts(change.place)
        if outer.state == "absent":
            yield Fault(codes.TARGET_MISSING, f"{holder} is not there: {outer.reason}", _NARROW)
        elif facts.is_present:
            if not is_beside(self._subject.resolver, change.place, facts):
                yield _already(f"{change.place} is upstream already, {where(facts)}")
        elif facts.state == "undecidable":
            yield undecidable(facts.reason)

    def _provide(self, change: Provide) -> Iterator[Fault]:
        facts = self._facts(change.place)
        parent = change.module.rpartition(".")[0]
        provided = {one.module for one in self._row.patch.changes if isinstance(one, Provide)}
        if facts.is_present:
            yield _already(f"the module {change.module} is upstream already, {where(facts)}")
        elif parent and parent not in provided and not self._facts(Target(parent)).is_present:
            yield Fault(codes.TARGET_MISSING, f"its parent package {parent} is not there", _NARROW)

    def _add_field(self, change: AddField, facts: Facts) -> Iterator[Fault]:
        field = Target(change.place.module, f"{change.place.qualname}.{change.name}")
        there = self._facts(field)
        if facts.kind != Kind.CLASS and facts.is_sure:
            yield _kind(facts, "a class")
        elif there.is_present:
            yield _already(f"{field} is upstream already, {where(there)}")

    # --- what has to fit

    def _elsewhere(self, change: Wrap | Replace, facts: Facts) -> str:
        is_value = isinstance(change, Replace) and facts.kind in _VALUES
        may_be = is_value or change.place.steps[-1] in HOOKS
        is_told = facts.is_sure or facts.kind == Kind.FIELD
        ours = self._body(change.by) if may_be and is_told else None
        return "" if ours is None or ours.kind == Kind.PROPERTY else facts.storage

    def _wrap(self, change: Wrap, facts: Facts) -> Iterator[Fault]:
        if facts.is_sure and facts.kind in _UNWRAPPABLE:
            yield _kind(facts, "something to call, as Wrap needs")
            return
        signature = ours.signature if (ours := self._body(change.by)) else None
        if signature and (fault := takes_wrapped(signature)):
            expected = f"has to take (wrapped, instance, args, kwargs): {fault}"
            message = f"{change.by}{signature} {expected}"
            yield Fault(codes.SIGNATURE_CHANGED, message, REWRITE, change.by)

    def _replace(self, change: Replace, facts: Facts) -> Iterator[Fault]:
        ours = self._body(change.by)
        if ours is None or not ours.is_present or change.unrelated:
            return
        if facts.is_sure and facts.kind == Kind.CLASS:
            yield from self._subclass(change, facts, ours)
        elif facts.is_sure and facts.kind in _FUNCTIONS and ours.kind == Kind.CONSTANT:
            yield _kind(facts, f"what {change.by} can stand for, which is a constant")
        elif facts.shape and ours.shape == facts.shape:
            message = f"upstream's source is now that of {change.by}, {where(facts)}"
            yield Fault(codes.MERGED_UPSTREAM, message, RETIRE, change.by)
        else:
            yield from _calls(change, facts, ours)

    def _subclass(self, change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
        if ours.is_sure and ours.kind in _FUNCTIONS | {Kind.CONSTANT}:
            yield _kind(facts, f"no class, as {change.by} is none ({ours.kind})")
            return
        bases = bases_of(self._pack.subject.resolver, Target(self._row.body, change.by))
        if bases.is_whole and not any(self._derives(base, facts) for base in bases.outside):
            found = bases.outside[0] if bases.outside else "object"
            expected = f"{facts.module}:{facts.qualname}"
            message = f"{change.by} derives from {found}, expected a class derived from {expected}"
            yield Fault(codes.KIND_CHANGED, message, REWRITE, change.by)

    def _derives(self, base: str, facts: Facts) -> bool:
        if base.partition(".")[0] not in packages_of([self._row]):
            return False
        here = (one for one in splits(base) if self._facts(Target(one.module)).is_present)
        place = next(here, None)
        if place is None:
            return True  # the body cannot be imported here; that its target is missing is said
        direct = self._facts(place)
        if (direct.module, direct.qualname) == (facts.module, facts.qualname):
            return True  # as of most bodies; what is above it would have to be parsed
        above = bases_of(self._subject.resolver, place)
        return not above.is_whole or (facts.module, facts.qualname) in above.inside

    def _edit(self, change: Edit, facts: Facts) -> Iterator[Fault]:
        home = f"{facts.module}:{facts.qualname}"
        text = self._subject.text(facts)
        if facts.is_sure and facts.kind in _UNEDITABLE:
            yield _kind(facts, "a function with source of its own, as Edit needs")
        elif facts.owner:
            message = f"it is only inherited from {facts.owner}, expected its own source"
            yield Fault(codes.KIND_CHANGED, message, f"name {facts.owner} in the row")
        elif facts.is_sure and facts.module != change.place.module:
            message = f"it is only imported from {home}, expected its own source"
            yield Fault(codes.KIND_CHANGED, message, f"name {home} in the row")
        elif not text:
            yield undecidable("its source cannot be read")
        else:
            yield from self._edits.faults(self._row, change, facts, text)

    def _body(self, name: str) -> Facts | None:
        return self._pack.facts(self._row, name) if self._row.patch.body is not None else None


def _calls(change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
    theirs, mine = (one.signature if one.is_sure else None for one in (facts, ours))
    if theirs is None or mine is None:
        if facts.kind in _FUNCTIONS or ours.kind in _FUNCTIONS:
            unknown = ours if theirs else facts
            reason = unknown.reason or f"the source does not tell how {unknown.qualname} is called"
            message = f"{change.by} may not take what callers pass: {reason}"
            fix = "compare the parameters by hand, or test it"
            yield Fault(codes.NOT_COMPARED, message, fix, change.by)
        return
    if facts.kind in _BOUND:
        theirs, mine = theirs.bound(), mine.bound()
    if fault := refused_call(theirs, mine):
        message = f"upstream's is {theirs}, {change.by} takes {mine}: {fault}"
        yield Fault(codes.SIGNATURE_CHANGED, message, f"{REWRITE}; {_HELPER}", change.by)


def _kind(facts: Facts, expected: str) -> Fault:
    found = f"{facts.module}:{facts.qualname}" if facts.qualname else facts.module
    message = f"found {found} ({facts.kind}), expected {expected}"
    return Fault(codes.KIND_CHANGED, message, REWRITE)


def _already(message: str) -> Fault:
    return Fault(codes.ALREADY_UPSTREAM, message, RETIRE)


class EditSequence:
    """The Edits that hold so far, by the definition that they change; rows come in their order."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], list[tuple[Row, Edit]]] = {}

    def faults(self, row: Row, change: Edit, facts: Facts, text: str) -> Iterator[Fault]:
        """List what an Edit of a function runs into, after those that come before it."""
        made = self._made.setdefault((facts.module, facts.qualname), [])
        before = [(other, edit) for other, edit in made if other is row or meet(other, row)]
        sure = [(other, edit) for other, edit in before if other is row or _is_sure(other, edit)]
        for several in (before, sure) if sure != before else (before,):
            faults = [*_faults(change, facts, text, several)]
            yield from faults
            if any(one.breaks for one in faults):
                return
        made.append((row, change))


def _is_sure(row: Row, edit: Edit) -> bool:
    return row.patch.when is None and row.patch.env is None and edit.when is None


def _faults(
    change: Edit, facts: Facts, text: str, before: Sequence[tuple[Row, Edit]]
) -> Iterator[Fault]:
    for _, edit in before:
        with suppress(TargetError):
            text = edited(edit, text)
    others = dict.fromkeys(row.name for row, _ in before)
    place = f"{facts.path}, as {' and '.join(others)} leaves it" if others else facts.path
    try:
        if edited(change, text) == text:
            message = f"found new the same as old, expected other code, {where(facts)}"
            fix = "write into new what should stand there"
            yield Fault(codes.EDIT_CHANGES_NOTHING, message, fix)
    except MiscountError as error:
        assert facts.lines is not None
        yield _miscounted(change, text, facts.lines[0], error.starts, place)
    except TargetError as error:
        yield undecidable(str(error))


def _miscounted(change: Edit, text: str, first: int, starts: Sequence[int], place: str) -> Fault:
    if not starts and _has(change.new, text):
        message = f"old is gone and new is there, in {place}; the Edit fails here"
        return Fault(codes.MERGED_UPSTREAM, message, RETIRE)
    message = f"{_occurs(len(starts), change)} in {place}"
    if len(starts) < change.count:
        near = "" if starts else nearest(text, change.old, first)
        message += f"; nearest to it:\n{near}" if near else ""
        return Fault(codes.ANCHOR_ABSENT, message, "follow upstream's text in old and new")
    lines = ", ".join(str(first + text.count("\n", 0, start)) for start in starts)
    message += f", lines {lines}"
    return Fault(codes.ANCHOR_AMBIGUOUS, message, "make old longer, or set count")


def _occurs(count: int, change: Edit) -> str:
    first = change.old.strip().splitlines()[0]
    if not count:
        return f"{first!r} not found"
    found, expected = ("once" if one == 1 else f"{one} times" for one in (count, change.count))
    return f"{first!r} found {found}, expected {expected}"


def edited(change: Edit, text: str) -> str:
    """Make an Edit in the text of a function, decorators included; TargetError where that fails."""
    return rewrite(FunctionText(text), TextEdit(change.old, change.new, change.count)).text


def _has(new: str, text: str) -> bool:
    if not dedent(new).strip():
        return False
    try:
        rewrite(FunctionText(text), TextEdit(new, new))
    except MiscountError as error:
        return bool(error.starts)
    except TargetError:
        return False
    return True
