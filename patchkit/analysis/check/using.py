"""Uses by packages and bodies against releases: what is gone, which calls and overrides fail."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.bodies import BodyUses
from patchkit.analysis.check.compatibility import refused_call
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.findings import Fault, Finding
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.trails import Moves
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.analysis.uses.reader import Call, Use
from patchkit.core.rows.declaration import Add, Provide, Row
from patchkit.core.rows.target import Target

_AS_IT_IS = frozenset([*(Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.CACHED_FUNCTION), Kind.CLASS])
_SPACES = frozenset([Kind.MODULE, Kind.CLASS])
_OF_INSTANCES = frozenset([Kind.METHOD, Kind.ASYNC_METHOD])
_FOLLOW = "follow it to its new place; to serve both releases, use it below try or a version test"
_Known = dict[tuple[object, ...], Fault | None]


class Misfit(NamedTuple):
    """Something that does not fit a release, and where it is used."""

    fault: Fault
    target: Target
    uses: list[Use]


def misfits(uses: Sequence[Use], subjects: Sequence[CheckedRelease]) -> dict[str, list[Misfit]]:
    """List what of some uses does not fit releases, by their names.

    What stands below a test, how something is called, and an override may be meant for none of
    several releases, rather than for those from which it differs: they are told where one has them.
    """
    known: _Known = {}
    found = {one.name: _misfits(uses, one, known) for one in subjects}
    counts = Counter((one.fault.code, one.target) for some in found.values() for one in some)
    return {
        name: [one for one in some if not _is_meant(one, counts, subjects)]
        for name, some in found.items()
    }


def _is_meant(
    misfit: Misfit,
    counts: Mapping[tuple[codes.Code, Target], int],
    subjects: Sequence[CheckedRelease],
) -> bool:
    code, target = misfit.fault.code, misfit.target
    if code in (codes.USE_GONE_AT_IMPORT, codes.USE_GONE):
        return False
    is_guarded = code is codes.GUARDED_GONE
    judged = sum(is_guarded or one.has(target) for one in subjects)
    return judged > 1 and counts[code, target] >= judged


def _misfits(uses: Sequence[Use], subject: CheckedRelease, known: _Known) -> list[Misfit]:
    """List what does not fit one release; what is gone with its holder is not told."""
    found: dict[tuple[Target, str], Misfit] = {}
    gone: dict[Target, list[Use]] = {}
    for use in uses:
        facts = subject.facts(use.target)
        if facts.state == "absent" and use.how != "override":
            if _is_of_value(use.target, subject):
                continue
            gone.setdefault(use.target, []).append(use)
        elif fault := _once(use, facts, known):
            misfit = Misfit(fault, use.target, [])
            found.setdefault((use.target, fault.message), misfit).uses.append(use)
    told = [one for one in gone if gone.keys().isdisjoint(_holders(one))]
    return [*(_gone(one, gone[one], subject) for one in told), *found.values()]


def _is_of_value(target: Target, subject: CheckedRelease) -> bool:
    """Whether it is an attribute of a value, which other code may have replaced meanwhile."""
    holder = subject.facts(target.holder) if target.qualname else None
    return holder is not None and holder.is_present and holder.kind not in _SPACES


def _holders(target: Target) -> Iterator[Target]:
    while target.qualname:
        target = target.holder
        yield target


def _gone(target: Target, uses: Sequence[Use], subject: CheckedRelease) -> Misfit:
    """Tell of a name that is gone, the use first with which most fails."""
    first, *others = sorted(uses, key=lambda one: (one.guarded, not one.at_import))
    code = codes.USE_GONE_AT_IMPORT if first.at_import else codes.USE_GONE
    code = codes.GUARDED_GONE if first.guarded else code
    return Misfit(Fault(code, subject.facts(target).reason, _FOLLOW), target, [first, *others])


def _once(use: Use, facts: Facts, known: _Known) -> Fault | None:
    # Whoever holds them knows them by these numbers; releases share signatures that are alike.
    key = (id(use), id(facts.signature), facts.kind, facts.is_present and facts.is_sure)
    if key not in known:
        known[key] = _refusal(use, facts)
    return known[key]


def _refusal(use: Use, facts: Facts) -> Fault | None:
    if use.guarded or not (facts.is_present and facts.is_sure and facts.signature):
        return None
    theirs = _called(use, facts, facts.signature)
    if theirs and use.call and (fault := _refused(theirs, use.call)):
        message = f"it takes {theirs}, and is called otherwise: {fault}"
        return Fault(codes.CALL_REFUSED, message, "pass what it takes")
    if theirs and use.ours and (fault := refused_call(theirs, use.ours.bound())):
        message = f"upstream's is {theirs}, the override takes {use.ours.bound()}: {fault}"
        return Fault(codes.OVERRIDE_REFUSED, message, "take what upstream passes, and hand it on")
    return None


def _called(use: Use, facts: Facts, signature: Signature) -> Signature | None:
    """Tell what callers pass; None where it depends on what a method is reached through."""
    is_bound = use.how == "override" or (use.call is not None and use.call.bound)
    if facts.kind in _OF_INSTANCES:
        return signature.bound() if is_bound else None
    if use.how == "override":
        return None
    if facts.kind == Kind.CLASSMETHOD:
        return signature.bound()
    return signature if facts.kind in _AS_IT_IS and not is_bound else None


def _refused(theirs: Signature, call: Call) -> str | None:
    bind = theirs.bind_partial if call.more else theirs.bind
    try:
        bind(*[None] * call.places, **dict.fromkeys(call.names))
    except TypeError as error:
        return str(error)
    return None


def finding_of(patch: str, misfit: Misfit, subject: CheckedRelease, moves: Moves) -> Finding:
    """Make a finding of a patch or a package, with where what is gone went."""
    (code, message, fix, _), first = misfit.fault, misfit.uses[0]
    message += moves.words(misfit.target, subject)
    places = [f"{one.path}:{one.line}" for one in misfit.uses]
    where = (str(misfit.target), subject.name, first.path, first.line, places)
    return Finding(code, message, fix, patch, *where)


class RowUses:
    """The uses of rows, in the releases that they are for."""

    def __init__(self, coverage: Coverage, packs: Mapping[str, PackSource]) -> None:
        self._coverage = coverage
        self._bodies = BodyUses(coverage.packages, packs)
        self._made: dict[str, tuple[str, ...]] = {}

    def inside(self, row: Row, subject: CheckedRelease) -> list[Use]:
        """List what the body of a row uses of a release, directly or by its helpers."""
        uses = self._bodies.of(row)
        here = self._coverage.covered(subject)
        return [use for use in uses if use.target.module.partition(".")[0] in here]

    def targets(self, subject: CheckedRelease) -> Iterator[Target]:
        """List what rows use of a release that they are looked into."""
        for row in self._coverage.rows:
            if self._coverage.tried(row, subject):
                yield from (one.target for one in self.inside(row, subject))

    def read(self, subject: CheckedRelease) -> Iterator[Target]:
        """List what has to be there, of what rows use of a release in their range."""
        for row in self._coverage.rows:
            if self._coverage.due(row, subject):
                uses = self.inside(row, subject)
                yield from (one.target for one in uses if one.how != "override")

    def misfits(self, row: Row, subjects: Sequence[CheckedRelease]) -> dict[str, list[Misfit]]:
        """List what of a row's uses does not fit releases, by their names."""
        found: dict[str, list[Misfit]] = {}
        for project in dict.fromkeys(one.project for one in subjects):
            same = [one for one in subjects if one.project == project]
            found |= misfits(self.inside(row, same[0]), same)
        made = {subject.name: self._made_in(subject) for subject in subjects}
        return {
            name: [misfit for misfit in fits if not _dotted(misfit.target).startswith(made[name])]
            for name, fits in found.items()
        }

    def _made_in(self, subject: CheckedRelease) -> tuple[str, ...]:
        """List the names that rows themselves make in a release, for all rows that ask."""
        if subject.name not in self._made:
            due = (
                change for row in self._coverage.rows for change in self._coverage.due(row, subject)
            )
            places = (change.place for change in due if isinstance(change, (Add, Provide)))
            self._made[subject.name] = tuple(map(_dotted, places))
        return self._made[subject.name]


def _dotted(target: Target) -> str:
    return f"{target}.".replace(":", ".")
