"""`patchkit doctor`: is anything in the way?"""

from __future__ import annotations

import os

import click

from patchkit.cli.facts.health import doctor_facts
from patchkit.cli.options import format_option, patches_option, selection_of
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
    settings = Settings.read()
    data = doctor_facts(selection_of(settings), os.environ, packs)
    if form == "json":
        from patchkit.report.as_json import to_json  # noqa: PLC0415 - only one of them is needed

        click.echo(to_json(data))
    else:
        from patchkit.report.doctor_page import print_doctor  # noqa: PLC0415 - as above

        print_doctor(data)
    return 1 if data["findings"] else 0
