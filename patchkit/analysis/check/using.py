"""Compares what packages and bodies use with releases: which names are gone, which calls fail."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.added_names import AddedNames
from patchkit.analysis.check.bodies import BodyUses
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.findings import Fault, Finding
from patchkit.analysis.check.holders import holders, reason_for_doubt
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.refusals import Refusals, is_comparable, known_refusal
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.replacements import Replacements
from patchkit.analysis.check.trails import Moves
from patchkit.analysis.upstream.resolving.values import NO_MODULE
from patchkit.analysis.uses.use import UNGUARDED, Use
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.rows.target import Target

_FOLLOW = (
    "use its replacement; to support both, guard the use with try or a version check"
)
_GUARDED = "no action needed, the use is guarded"
_UNHEEDED = "; upstream does not use what is put there"
_REPLACE_OTHER = "replace what upstream uses now; to support both, test the version"
_READ_HERE = "see whether upstream should call it, too: the package itself does"


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
    refusals: Refusals = {}
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
        # A call or an override can only be refused where it is known how its target is called.
        use = misfit.uses[0]
        comparable = [
            release
            for release in releases
            if is_comparable(use, release.facts(use.target))
        ]
    # In a single release, nothing shows whether the use is meant for others.
    return len(comparable) > 1 and counts[code, misfit.target] >= len(comparable)


def _misfits(
    uses: Sequence[Use],
    release: CheckedRelease,
    refusals: Refusals,
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
                found = _unguarded(use, release)
                uses_of_gone.setdefault(use.target, []).append(found)
            continue
        fault = known_refusal(use, facts, refusals)
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


def _unguarded(use: Use, release: CheckedRelease) -> Use:
    """Return a use of what is gone without its guard where that does not help.

    Nothing catches the error of a fallback, and `except ModuleNotFoundError` does not catch that
    of a name which its module lacks.
    """
    is_fallback = any(
        release.facts(target).state == "absent"
        and not reason_for_doubt(target, release)
        for target in map(Target.parse, use.guard.fallback_of)
    )
    is_module = release.facts(use.target).reason.startswith(NO_MODULE)
    error = "ModuleNotFoundError" if is_module else "ImportError"
    is_caught = use.how != "import" or use.guard.handles(error)
    return use._replace(guard=UNGUARDED) if is_fallback or not is_caught else use


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
