"""`patchkit doctor`: is anything in the way?"""

from __future__ import annotations

import os

import click

from patchkit.cli.health import health
from patchkit.cli.options import format_option, patches_option, selection_of
from patchkit.report.as_json import to_json
from patchkit.settings import Settings


@click.command("doctor")
@patches_option
@format_option
def command(packs: tuple[str, ...], form: str) -> int:
    """
    Look for what stands in the way of the patches.

    Versions, packs, conflicts, locks, settings, ways in. Exit code 1 means that there is
    something to look at, marked warn or bad.

    \b
    Examples:
      patchkit doctor
      patchkit run -- patchkit doctor       as a process that `run` starts sees it
      patchkit doctor --format json | jq '.checks[] | select(.mark == "bad")'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    lines = health(selection_of(Settings.read()), os.environ, packs)
    findings = sum(line.mark in {"warn", "bad"} for line in lines)
    if form == "json":
        click.echo(to_json({"checks": [line._asdict() for line in lines], "findings": findings}))
    else:
        from patchkit.report.doctor_page import print_doctor  # noqa: PLC0415 - JSON needs no rich

        print_doctor(lines)
    return 1 if findings else 0
