"""`patchkit diff`: what upstream changed in a patch's targets."""

import click

from patchkit.analysis.check.comparison import compare, ends
from patchkit.analysis.check.coverage import package_of, released
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import inputs, options
from patchkit.cli.output import say
from patchkit.cli.report.as_json import diff_json
from patchkit.cli.report.releases import print_diff
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
      patchkit diff my-patch --here                 to what runs here
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
    first, last = ends(row, on_index(canonical(package), library), reviewed, old, new)
    if any(release_options):
        last = inputs.open_packages(release_options, [package], library)[0]
    elif first is last and new is None:
        say(f"no release is newer than {first.name}; --from compares with an older one")
    changes = [change for change in row.patch.parts if package_of(change) == package]
    targets = dict.fromkeys(change.place for change in changes)
    comparisons = [compare(target, first, last) for target in targets]
    if form == "json":
        click.echo(diff_json(name, first.name, last.name, comparisons))
    elif first.name != last.name or new:  # if not, `say` has said that nothing is newer
        print_diff(f"{name}: {first.name} to {last.name}", comparisons)
