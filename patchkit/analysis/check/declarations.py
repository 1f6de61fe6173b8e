"""Finds faults in rows themselves: empty fields, disjoint ranges, two patches without order."""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from difflib import get_close_matches
from itertools import combinations

from patchkit.analysis.check import codes
from patchkit.analysis.check.body_names import of_names
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.entry_names import missing_classes
from patchkit.analysis.check.findings import (
    Finding,
    Place,
    finding_of_row,
)
from patchkit.analysis.check.loading import PackBodies
from patchkit.analysis.check.packages import (
    allows,
    open_requirements,
    packages_of,
    projects_of,
)
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.requiring import slips, unrequired
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.requirements import allows_any, canonical

_SLIP = 0.85
"""From here on, a name in `conflicts` is taken for a slip of another."""
_CORRECT = "correct the range, or delete the row"
_TEXTS = {
    "why": (codes.MISSING_WHY, "what goes wrong without it"),
    "upstream": (codes.MISSING_UPSTREAM, "a link, or 'none: reason'"),
    "sunset": (codes.MISSING_SUNSET, "the condition under which the row is deleted"),
}
"""Fields that say why a row exists, each with the code if it is empty, and what is expected."""


def of_row(row: Row, pack: PackSource, bodies: PackBodies) -> Iterator[Finding]:
    """Find what is wrong with a row in every release.

    Args:
        row: The row.
        pack: Its pack.
        bodies: The bodies of the pack.

    Yields:
        A finding for each empty field of `why`, `upstream` and `sunset`, for a body that cannot be
        loaded, for each name that the body does not define or that cannot be called as it is, and
        for each class of the pack that an entry of a registry names and that is not there.
    """
    row_place = pack.place(row)
    for field, (code, expected) in _TEXTS.items():
        if not getattr(row.patch, field).strip():
            message = f"{row.name} has no `{field}`, expected {expected}"
            yield finding_of_row(
                code, message, f"set {field}=… in the row", row, row_place
            )
    if row.patch.body is None or not pack.has_body(row.patch):
        return  # a missing body is reported where the pack is read
    fault = bodies.fault(row)
    if fault is not None:
        place = (fault.file, fault.line)
        yield finding_of_row(codes.BODY_BROKEN, fault.message, fault.fix, row, place)
    yield from of_names(row, pack)
    for missing in missing_classes(row, pack):
        message = f"{missing.by} names a class that is not there: {missing.message}"
        place = pack.place(row, missing.by)
        fix = "correct the name in the entry"
        yield finding_of_row(codes.UNKNOWN_NAME, message, fix, row, place)


def of_conflicts(
    row: Row, names: Collection[str], row_place: Place
) -> Iterator[Finding]:
    """Find names in `conflicts` that no patch has, but that are nearly one's.

    A name that is like no other may be of a pack that is not installed here.

    Args:
        row: The row.
        names: The names of all patches that are known here.
        row_place: The place of the row.

    Yields:
        A finding for each.
    """
    for name in row.patch.conflicts:
        matches = get_close_matches(name, names, n=1, cutoff=_SLIP)
        if name in names or not matches:
            continue
        (match,) = matches
        message = f"{row.name} conflicts with {name}, which is no patch here; did you mean {match}?"
        fix = f"write {match}, or delete the name"
        yield finding_of_row(codes.UNKNOWN_CONFLICT, message, fix, row, row_place)


def of_ranges(
    row: Row,
    coverage: Coverage,
    known_versions: Mapping[str, Sequence[str]],
    row_place: Place,
) -> Iterator[Finding]:
    """Find ranges of a row that no version meets, that have gaps, overlap, or have no upper bound.

    Args:
        row: The row whose ranges are looked at.
        coverage: The releases in which alternative changes are compared.
        known_versions: The versions of each distribution on the index, as far as they are known.
        row_place: The place of the row.

    Yields:
        The findings, those of the row itself first.
    """
    yield from _unmatched(row, known_versions, row_place)
    yield from _not_required(row, coverage, row_place)
    for requirement in open_requirements(row):
        # The bound is appended to the requirement: `vllm<9999`, but `vllm>=0.30,<9999`.
        comma = ""
        if any(sign in requirement for sign in "<>=!~"):
            comma = ","
        fix = f"add an upper bound, or declare that there is none: '{requirement}{comma}<9999'"
        message = (
            f"{requirement!r} has no upper bound, so releases that were never checked are "
            "patched too"
        )
        yield finding_of_row(codes.OPEN_RANGE, message, fix, row, row_place)
    for alternatives in _alternatives(row):
        for release in coverage.releases:
            yield from _gap_or_overlap(row, alternatives, coverage, release, row_place)


