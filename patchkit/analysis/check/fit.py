"""Which releases a package fits that need not know patchkit: everything that it uses of them."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from patchkit.analysis.check.findings import Finding, Report, State, unreadable
from patchkit.analysis.check.learning import learn_all, no_collection
from patchkit.analysis.check.releases import CheckedRelease, FactStore
from patchkit.analysis.check.trails import Moves
from patchkit.analysis.check.using import finding_of, misfits
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.parallel import CONNECTIONS, Progress, tried
from patchkit.analysis.uses.packages import content_hash, modules_of
from patchkit.analysis.uses.reader import Use, uses_of


class Unfit(NamedTuple):
    """A finding, and where what is gone went; None where that is not known."""

    finding: Finding
    went: MoveResult | None


@dataclass(frozen=True)
class Fit:
    """What a package uses, and what of it does not fit each release, by its name."""

    package: str
    version: str | None
    uses: Sequence[Use]
    unfit: Mapping[str, Sequence[Unfit]]
    report: Report

    def fits(self, release: str) -> bool:
        """Whether a release was read, and has all that the package needs."""
        return self.report.grid[self.package].get(release) is State.OK

    @property
    def fitting(self) -> list[str]:
        """The releases that fit, the oldest first."""
        return [one for one in self.report.releases if self.fits(one)]


def fit(
    package: str,
    source: ReleaseSource,
    roots: Sequence[str],  # the import packages that it is asked about
    subjects: Sequence[CheckedRelease],
    kept: FactStore,
    progress: Progress | None = None,
) -> Fit:
    """Read what a package uses, and look it up in releases, the oldest first."""
    for one in subjects:
        one.brief = True
    uses = _uses(source, roots, kept, subjects)
    targets = sorted({one.target for one in uses}, key=str)
    faults = learn_all(subjects, lambda _: targets, progress)
    read = [one for one in subjects if one.name not in faults]
    found = misfits(uses, read)
    moves = Moves(read, lambda one: [each.target for each in found[one.name]])
    unfit = {
        one.name: [
            Unfit(finding_of(package, each, one, moves), moves.told(each.target, one))
            for each in found[one.name]
        ]
        for one in read
    }
    states = {
        name: State.BROKEN if any(one.finding.severity != "info" for one in some) else State.OK
        for name, some in unfit.items()
    }
    findings = [one.finding for some in unfit.values() for one in some]
    findings += [unreadable(*one, "try again, or leave it out") for one in faults.items()]
    names = [one.name for one in subjects]
    good = [name for name in names if states.get(name) is State.OK]
    span = f"fits {good[0]} to {good[-1]}" if good else "fits none of them"
    summary = f"{span}; {len(targets)} names, {len(read)} releases, {len(good)} of them fit"
    more = {"unreadable": faults.keys(), "command": "fit", "summary": summary}
    report = Report(names, findings, {package: states}, **more)  # type: ignore[arg-type]
    return Fit(package, source.version, uses, unfit, report)


def _uses(
    source: ReleaseSource, roots: Sequence[str], kept: FactStore, subjects: Sequence[CheckedRelease]
) -> list[Use]:
    key = f"{roots} {content_hash(source)}"
    known = kept.get("uses", key)
    if known is None:
        with no_collection(), ThreadPoolExecutor(CONNECTIONS) as threads:
            for one in subjects:  # meanwhile their lists of files are fetched
                threads.submit(tried, lambda one: one.source.paths(), one)
            known = [one.as_data() for one in uses_of(modules_of(source, roots), roots)]
        kept.put("uses", key, known)
    return [Use.of_data(one) for one in known]
