"""`patchkit matrix`: the releases that a CI matrix should cover."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from patchkit.check.findings import told_causes
from patchkit.cli import options
from patchkit.cli.output import progress, say
from patchkit.report.as_json import to_json
from patchkit.rows.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@click.command("matrix")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names)
@click.option(
    "--releases", metavar="SPEC", help="To choose from; default: pyproject.toml's first, or vllm."
)
@options.offline_option
@options.patches_option
@options.format_among("json", "github", text="For a person, a program, or strategy.matrix.")
def command(
    names: tuple[str, ...], releases: str | None, offline: bool, packs: tuple[str, ...], form: str
) -> int:
    """
    Choose the few releases that a CI matrix should cover.

    They cover both ends of every range, and every source that a target has had in it. Patches of
    an installed pack, and patchkit's own, count only if you name them.

    \b
    Examples:
      patchkit matrix
      patchkit matrix --releases 'vllm>=0.20'
      echo "matrix=$(patchkit matrix --format github)" >> "$GITHUB_OUTPUT"
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.check.matrix import cases, few  # noqa: PLC0415 - late: the help needs none
    from patchkit.check.opening import on_index  # noqa: PLC0415
    from patchkit.cli import look  # noqa: PLC0415
    from patchkit.upstream.reading.releases import Library  # noqa: PLC0415

    rows = look.own_rows_of(packs, names)
    with Library(offline=offline, notice=say) as library, progress() as told:
        subjects = on_index(releases or (*Project.read().releases, "vllm")[0], library)
        found, faults = cases(rows, subjects, told)
    for text in told_causes(faults):
        say(f"left out: {text}")
    project = subjects[0].project
    chosen = {
        subjects[at].version: [case for case, places in found.items() if at in places]
        for at in few(found)
    }
    _tell(project, chosen, faults, form)
    return 1 if faults else 0


def _tell(
    project: str, chosen: Mapping[str, Sequence[str]], faults: Iterable[str], form: str
) -> None:
    if form == "json":
        parts = [{"release": at, "cases": exercised} for at, exercised in chosen.items()]
        click.echo(to_json({"project": project, "releases": parts, "unreadable": [*faults]}))
    elif form == "github":
        click.echo(json.dumps({project: list(chosen)}))
    else:
        from patchkit.report.releases import print_matrix  # noqa: PLC0415 - JSON needs no rich

        print_matrix(project, chosen)
