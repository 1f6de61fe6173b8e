"""Compares targets between two releases, and follows them from release to release."""

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.near_versions import version_meant
from patchkit.analysis.check.packages import allows
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.similar_names import NEARLY_EQUAL, did_you_mean
from patchkit.analysis.upstream.facts import Facts
from patchkit.core.lock.format import Lock
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import parse_version, release_order
from patchkit.errors import UpstreamError


class Side(NamedTuple):
    """A target in one release.

    Args:
        release: the name of the release.
        place: the target's name there, which is another where it has moved.
        facts: what the release says of it.
        text: its source, and that of code which a call in it wraps; '' where it is not there.
    """

    release: str
    place: Target
    facts: Facts
    text: str

    @property
    def head(self) -> str:
        """The heading of this side in a diff: release, name, and file and line or the state."""
        position = self.facts.state
        if self.facts.lines:
            position = f"{self.facts.path}:{self.facts.lines[0]}"
        return f"{self.release}  {self.place}  {position}"


class Comparison(NamedTuple):
    """A target in two releases.

    Args:
        target: the target, as the row names it.
        old: the target in the one release.
        new: the target in the other.
        hint: asks whether another target was meant, where neither surely has it; else ''.
    """

    target: Target
    old: Side
    new: Side
    hint: str = ""

    @property
    def is_in_neither(self) -> bool:
        """Whether both releases surely lack it."""
        return self.old.facts.state == self.new.facts.state == "absent"

    @property
    def changed(self) -> bool:
        """Whether the code differs; layout and comments do not count."""
        return self.old.facts.fingerprint != self.new.facts.fingerprint

    @property
    def diff(self) -> str:
        """The two sources as a unified diff; '' where they are the same text."""
        lines = difflib.unified_diff(
            self.old.text.splitlines(keepends=True),
            self.new.text.splitlines(keepends=True),
            self.old.head,
            self.new.head,
        )
        return "".join(_terminated(line) for line in lines)


def _terminated(line: str) -> str:
    """Add a newline if a line of a diff has none: its heads, and the end of some sources."""
    return line if line.endswith("\n") else f"{line}\n"


def compare(target: Target, old: CheckedRelease, new: CheckedRelease) -> Comparison:
    """Compare a target in two releases; in one that lacks it, under the name that it moved to.

    Args:
        target: the target.
        old: the one release.
        new: the other.

    Returns:
        The target in both.
    """
    old_side = _side(target, release=old, opposite=new)
    new_side = _side(target, release=new, opposite=old)
    states = {old_side.facts.state, new_side.facts.state}
    hint = ""
    if states == {"absent"}:
        hint = did_you_mean(target, new)
    elif states == {"undecidable"}:
        hint = did_you_mean(target, new, NEARLY_EQUAL)
    return Comparison(target, old_side, new_side, hint)


def _side(target: Target, release: CheckedRelease, opposite: CheckedRelease) -> Side:
    """Read a target in one release; if only the opposite one has it, where it moved to."""
    name = target
    facts = release.facts(target)
    if facts.state == "absent" and opposite.facts(target).is_present:
        # If a release cannot be read for the search, the target counts as absent.
        with contextlib.suppress(UpstreamError):
            (move,) = release.moves([(target, opposite)])
            name = move.place or target
        facts = release.facts(name)
    return Side(release.name, name, facts, release.whole_text(facts))


class Difference(NamedTuple):
    """What releases changed in a target of a patch.

    Args:
        patch: the patch's name.
        releases: the names of the releases, the oldest first.
        text: the diff from what was last reviewed to the oldest of them.
    """

    patch: str
    releases: tuple[str, ...]
    text: str