def _unmatched(
    row: Row, known_versions: Mapping[str, Sequence[str]], row_place: Place
) -> Iterator[Finding]:
    """Find ranges of a row or of its changes that no version meets."""
    of_patch = list(row.patch.requires)
    for project in projects_of([*of_patch, *_requirements(row.patch.changes)]):
        message = _why_empty(of_patch, project, known_versions)
        if message:
            yield finding_of_row(codes.NO_RELEASE, message, _CORRECT, row, row_place)
            continue  # with the row's range, that of each change is empty too
        for change in row.patch.changes:
            message = _why_empty([*of_patch, *change.requires], project, known_versions)
            if message:
                target = str(change.place)
                yield finding_of_row(
                    codes.NO_RELEASE, message, _CORRECT, row, row_place, target=target
                )


def _not_required(row: Row, coverage: Coverage, row_place: Place) -> Iterator[Finding]:
    """Find packages that the row changes without a requirement on their distribution.

    A misspelled requirement, `vlm` for `vllm`, is an error: no process has that distribution, so
    the row would apply nowhere.
    """
    for slip in slips(row, coverage):
        fix = f"write {slip.meant} in place of {slip.name}"
        message = (
            f"no distribution {slip.name} is installed here; did you mean {slip.meant}?"
        )
        yield finding_of_row(codes.NO_RELEASE, message, fix, row, row_place)
    for missing in unrequired(row, coverage):
        code = codes.NOT_REQUIRED
        if missing.is_of_target:
            code = codes.TARGET_MISSING
        elif missing.slip:
            code = codes.NO_RELEASE  # an error; NOT_REQUIRED is a warning
        yield finding_of_row(code, str(missing), missing.fix, row, row_place)


def _why_empty(
    requirements: Sequence[str],
    project: str,
    known_versions: Mapping[str, Sequence[str]],
) -> str:
    """Say that no version of a distribution meets requirements; '' if one does, or may.

    Bounds that exclude each other need no list of versions: `>=2,<1`.
    """
    of_project = [text for text in requirements if project in projects_of([text])]
    bounds = ", ".join(of_project)
    if not allows_any(of_project):
        return f"no version of {project} can match {bounds}"
    versions = known_versions.get(project)
    if not of_project or not versions:
        return ""
    # The newest first: nearly all ranges have a recent version.
    if any(allows(of_project, project, version) for version in reversed(versions)):
        return ""
    return f"no release of {project} matches {bounds}"


def _alternatives(row: Row) -> list[list[Change]]:
    """Group changes that replace each other from release to release, as after a move upstream.

    They are of one kind, and their targets have one name in several modules: the qualname, or for
    changes of a whole module, its last part.
    """
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in row.patch.changes:
        name = change.place.qualname or change.place.module.rpartition(".")[2]
        groups.setdefault((change.kind, name), []).append(change)
    return [group for group in groups.values() if _are_alternatives(group)]


def _are_alternatives(changes: Sequence[Change]) -> bool:
    """Whether changes have several targets, and the release alone decides which one is made."""
    targets = {change.place for change in changes}
    return len(targets) > 1 and all(
        change.requires and change.when is None for change in changes
    )


