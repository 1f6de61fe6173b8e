"""Finds the releases that a package fits: they have all that it uses. It may be any package."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

from patchkit.analysis.check.codes import CodeSelection, Severity
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.findings import Finding, Report, State, unreadable
from patchkit.analysis.check.learning import learn_all, no_collection
from patchkit.analysis.check.releases import CheckedRelease, files_of
from patchkit.analysis.check.trails import Moves
from patchkit.analysis.check.undecided import Undecided, UsedNames, distinct
from patchkit.analysis.check.using import finding_of, misfits
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.parallel import CONNECTIONS, Progress, tried
from patchkit.analysis.uses.packages import content_hash, modules_of
from patchkit.analysis.uses.reader import uses_of
from patchkit.analysis.uses.use import Use
from patchkit.core.rows.target import Target


class Unfit(NamedTuple):
    """Something that a package uses and that does not fit a release.

    Args:
        finding: The finding of it.
        move: Where the name went; None if it is not gone, or if nothing is known.
    """

    finding: Finding
    move: MoveResult | None


@dataclass(frozen=True)
class Fit:
    """Which releases a package fits.

    Args:
        package: The name of the package.
        version: Its version, if its source has one.
        uses: What it uses.
        unfit: What does not fit, by the name of the release.
        undecided: The names that cannot be decided in a release, by its name.
        report: The same results in the form of a check's report, which is printed.
    """

    package: str
    version: str | None
    uses: Sequence[Use]
    unfit: Mapping[str, Sequence[Unfit]]
    undecided: Mapping[str, Sequence[Undecided]]
    report: Report

    def selecting(self, selection: CodeSelection) -> "Fit":
        """Leave out findings whose code is not selected. Which releases fit stays the same.

        Args:
            selection: The codes to report.

        Returns:
            The same with the findings of these codes alone.
        """
        unfit = {}
        for release, entries in self.unfit.items():
            unfit[release] = [
                entry for entry in entries if selection.includes(entry.finding.code)
            ]
        return replace(self, unfit=unfit, report=self.report.selecting(selection))

    def fits(self, release: str) -> bool:
        """Whether a release could be read, and has all that the package needs.

        Names that cannot be decided count as if the release had them: `undecided` lists them.

        Args:
            release: The name of the release.
        """
        return self.report.grid[self.package].get(release) is State.OK

    @property
    def fitting(self) -> list[str]:
        """The names of the releases that fit, the oldest first."""
        return [release for release in self.report.releases if self.fits(release)]


def fit(
    package: str,
    source: ReleaseSource,
    roots: Sequence[str],
    releases: Sequence[CheckedRelease],
    store: FactStore,
    progress: Progress | None = None,
    *,
    listing_undecided: bool = False,
) -> Fit:
    """Read what a package uses, and look it up in releases.

    Args:
        package: The name of the package.
        source: Its files.
        roots: The import packages whose uses are looked up, such as `vllm`.
        releases: The releases, the oldest first; they get facts without sources.
        store: Caches what the package uses.
        progress: Called when a release was looked into.
        listing_undecided: Whether each name that cannot be decided is a finding.

    Returns:
        Which releases the package fits.
    """
    for release in releases:
        release.brief = True  # a use needs the names of a release, and no source
    uses = _uses(source, roots, store, releases)
    targets = sorted({use.target for use in uses}, key=str)
    faults = learn_all(releases, lambda _: targets, progress)
    readable = [release for release in releases if release.name not in faults]
    unfit = _unfit(package, uses, readable)
    states = {name: _state(entries) for name, entries in unfit.items()}
    findings: list[Finding] = []
    for entries in unfit.values():
        findings += [entry.finding for entry in entries]
    names = UsedNames(uses, readable)
    undecided = {release.name: names.undecided(release) for release in readable}
    if listing_undecided:
        for release_name, of_release in undecided.items():
            for entry in of_release:
                findings.append(names.finding(package, entry, release_name))
    for name, fault in faults.items():
        findings.append(unreadable(name, fault, "try again, or leave the release out"))
    report = Report(
        [release.name for release in releases],
        findings,
        {package: states},
        unreadable=faults.keys(),
        command="fit",
        names=len(names),
        undecided=distinct(undecided),
        files=files_of(releases),
    )
    return Fit(package, source.version, uses, unfit, undecided, report)


def _uses(
    source: ReleaseSource,
    roots: Sequence[str],
    store: FactStore,
    releases: Sequence[CheckedRelease],
) -> list[Use]:
    """Read what a package uses from the cache, or else from its source.

    While the source is parsed, other threads fetch the lists of files of the releases, which `fit`
    needs next.
    """
    key = f"{roots} {content_hash(source)}"
    uses_data = store.get("uses", key)
    if uses_data is None:
        with no_collection(), ThreadPoolExecutor(CONNECTIONS) as threads:
            for release in releases:
                # `tried` drops an error: it is met again, and reported, when the release is read.
                threads.submit(tried, lambda release: release.source.paths(), release)
            trees = modules_of(source, roots)
            uses_data = [use.as_data() for use in uses_of(trees, roots)]
        store.put("uses", key, uses_data)
    return [Use.of_data(data) for data in uses_data]


def _unfit(
    package: str, uses: Sequence[Use], releases: Sequence[CheckedRelease]
) -> dict[str, list[Unfit]]:
    """Return what does not fit each release, by its name; the gravest comes first."""
    misfits_by_release = misfits(uses, releases)

    def lost_targets(release: CheckedRelease) -> list[Target]:
        # Of these, `Moves` searches for the ones that the release lacks.
        return [misfit.target for misfit in misfits_by_release[release.name]]

    moves = Moves(releases, lost_targets)
    unfit = {}
    for release in releases:
        entries = []
        for misfit in misfits_by_release[release.name]:
            finding = finding_of(package, misfit, release, moves)
            entries.append(Unfit(finding, moves.move_of(misfit.target, release)))
        unfit[release.name] = sorted(entries, key=_position)
    return unfit


def _position(entry: Unfit) -> tuple[int, str]:
    """Order what does not fit a release as reports do: the errors first, then by name."""
    severities = list(Severity)
    return severities.index(entry.finding.severity), entry.finding.target


def _state(entries: Sequence[Unfit]) -> State:
    """Return OK if a package with these entries fits a release; those of INFO do not count."""
    if any(entry.finding.severity != "info" for entry in entries):
        return State.BROKEN
    return State.OK