def differences(
    rows: Sequence[Row], releases: Sequence[CheckedRelease], lock: Lock
) -> list[Difference]:
    """Compare the targets of rows in each release with the last reviewed release before it.

    Args:
        rows: the rows whose targets are compared.
        releases: the releases, of each distribution the oldest first.
        lock: what was reviewed.

    Returns:
        The differences; releases that changed a target alike share one.
    """
    coverage = Coverage(rows, releases)
    by_diff: dict[tuple[str, Target, str], Difference] = {}
    for row in rows:
        reviewed: dict[Target, CheckedRelease] = {}
        for release in releases:
            with contextlib.suppress(UpstreamError):
                for target, text in _diffs(row, release, coverage, reviewed, lock):
                    # The first two lines of a diff name the releases. If the others are equal, the
                    # releases have changed the target alike.
                    hunks = text.split("\n", 2)[-1]
                    key = (row.name, target, hunks)
                    difference = by_diff.get(key, Difference(row.name, (), text))
                    names = (*difference.releases, release.name)
                    by_diff[key] = difference._replace(releases=names)
    return list(by_diff.values())


def _diffs(
    row: Row,
    release: CheckedRelease,
    coverage: Coverage,
    reviewed: dict[Target, CheckedRelease],
    lock: Lock,
) -> Iterator[tuple[Target, str]]:
    """Yield each target that a release changed, with its diff.

    Args:
        row: the row whose targets are compared.
        release: the release.
        coverage: which targets are reviewed there.
        reviewed: by target, the last earlier release in which its source was reviewed; `release`
            is put in for each target of which it has a reviewed source.
        lock: what was reviewed.
    """
    for target in coverage.reviewed(row, release):
        fingerprint = release.facts(target).fingerprint
        base = reviewed.get(target)
        if (
            base is not None
            and base.project == release.project
            and base.facts(target).fingerprint != fingerprint
        ):
            text = compare(target, base, release).diff
            if text:
                yield target, text
            base.forget_sources()  # to save memory: there may be a hundred releases
            release.forget_sources()
        # If no source of the target was reviewed, each release is compared with the one before.
        accepted = lock.fingerprints(row.name, str(target))
        if fingerprint and (not accepted or fingerprint in accepted):
            reviewed[target] = release


def ends(
    row: Row,
    releases: Sequence[CheckedRelease],
    lock: Lock,
    old: str | None,
    new: str | None,
) -> tuple[CheckedRelease, CheckedRelease]:
    """Choose the two releases in which a row's targets are compared.

    Without `old`, the first is the last reviewed, else the oldest in the row's range. Without
    `new`, the second is the newest in the range, or of all if that is the first already.

    Args:
        row: the row whose targets are compared.
        releases: all releases of one distribution, the oldest first.
        lock: what was reviewed.
        old: the version to compare from; None where none is asked for.
        new: the version to compare to; None where none is asked for.

    Returns:
        Both releases.

    Raises:
        UpstreamError: There is no such release.
    """
    in_range = _in_range(row, releases)
    if not in_range:
        actual = f"found no release of {releases[0].project} in the range of {row.name}"
        raise UpstreamError(f"{actual}, expected at least one: correct its `requires`")
    first = _newest_reviewed(row, releases, lock) or in_range[0]
    if old:
        first = _named(releases, old)
    if new:
        return first, _named(releases, new)
    last = in_range[-1]
    if last is first:
        last = releases[-1]
    return first, last


def base_of(
    row: Row, releases: Sequence[CheckedRelease], lock: Lock, old: str | None, new: str
) -> tuple[CheckedRelease, CheckedRelease]:
    """Choose the releases to rebase a row between: the one it was written for, and a later one.

    Without `old`, the first is the last reviewed, else the newest in the row's range. If the later
    one was reviewed for all targets of the row, it is both: the row was written for it.

    Args:
        row: the row.
        releases: all releases of one distribution, the oldest first.
        lock: what was reviewed.
        old: the version that the row was written for; None where none is named.
        new: the version that is asked for.

    Returns:
        Both releases.

    Raises:
        UpstreamError: There is no such release.
    """
    later = _named(releases, new)
    before = releases[: releases.index(later)]
    if old:
        return _earlier(releases, before, old, later), later
    # After an earlier rebase, `later` may be the only one of these in the range: then it is the
    # base, too. It is put in front, as the choices below prefer releases at the end of the list.
    in_range = _in_range(row, [later, *before])
    if later in in_range and _is_reviewed(row, later, lock):
        return later, later
    base = _newest_reviewed(row, in_range, lock) if in_range else None
    if base is None and in_range:
        base = in_range[-1]
    if base is None:
        actual = f"{row.name}: found no release before {later.name} in its range"
        raise UpstreamError(
            f"{actual}, expected one; --from names the one that it was written for"
        )
    return base, later


