"""Compares what packages and bodies use with releases: which names are gone, which calls fail."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import Parameter
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.added_names import AddedNames
from patchkit.analysis.check.bodies import BodyUses
from patchkit.analysis.check.compatibility import refused_call
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.findings import Fault, Finding
from patchkit.analysis.check.holders import holders, reason_for_doubt
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.replacements import Replacements
from patchkit.analysis.check.trails import Moves
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.analysis.uses.use import Call, Use
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.rows.target import Target

_CALLED_AS_DEFINED = frozenset(
    {Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.CACHED_FUNCTION, Kind.CLASS}
)
_METHODS = frozenset({Kind.METHOD, Kind.ASYNC_METHOD})
_FOLLOW = (
    "use its replacement; to support both, guard the use with try or a version check"
)
_GUARDED = "no action needed, the use is guarded"
_UNHEEDED = "; upstream does not use what is put there"
_REPLACE_OTHER = "replace what upstream uses now; to support both, test the version"
_READ_HERE = "see whether upstream should call it, too: the package itself does"
_Refusals = dict[tuple[object, ...], Fault | None]
"""Why calls are refused, or None if they are not, by what decides it; a cache."""


class Misfit(NamedTuple):
    """Something that does not fit a release.

    Args:
        fault: What is wrong.
        target: The name of upstream that it is about.
        uses: Where it is used; the first is the one that the finding points to.
    """

    fault: Fault
    target: Target
    uses: list[Use]


def misfits(
    uses: Sequence[Use], releases: Sequence[CheckedRelease]
) -> dict[str, list[Misfit]]:
    """List which uses do not fit releases.

    A guarded use, a call or an override that fits none of several releases is likely meant for
    others, which are not checked. It is left out. So is what is set or overridden, unless one of
    the releases has it.

    Args:
        uses: What a package or a body uses.
        releases: The releases to look at.

    Returns:
        The misfits by the name of the release.
    """
    refusals: _Refusals = {}
    replacements = Replacements(uses, releases)
    candidates = {}
    for release in releases:
        lost = replacements.lost(release)
        candidates[release.name] = _misfits(uses, release, refusals, lost)
    counts: Counter[tuple[codes.Code, Target]] = Counter()
    for misfits_of_release in candidates.values():
        counts.update(
            (misfit.fault.code, misfit.target) for misfit in misfits_of_release
        )
    reported = {}
    for name, misfits_of_release in candidates.items():
        reported[name] = [
            misfit
            for misfit in misfits_of_release
            if not _is_deliberate(misfit, counts, releases)
        ]
    return reported


def _is_deliberate(
    misfit: Misfit,
    counts: Mapping[tuple[codes.Code, Target], int],
    releases: Sequence[CheckedRelease],
) -> bool:
    """Whether a use fits none of several releases, and so is likely meant for other ones.

    Args:
        misfit: A use that does not fit one release.
        counts: In how many releases a target is a misfit, by the code of the fault and the target.
        releases: The releases.
    """
    code = misfit.fault.code
    if code in (codes.USE_GONE_AT_IMPORT, codes.USE_GONE, codes.WITHOUT_EFFECT):
        return False
    comparable = releases
    if code is not codes.GUARDED_GONE:
        # A call or an override can only be refused where its target is there.
        comparable = [release for release in releases if release.has(misfit.target)]
    # In a single release, nothing shows whether the use is meant for others.
    return len(comparable) > 1 and counts[code, misfit.target] >= len(comparable)


def _misfits(
    uses: Sequence[Use],
    release: CheckedRelease,
    refusals: _Refusals,
    lost: Collection[Target],
) -> list[Misfit]:
    """List what does not fit one release.

    If a module or class is gone, only that is listed, not the names in it that are used.

    Args:
        uses: What a package or a body uses.
        release: The release.
        refusals: Why calls are refused, as far as that is known.
        lost: What is replaced, and missing in the release. Anything else that is set or overridden
            there is no misfit: it is simply new.
    """
    refused: dict[tuple[Target, str], Misfit] = {}
    uses_of_gone: dict[Target, list[Use]] = {}
    for use in uses:
        facts = release.facts(use.target)
        if facts.state == "absent" and use.is_replacement and use.target not in lost:
            continue
        if facts.state == "absent":
            if not reason_for_doubt(use.target, release):
                uses_of_gone.setdefault(use.target, []).append(use)
            continue
        fault = _known_refusal(use, facts, refusals)
        if fault:
            new = Misfit(fault, use.target, [])
            misfit = refused.setdefault((use.target, fault.message), new)
            misfit.uses.append(use)
    gone = [
        _gone(target, uses_of_target, release)
        for target, uses_of_target in uses_of_gone.items()
        if uses_of_gone.keys().isdisjoint(holders(target))
    ]
    return [*gone, *refused.values()]


def _gone(target: Target, uses: Sequence[Use], release: CheckedRelease) -> Misfit:
    """Make the misfit of a name that is gone; its gravest use comes first, and decides the code.

    Gravest is a use that fails at import, then one that fails later, then a replacement that has no
    effect, then what is guarded.
    """
    by_gravity = sorted(uses, key=_gravity)
    gravest = by_gravity[0]
    reason = release.facts(target).reason
    if gravest.guarded:
        fault = Fault(codes.GUARDED_GONE, reason, _GUARDED)
    elif gravest.read_here:
        fault = Fault(codes.GUARDED_GONE, f"{reason}{_UNHEEDED}", _READ_HERE)
    elif gravest.is_replacement:
        fault = Fault(codes.WITHOUT_EFFECT, f"{reason}{_UNHEEDED}", _REPLACE_OTHER)
    elif gravest.at_import:
        fault = Fault(codes.USE_GONE_AT_IMPORT, reason, _FOLLOW)
    else:
        fault = Fault(codes.USE_GONE, reason, _FOLLOW)
    return Misfit(fault, target, by_gravity)


def _gravity(use: Use) -> tuple[bool, bool, bool]:
    """Return a key to sort the uses of a name that is gone, the gravest first."""
    is_harmless = use.guarded or use.read_here
    return is_harmless, use.is_replacement, not use.at_import


def _known_refusal(use: Use, facts: Facts, refusals: _Refusals) -> Fault | None:
    """Return why a use is refused, computed once for all releases with the same signature."""
    # Releases share one object for equal signatures, so its id stands for the signature, and is
    # cheaper to compare. The object lives until the check ends: no other one gets the same id.
    is_certain = facts.is_present and facts.is_sure
    key = (id(use), id(facts.signature), facts.kind, is_certain)
    if key not in refusals:
        refusals[key] = _refusal(use, facts)
    return refusals[key]


def _refusal(use: Use, facts: Facts) -> Fault | None:
    """Return why a release refuses a call or an override; None if it does not for certain."""
    is_certain = facts.is_present and facts.is_sure
    if use.guarded or not is_certain or not facts.signature:
        return None
    theirs = _signature_for_callers(use, facts, facts.signature)
    if theirs is None:
        return None
    if use.call:
        refusal = _refused(theirs, use.call)
        if refusal:
            message = f"it takes {theirs}, so the call fails: {refusal}"
            return Fault(
                codes.CALL_REFUSED, message, "pass the arguments that it takes"
            )
    if use.ours and not _takes_anything(theirs):
        is_bound = use.how == "override" or facts.kind in _METHODS
        ours = use.ours.bound() if is_bound else use.ours
        refusal = refused_call(theirs, ours)
        if refusal:
            name = "the override" if use.how == "override" else "what is put there"
            message = f"upstream takes {theirs}, {name} takes {ours}: {refusal}"
            fix = "accept what upstream passes, and pass it on"
            return Fault(codes.OVERRIDE_REFUSED, message, fix)
    return None


def _takes_anything(signature: Signature) -> bool:
    """Whether a signature is `(*args, **kwargs)`, which does not tell how it is called."""
    kinds = {argument.kind for argument in signature.parameters.values()}
    return kinds == {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}


def _signature_for_callers(
    use: Use, facts: Facts, signature: Signature
) -> Signature | None:
    """Return the signature of a target as its callers see it: of a method, without `self`.

    Args:
        use: The use: a call, an override or an assignment.
        facts: What the release says of the target.
        signature: The signature in the target's definition.

    Returns:
        None if it depends on whether a method is called on an instance, which is not known.
    """
    is_override = use.how == "override"
    is_put = is_override or use.how == "set"
    is_bound = is_put or (use.call is not None and use.call.bound)
    if facts.kind in _METHODS:
        if is_bound:
            return signature.bound()
        return None
    if use.how == "set" and facts.kind in _CALLED_AS_DEFINED - {Kind.CLASS}:
        return signature
    if is_put:
        return None  # the override of a static method, property or such is not compared
    if facts.kind == Kind.CLASSMETHOD:
        return signature.bound()
    if facts.kind in _CALLED_AS_DEFINED and not is_bound:
        return signature
    return None


def _refused(theirs: Signature, call: Call) -> str | None:
    """Return why a signature refuses a call; None if it takes it."""
    positional = [None] * call.places
    named = dict.fromkeys(call.names)
    try:
        if call.more:  # `*args` may pass whatever is missing
            theirs.bind_partial(*positional, **named)
        else:
            theirs.bind(*positional, **named)
    except TypeError as error:
        return str(error)
    return None


def finding_of(
    patch: str, misfit: Misfit, release: CheckedRelease, moves: Moves
) -> Finding:
    """Make the finding of a misfit; of a name that is gone, with where it moved.

    Args:
        patch: The name of the patch or the package.
        misfit: What does not fit.
        release: The release that it does not fit.
        moves: Where names went that are gone.

    Returns:
        The finding, at the first use; its details are the files and lines of all uses.
    """
    fault = misfit.fault
    first = misfit.uses[0]
    return Finding(
        fault.code,
        fault.message + moves.words(misfit.target, release),
        moves.fix(fault.fix, misfit.target, release),
        patch=patch,
        target=str(misfit.target),
        release=release.name,
        file=first.path,
        line=first.line,
        details=[f"{use.path}:{use.line}" for use in misfit.uses],
    )


class RowUses:
    """Compares what the bodies of rows use with the releases that the rows are for.

    Args:
        coverage: The rows and the releases.
        packs: The packs of the rows, by name.
    """

    def __init__(self, coverage: Coverage, packs: Mapping[str, PackSource]) -> None:
        self._coverage = coverage
        self._bodies = BodyUses(coverage.packages, packs)
        self._added_names: dict[str, AddedNames] = {}
        # By the name of the row and the packages, which are those of most releases.
        self._inside: dict[tuple[str, frozenset[str]], list[Use]] = {}

    def inside(self, row: Row, release: CheckedRelease) -> list[Use]:
        """Return what the body of a row uses of a release, directly or through modules it imports.

        Args:
            row: The row.
            release: The release; uses of packages that it does not contain are left out.
        """
        packages = self._coverage.packages_in(release)
        key = (row.name, packages)
        if key not in self._inside:
            self._inside[key] = [
                use for use in self._bodies.of(row) if _package_of(use) in packages
            ]
        return self._inside[key]

    def targets(self, release: CheckedRelease) -> Iterator[Target]:
        """Yield what bodies use of a release, for all rows that are checked there.

        Args:
            release: The release.
        """
        for row in self._coverage.rows:
            if self._coverage.to_check(row, release):
                for use in self.inside(row, release):
                    yield use.target

    def required(self, release: CheckedRelease) -> Iterator[Target]:
        """Yield what bodies need of a release, for all rows whose range has it.

        What a body overrides or sets is not needed: without it, that is simply new.

        Args:
            release: The release.
        """
        for row in self._coverage.rows:
            if self._coverage.due(row, release):
                for use in self.inside(row, release):
                    if not use.is_replacement:
                        yield use.target

    def misfits(
        self, row: Row, releases: Sequence[CheckedRelease]
    ) -> dict[str, list[Misfit]]:
        """List which uses of a row's body do not fit releases; names that rows add do fit.

        Args:
            row: The row.
            releases: The releases to look at, of one distribution or of several.

        Returns:
            The misfits by the name of the release.
        """
        candidates: dict[str, list[Misfit]] = {}  # by the name of the release
        for project in dict.fromkeys(release.project for release in releases):
            of_project = [release for release in releases if release.project == project]
            # One release stands for all of a distribution: they are taken to contain the same
            # packages.
            candidates |= misfits(self.inside(row, of_project[0]), of_project)
        reported = {}
        for release in releases:
            added_names = self._added_by_rows(release)
            reported[release.name] = [
                misfit
                for misfit in candidates[release.name]
                if not added_names.has(misfit.target)
            ]
        return reported

    def _added_by_rows(self, release: CheckedRelease) -> AddedNames:
        """Return the names that rows add to a release."""
        if release.name not in self._added_names:
            changes: list[Change] = []
            for row in (*self._coverage.rows, *self._coverage.beside):
                changes += self._coverage.due(row, release)
            self._added_names[release.name] = AddedNames(changes, release)
        return self._added_names[release.name]


def _package_of(use: Use) -> str:
    return use.target.module.partition(".")[0]
