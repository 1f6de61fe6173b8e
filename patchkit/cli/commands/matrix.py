"""`patchkit matrix`: the releases that a CI matrix should cover."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import click

from patchkit.analysis.check.findings import told_causes
from patchkit.analysis.check.matrix import boundaries, cases, few, read_lanes
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.releases import print_boundaries, print_matrix
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.errors import UpstreamError


@click.command("matrix")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names)
@click.option(
    "--releases", metavar="SPEC", help="To choose from; default: pyproject.toml's first, or vllm."
)
@click.option("--lanes", "file", metavar="FILE", help="The releases that you run, as TOML.")
@inputs.library_option
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
    """Choose the few releases that a CI matrix should cover, or say what yours covers.

    They cover both ends of every range, and every source that a target has had in it. Patches of
    an installed pack, and patchkit's own, count only if you name them.

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
        raise click.UsageError("--releases and --lanes: expected one of them at most")
    rows = inputs.own_rows_of(packs, names)
    if file:
        return _tell_boundaries(rows, Path(file), form, library)
    return _choose(rows, releases or (*Project.read().releases, "vllm")[0], form, library)


def _choose(rows: Sequence[Row], releases: str, form: str, library: Library) -> int:
    with progress_bar() as progress:
        subjects = on_index(releases, library)
        found, faults = cases(rows, subjects, progress)
    for text in told_causes(faults):
        say(f"left out: {text}")
    project = subjects[0].project
    chosen = {
        subjects[at].version: [case for case, places in found.items() if at in places]
        for at in few(found)
    }
    if not chosen and not faults:
        raise UpstreamError(f"none of the patches is for any release of {releases!r}")
    if form == "json":
        parts = [{"release": at, "cases": exercised} for at, exercised in chosen.items()]
        click.echo(to_json({"project": project, "releases": parts, "unreadable": [*faults]}))
    elif form == "github":
        click.echo(json.dumps({project: list(chosen)}))
    else:
        print_matrix(project, chosen)
    return 1 if faults else 0


def _tell_boundaries(rows: Sequence[Row], file: Path, form: str, library: Library) -> int:
    lanes = read_lanes(file)
    able = [{"lane": one.name, **one.releases} for one in lanes.lanes if not one.reason]
    released = cache(lambda name: [one.version for one in find_releases(name, library)])
    found = boundaries(rows, lanes, released)
    uncovered = [one for one in found if one.covered == "no"]
    if form == "json":
        parts = [dict(vars(one)) for one in found]
        click.echo(to_json({"lanes": able, "boundaries": parts, "uncovered": len(uncovered)}))
    elif form == "github":
        click.echo(json.dumps({"include": able}))
    else:
        print_boundaries(found)
    if uncovered:
        named = ", ".join(dict.fromkeys(f"{one.requirement} of {one.patch}" for one in uncovered))
        say(f"found no lane for {named}; expected one for each, or a reason in {file}")
    return 1 if uncovered else 0
