"""`patchkit matrix`: choose the releases that a CI matrix should cover."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import click

from patchkit.analysis.check.findings import unreadable_causes
from patchkit.analysis.check.lanes import read_lanes
from patchkit.analysis.check.matrix import Case, boundaries, cases, few
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.releases import Library, find_versions
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.releases import print_boundaries, print_matrix
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.errors import UpstreamError


@click.command("matrix")
@click.argument(
    "names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names
)
@click.option(
    "--releases",
    metavar="SPEC",
    help="To choose from; default: pyproject.toml's first, or vllm.",
)
@click.option(
    "--lanes", "file", metavar="FILE", help="The releases that you run, as TOML."
)
@inputs.library_option
@inputs.machine_options
@options.patches_option
@options.make_format_option(
    "json", "github", help_text="For a person, a program, or strategy.matrix."
)
def command(
    names: tuple[str, ...],
    releases: str | None,
    file: str | None,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Choose the few releases that a CI matrix should cover, or show what yours covers.

    The releases cover both ends of every range, and each version of a target's source within it.
    Patches of an installed pack, and patchkit's own, count only if you name them.

    With --lanes, list both ends of every range and the lanes that cover them: one at the very end,
    or one on each side. An end without lanes needs a reason in the file; otherwise exit with 1.

    \b
    Examples:
      patchkit matrix
      patchkit matrix --releases 'vllm>=0.20'
      patchkit matrix --lanes lanes.toml
      echo "matrix=$(patchkit matrix --format github)" >> "$GITHUB_OUTPUT"
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if file and releases:
        raise click.UsageError("--releases and --lanes: expected at most one of them")
    rows = inputs.own_rows_of(packs, names)
    if file:
        return _list_boundaries(rows, Path(file), form, library)
    if not releases:
        releases_of_project = Project.read().releases
        releases = releases_of_project[0] if releases_of_project else "vllm"
    return _choose(rows, releases, form, library)


def _choose(rows: Sequence[Row], releases: str, form: str, library: Library) -> int:
    """Print the releases to cover, each with the cases that it tests.

    A case is an end of a range, or a version of a target's source.

    Args:
        rows: The patches.
        releases: The requirement for the releases to choose from.
        library: The library, for releases on the index.
        form: The format of the output.

    Returns:
        The exit code: 1 if a release cannot be read.

    Raises:
        UpstreamError: None of the patches is for any of the releases.
    """
    with progress_bar() as progress:
        checked_releases = on_index(releases, library)
        releases_by_case, faults = cases(rows, checked_releases, progress)
    for cause in unreadable_causes(faults):
        say(f"left out: {cause}")
    project = checked_releases[0].project
    chosen: dict[str, list[Case]] = {}
    for index in few(releases_by_case):  # few releases that together have all cases
        version = checked_releases[index].version
        chosen[version] = [
            case for case, indexes in releases_by_case.items() if index in indexes
        ]
    if not chosen and not faults:
        raise UpstreamError(f"none of the patches is for any release of {releases!r}")
    if form == "json":
        data = {
            "project": project,
            "releases": [
                {"release": version, "cases": list(map(str, exercised))}
                for version, exercised in chosen.items()
            ],
            "unreadable": list(faults),
        }
        click.echo(to_json(data))
    elif form == "github":
        click.echo(json.dumps({project: list(chosen)}))
    else:
        print_matrix(project, chosen)
    return int(bool(faults))


def _list_boundaries(
    rows: Sequence[Row], file: Path, form: str, library: Library
) -> int:
    """Print both ends of every range, with the lanes of a file that cover them.

    Args:
        rows: The patches.
        file: The file of lanes: jobs of CI, each with the releases that it installs.
        form: The format of the output.
        library: The library, for releases on the index.

    Returns:
        The exit code: 1 if an end has neither a lane nor a reason why not.
    """

    @cache
    def versions_on_index(name: str) -> list[str]:
        return find_versions(name, library)

    lanes = read_lanes(file)
    runnable = [
        {"lane": lane.name, **lane.releases} for lane in lanes.lanes if not lane.reason
    ]
    listed = boundaries(rows, lanes, versions_on_index)
    uncovered = [boundary for boundary in listed if boundary.covered == "no"]
    if form == "json":
        data = {
            "lanes": runnable,
            "boundaries": [dict(vars(boundary)) for boundary in listed],
            "uncovered": len(uncovered),
        }
        click.echo(to_json(data))
    elif form == "github":
        click.echo(json.dumps({"include": runnable}))
    else:
        print_boundaries(listed)
    if not uncovered:
        return 0
    ends = dict.fromkeys(
        f"{boundary.requirement} of {boundary.patch}" for boundary in uncovered
    )
    say(
        f"found no lane for {', '.join(ends)}; expected one for each, or a reason in {file}"
    )
    return 1
