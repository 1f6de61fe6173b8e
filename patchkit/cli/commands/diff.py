"""`patchkit diff`: what upstream changed in a patch's targets."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import click

from patchkit.analysis.check.comparison import compare, ends, release_of_version
from patchkit.analysis.check.coverage import package_of, released
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import inputs, options
from patchkit.cli.output import say
from patchkit.cli.report.as_json import diff_json
from patchkit.cli.report.releases import print_diff
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
    lock: str | None,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> None:
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
    package = released([row])[0]
    changes = [change for change in row.patch.parts if package_of(change) == package]
    targets = list(dict.fromkeys(change.place for change in changes))
    releases = on_index(canonical(package), library)
    first, last = ends(row, releases, reviewed, old, new)
    is_nothing_newer = False
    if any(release_options):
        last = inputs.open_packages(release_options, [package], library)[0]
        if old is None:
            first = _unedited(last, releases, targets) or first
        if first.name == last.name:  # the heads of the diff would be the same
            last = replace(last, name=f"{last.name} {_origin(release_options)}")
    elif first is last and new is None:
        is_nothing_newer = True
        say(f"no release is newer than {first.name}; --from compares with an older one")
    comparisons = [compare(target, first, last) for target in targets]
    if form == "json":
        click.echo(diff_json(name, first.name, last.name, comparisons))
    elif not is_nothing_newer:
        print_diff(f"{name}: {first.name} to {last.name}", comparisons)


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
