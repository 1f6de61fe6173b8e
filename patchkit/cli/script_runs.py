"""Runs scripts for `patchkit adopt --from-script`, once it has said what, and asked."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.diffs.patched_package import requirement_of
from patchkit.authoring.isolation.commands import isolation_here
from patchkit.authoring.scripts.adopting import (
    ScriptRows,
    ScriptRun,
    open_workspace,
)
from patchkit.authoring.scripts.script_steps import plan_scripts
from patchkit.cli.output import busy
from patchkit.cli.report.scripts import isolation_lines, left_out_lines, plan_lines


def adopt_scripts(
    scripts: Sequence[str],
    release: CheckedRelease,
    package: str,
    *,
    timeout: float,
    is_confirmed: bool,
) -> ScriptRows:
    """Run scripts on a copy of a release, and make rows of what they have changed.

    Args:
        scripts: The files of the scripts.
        release: The release.
        package: The import package that the scripts edit.
        timeout: The seconds that each script may take.
        is_confirmed: Whether `--yes` says that they may be run.

    Returns:
        The rows, and what no row expresses.

    Raises:
        UsageError: Nobody can be asked whether they may be run.
        ScaffoldError: A script cannot be run, or changed nothing.
        UpstreamError: A file of the release cannot be read.
    """
    if not is_confirmed and not (sys.stdin and sys.stdin.isatty()):
        raise click.UsageError(
            "--from-script: found no terminal to ask on whether to run it, expected --yes"
        )
    origin = ", ".join(Path(script).name for script in scripts)
    rows = ScriptRows(requirement_of(package, release.version), origin)
    with open_workspace(package, release.project, release.version) as workspace:
        plan = plan_scripts(scripts, workspace)
        rows.isolation = isolation_here(workspace.folder)
        for line in plan_lines(plan, release.name):
            click.echo(line, err=True)
        for line in isolation_lines(rows.isolation):
            click.echo(line, err=True)
        if not is_confirmed:
            click.confirm("run this?", abort=True, err=True)
        shown_before = len(plan.left_out)
        run = ScriptRun(workspace, release.source, timeout)
        with busy("running the steps"):
            run.run(plan, rows)
    # What scripts themselves have tried to install is known only now.
    for line in left_out_lines(rows.left_out[shown_before:]):
        click.echo(line, err=True)
    return rows
