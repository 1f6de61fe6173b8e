"""`patchkit export`: write patches as a diff of a release, or as a bill of materials."""

from collections.abc import Iterator, Sequence

import click

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packages import released
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.export.export import exported
from patchkit.cli import inputs, options
from patchkit.cli.output import say
from patchkit.cli.report.sbom import sbom_json
from patchkit.core.rows.declaration import Row


@click.command("export")
@click.argument(
    "names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names
)
@click.option("--format", "form", type=click.Choice(["diff", "sbom"]), default="diff")
@options.release_options
@inputs.library_option
@options.patches_option
def command(
    names: tuple[str, ...],
    form: str,
    release_options: options.ReleaseOptions,
    library: Library,
    packs: tuple[str, ...],
) -> int:
    """Write patches as a diff of a release's files, or as CycloneDX that lists them.

    The diff is for `git apply`, as for a pull request. What no diff can say, such as a Wrap, is
    listed on standard error with the reason, and makes the exit code 1; so is what the diff changes
    beyond what the patch does.

    \b
    Examples:
      patchkit export my-patch --releases vllm==0.32.0 > my-patch.diff
      patchkit export --patches my_pack --path ~/vllm | git -C ~/vllm apply
      patchkit export --format sbom > vllm.cdx.json
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows = inputs.own_rows_of(packs, names)
    sources = {row.pack: PackSource(row.pack) for row in rows}
    releases = inputs.open_packages(release_options, released(rows), library)
    if form == "sbom":
        click.echo(sbom_json(releases, rows, sources))
        return 0
    if len(releases) != 1:
        names_of_releases = ", ".join(release.name for release in releases)
        raise click.UsageError(
            f"found {names_of_releases}, expected one release for a diff, such as "
            f"--releases {releases[-1].project}=={releases[-1].version}"
        )
    coverage = Coverage(rows, releases)
    result = exported(rows, coverage, sources)
    diff = result.diff()
    click.echo(diff, nl=False)
    messages = [*result.unwritten, *result.remarks]
    # A patch may be for other releases only. That is worth a message if the user has named it, or
    # if nothing else was written.
    if names or not (diff or messages):
        messages += _not_due(rows, coverage)
    for message in messages:
        say(message)
    return int(bool(messages))


def _not_due(rows: Sequence[Row], coverage: Coverage) -> Iterator[str]:
    """Yield a message for each row that changes nothing of the release: it is out of its range."""
    (release,) = coverage.releases
    for row in rows:
        if not coverage.due(row, release):
            requirements = ", ".join(row.patch.requires)
            yield (
                f"{row.name}: nothing of it is in the diff: none of its changes is for "
                f"{release.name}; it requires {requirements}"
            )