def _earlier(
    releases: Sequence[CheckedRelease],
    before: Sequence[CheckedRelease],
    version: str,
    last: CheckedRelease,
) -> CheckedRelease:
    """Find the release that a row was written for, which has to be before the one it is carried to.

    Args:
        releases: all releases, the oldest first.
        before: those before the one that the row is carried to.
        version: the version of the release.
        last: the release that the row is carried to.

    Raises:
        UpstreamError: There is no such release before that one.
    """
    parsed = parse_version(version)
    not_before = releases[len(before) :]
    versions = [parse_version(release.version) for release in not_before]
    if before and parsed not in versions:
        return _named(before, version)
    expected = "which is the first release"
    if before:
        expected = f"expected --from an earlier one, such as {before[-1].version}"
    raise UpstreamError(
        f"found no release {last.project} {version} before {last.version}, {expected}"
    )


def _in_range(row: Row, releases: Sequence[CheckedRelease]) -> list[CheckedRelease]:
    """Return the releases in the range of a row."""
    return [
        release
        for release in releases
        if allows(row.patch.requires, release.project, release.version)
    ]


def release_of_version(
    releases: Sequence[CheckedRelease], version: str
) -> CheckedRelease | None:
    """Find the release of a version, `1.0` and `1.0.0` alike.

    Args:
        releases: the releases.
        version: the version.

    Returns:
        The release; None if no release has that version.
    """
    parsed = parse_version(version)
    for release in releases:
        if parsed is not None and parse_version(release.version) == parsed:
            return release
    return None


def _named(releases: Sequence[CheckedRelease], version: str) -> CheckedRelease:
    """Find the release of a version; raise UpstreamError for none."""
    release = release_of_version(releases, version)
    if release is not None:
        return release
    parsed = parse_version(version)
    project = releases[0].project
    newest = releases[-1].version
    if parsed is None:
        raise UpstreamError(
            f"found {version!r}, expected a version of {project} alone, such as {newest}"
        )
    similar = version_meant(version, [release.version for release in releases])
    raise UpstreamError(
        f"found no release {project} {version}, expected one such as {newest}{similar}"
    )


def _is_reviewed(row: Row, release: CheckedRelease, lock: Lock) -> bool:
    """Whether the lock has the release for each target that the row changes there."""
    spans_by_target = lock.entries.get(row.name, {})
    targets = [
        str(change.place)
        for change in row.patch.parts
        if change.is_reviewed
        and allows(change.requires, release.project, release.version)
    ]
    version = release_order(release.version)
    for target in targets:
        is_in_span = any(
            release_order(span.first) <= version <= release_order(span.last)
            for span in spans_by_target.get(target, ())
            if span.project == release.project
        )
        if not is_in_span:
            return False
    return bool(targets)


def _newest_reviewed(
    row: Row, releases: Sequence[CheckedRelease], lock: Lock
) -> CheckedRelease | None:
    """Find the newest release that is the last of a span which the lock has for the row.

    Args:
        row: the row.
        releases: releases of one distribution, at least one.
        lock: what was reviewed, as spans of releases in which a source stayed the same.
    """
    project = releases[0].project
    versions: set[str] = set()
    for spans in lock.entries.get(row.name, {}).values():
        versions.update(span.last for span in spans if span.project == project)
    for release in reversed(releases):
        if release.version in versions:
            return release
    return None
