"""`patchkit diff`: what upstream changed in a patch's targets."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import click

from patchkit.analysis.check.comparison import (
    Comparison,
    compare,
    ends,
    release_of_version,
)
from patchkit.analysis.check.opening import on_index, tell_files
from patchkit.analysis.check.packages import package_of, released
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import inputs, options
from patchkit.cli.output import say
from patchkit.cli.report.as_json import diff_json
from patchkit.cli.report.releases import print_diff
from patchkit.core.lock.format import Lock
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import canonical


@click.command("diff")
@click.argument("name", shell_complete=options.complete_names)
@click.option(
    "--from", "old", metavar="V", help="Default: the last reviewed, or the oldest."
)
@click.option(
    "--to", "new", metavar="V", help="Default: the newest in range, else of all."
)
@click.option(
    "--here",
    "is_here",
    is_flag=True,
    help="To what is installed here, not to a release.",
)
@click.option(
    "--path", metavar="DIR", help="To a source tree, such as a checkout of vLLM."
)
@click.option("--wheel", metavar="FILE", help="To a wheel, or a source distribution.")
@click.option(
    "--of",
    "distribution",
    metavar="DIST",
    help="Only what it changes in this one; default: in each, or with an option above in one.",
)
@click.option(
    "--lock", metavar="FILE", help="The lock; default: the project's or the packs'."
)
@inputs.library_option
@inputs.machine_options
@options.patches_option
@options.format_option
def command(
    name: str,
    old: str | None,
    new: str | None,
    is_here: bool,
    path: str | None,
    wheel: str | None,
    distribution: str | None,
    lock: str | None,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Show what upstream changed in the targets of a patch.

    \b
    Examples:
      patchkit diff my-patch                        since the last review
      patchkit diff my-patch --from 0.31.0 --to 0.33.0
      patchkit diff my-patch --here                 to what is here, as edited
      patchkit diff my-patch --format json | jq -r '.targets[].diff'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    ends_named = [option for option in (new, is_here, path, wheel) if option]
    if len(ends_named) > 1:
        raise click.UsageError(
            "--to, --here, --path and --wheel: expected at most one of them"
        )
    release_options = options.ReleaseOptions(path=path, wheel=wheel, here=is_here)
    (row,), _findings = inputs.rows_of(packs, [name])
    reviewed = options.locks_of(lock).of_all([row])
    is_end_named = bool(old or ends_named)
    pages = []
    for package in _packages(row, distribution, is_end_named=is_end_named):
        ends_of_package = _Ends(package, old, new, release_options)
        pages.append(_compared(row, ends_of_package, reviewed, library))
    if form == "json":
        comparisons = [entry for page in pages for entry in page.comparisons]
        click.echo(diff_json(name, pages[0].first, pages[0].last, comparisons))
    else:
        for page in pages:
            if not page.is_nothing_newer:
                print_diff(f"{name}: {page.first} to {page.last}", page.comparisons)
    return int(_lacks_targets(row, pages))


def _lacks_targets(row: Row, pages: Sequence["_Page"]) -> bool:
    """Whether both releases lack a target that a change needs."""
    needed = _needed(row)
    return any(
        comparison.is_in_neither and comparison.target in needed
        for page in pages
        if not page.is_nothing_newer
        for comparison in page.comparisons
    )


def _needed(row: Row) -> set[Target]:
    """Return the targets that the changes of a row need: all but those that add theirs."""
    return {
        change.place
        for change in row.patch.parts
        if change.kind not in ("Add", "Provide")
    }


class _Ends(NamedTuple):
    """The two releases to compare, as the command line names them.

    Args:
        package: The import package whose releases they are.
        old: The version to compare from; None if none is named.
        new: The version to compare to; None if none is named.
        local: The options that name what is compared with, if that is no release.
    """

    package: str
    old: str | None
    new: str | None
    local: options.ReleaseOptions


class _Page(NamedTuple):
    """The targets of a patch in one distribution, in two releases.

    Args:
        first: The name of the older release.
        last: The name of the newer release.
        comparisons: The targets, each in both.
        is_nothing_newer: Whether there is no newer release to compare with.
    """

    first: str
    last: str
    comparisons: Sequence[Comparison]
    is_nothing_newer: bool


def _packages(row: Row, distribution: str | None, *, is_end_named: bool) -> list[str]:
    """Return the import packages whose targets are compared.

    Args:
        row: The patch.
        distribution: The value of `--of`.
        is_end_named: Whether an option names a version, which is one of a single distribution.

    Returns:
        All that it changes, or the first if an end is named.

    Raises:
        UsageError: It changes nothing in the distribution.
    """
    packages = released([row])
    if distribution is not None:
        for package in packages:
            if canonical(package) == canonical(distribution):
                return [package]
        expected = ", ".join(map(canonical, packages))
        raise click.UsageError(
            f"--of: found {distribution!r}, expected one of {expected}"
        )
    if is_end_named and len(packages) > 1:
        first, second, *_ = map(canonical, packages)
        say(
            f"compared: what {row.name} changes in {first}; --of {second} is for others"
        )
        return packages[:1]
    return packages


def _compared(row: Row, ends_named: _Ends, reviewed: Lock, library: Library) -> _Page:
    """Compare the targets of a patch in one package.

    Args:
        row: The patch.
        ends_named: The package, and the releases to compare.
        reviewed: What was reviewed, which chooses the older release if none is named.
        library: The library, for releases on the index.
    """
    package, old, new, local = ends_named
    changes = [change for change in row.patch.parts if package_of(change) == package]
    targets = list(dict.fromkeys(change.place for change in changes))
    releases = on_index(canonical(package), library, telling=False)
    first, last = ends(row, releases, reviewed, old, new)
    is_nothing_newer = False
    if any(local):
        last = inputs.open_packages(local, [package], library)[0]
        if old is None:
            first = _unedited(last, releases, targets) or first
        if first.name == last.name:  # the heads of the diff would be the same
            last = replace(last, name=f"{last.name} {_origin(local)}")
    elif first is last and new is None:
        is_nothing_newer = True
        say(f"no release is newer than {first.name}; --from compares with an older one")
    tell_files((first, last), library)
    needed = _needed(row)
    comparisons = [compare(target, first, last) for target in targets]
    for index, comparison in enumerate(comparisons):
        if comparison.is_in_neither and comparison.target not in needed:
            # Not a slip in its name, but what such a change wants.
            comparisons[index] = comparison._replace(hint=", as what adds it expects")
    return _Page(first.name, last.name, comparisons, is_nothing_newer)


def _unedited(
    local: CheckedRelease,
    releases: Sequence[CheckedRelease],
    targets: Iterable[Target],
) -> CheckedRelease | None:
    """Return the release of a local one's version if targets were edited in the local one.

    Compared with that, the local one shows just the edits.

    Args:
        local: What is installed here, a source tree, or a wheel.
        releases: The releases on the index.
        targets: The targets.

    Returns:
        The release; None if there is none of that version, or all targets are the same in it.
    """
    public_version = local.version.partition("+")[0]
    original = release_of_version(releases, public_version)
    if original is None:
        return None
    for target in targets:
        if compare(target, original, local).diff:
            say(f"this is not {original.name} as it was released: compared with that")
            return original
    return None


def _origin(release_options: options.ReleaseOptions) -> str:
    """Say where a release comes from that has the name of one on the index."""
    if release_options.path:
        return f"in {release_options.path}"
    if release_options.wheel:
        return f"in {release_options.wheel}"
    return "installed here"