def _gap_or_overlap(
    row: Row,
    alternatives: Sequence[Change],
    coverage: Coverage,
    release: CheckedRelease,
    row_place: Place,
) -> Iterator[Finding]:
    """Find that none, or more than one, of some alternatives is in range in a release."""
    changed_projects = {canonical(package) for package in packages_of([row])}
    # The names of distributions under which the release has something that the row changes.
    names_of_release = coverage.names(release) & changed_projects
    deciding_projects = projects_of(_requirements(alternatives))
    # A release of another distribution does not decide which alternative is made.
    is_deciding = not names_of_release.isdisjoint(deciding_projects)
    if not is_deciding or not coverage.allows(row.patch.requires, release):
        return
    in_range = [
        change for change in alternatives if coverage.allows(change.requires, release)
    ]
    targets = _targets(in_range)
    if not targets:
        code = codes.GAP
        listed = ", ".join(_targets(alternatives))
        message = f"the row is in range, but none of its alternatives is: {listed}"
        fix = "start one range where the other ends"
    elif len(targets) > 1:
        code = codes.OVERLAP
        message = f"{' and '.join(targets)} are both in range"
        fix = "end one range where the other starts"
    else:
        return
    target = str(alternatives[0].place)
    yield finding_of_row(
        code, message, fix, row, row_place, target=target, release=release.name
    )


def _requirements(changes: Iterable[Change]) -> list[str]:
    """Return the requirements that changes have of their own."""
    requirements: list[str] = []
    for change in changes:
        requirements += change.requires
    return requirements


def _targets(changes: Iterable[Change]) -> list[str]:
    """Return the targets of changes, each once."""
    return list(dict.fromkeys(str(change.place) for change in changes))


def unordered(
    rows: Sequence[Row], due: Callable[[Row], Iterable[Change]]
) -> Iterator[tuple[str, str, str]]:
    """Find pairs of rows that change one target in the same processes, in no order they state.

    Args:
        rows: The rows, each after those that it names in `after`.
        due: Returns the changes of a row to look at.

    Yields:
        The target, and the names of the two rows in their order.
    """
    rows_by_target: dict[str, dict[str, Row]] = {}
    for row in rows:
        for change in due(row):
            # Changes of a whole module, such as AfterImport, need no order.
            if change.place.qualname:
                rows_by_target.setdefault(str(change.place), {})[row.name] = row
    predecessors = _predecessors(rows)
    for target, rows_by_name in rows_by_target.items():
        for inner, outer in combinations(rows_by_name.values(), 2):
            if _kinds(inner, target) | _kinds(outer, target) == {"AddField"}:
                continue  # fields are passed by keyword, in any order
            if can_meet(inner, outer) and inner.name not in predecessors[outer.name]:
                yield target, inner.name, outer.name


def order_of(inner: Row, outer: Row, target: str) -> str:
    """Write the fix for two rows that change one target: how to put them in order.

    Args:
        inner: The row that comes first now.
        outer: The other row.
        target: What both change.

    Returns:
        The fix. For an Edit and a Replace it is another one, since no order makes both take effect.
        A row that adds the target always comes first.
    """
    kinds_of_inner = _kinds(inner, target)
    kinds_of_outer = _kinds(outer, target)
    kinds = kinds_of_inner | kinds_of_outer
    if "Add" in kinds_of_outer - kinds_of_inner:
        return f"set after=({outer.name!r},) in {inner.name}: it changes what that row adds"
    if {"Edit", "Replace"} <= kinds:
        return (
            f"conflicts=({inner.name!r},) in {outer.name}, or let the Replace bring what the Edit "
            "changes: where both apply, one is refused"
        )
    return (
        f"set after=({inner.name!r},) in {outer.name}; or, if only one of them is to apply, "
        "conflicts and a condition (env) for each"
    )


def _kinds(row: Row, target: str) -> set[str]:
    """Return the kinds of the changes that a row makes to a target."""
    return {change.kind for change in row.patch.parts if str(change.place) == target}


def _predecessors(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Return the names that each row comes after, directly or through other rows."""
    predecessors: dict[str, set[str]] = {}
    for row in rows:
        names = set(row.patch.after)
        for name in row.patch.after:
            names |= predecessors.get(name, set())
        predecessors[row.name] = names
    return predecessors


def can_meet(row: Row, other_row: Row) -> bool:
    """Whether two rows can be in one process: they share a role, and are not in conflict.

    Args:
        row: One of the rows.
        other_row: The other.
    """
    are_in_conflict = (
        row.name in other_row.patch.conflicts or other_row.name in row.patch.conflicts
    )
    return bool(row.roles & other_row.roles) and not are_in_conflict
