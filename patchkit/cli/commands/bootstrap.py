"""`patchkit bootstrap`: the `.pth` that arms every process of this Python."""

import os
from pathlib import Path

import click

from patchkit.cli.options import format_option
from patchkit.cli.output import say
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.doctor import print_bootstrap
from patchkit.runtime.bootstrap import install as bootstrap


@click.group("bootstrap", no_args_is_help=False)  # which would tell the help as an error
def command() -> None:
    """Arm every process of this Python that has PATCHKIT=1.

    \b
    Examples:
      patchkit bootstrap install    write it into this Python's site-packages
      PATCHKIT=1 ray start --head   every worker of this node is armed
      patchkit bootstrap status     is it there, and in order?
      patchkit bootstrap remove     leave nothing behind
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is


@command.command("install")
def install_command() -> None:
    """Write it into this Python's site-packages.

    What an older patchkit has written is brought up to date. Where the folder cannot be written,
    nothing is: see `patchkit run`. pip does not know it: remove it before patchkit.
    """
    folder = bootstrap.site_folder()
    location = None if bootstrap.location_found_alone() else bootstrap.own_location()
    if bootstrap.install(folder, location):
        say(f"bootstrap installed in {folder}; it arms every Python process that has PATCHKIT=1")
        say("'pip uninstall' leaves it there: run 'patchkit bootstrap remove' before that")
    else:
        say(f"bootstrap is installed and up to date in {folder}")
    if location is not None:
        say(f"patchkit is not installed in this Python: the bootstrap looks for it in {location}")


@command.command("remove")
def remove_command() -> None:
    """Take away what install wrote, and nothing else."""
    folder = bootstrap.site_folder()
    told = "bootstrap removed from" if bootstrap.remove(folder) else "no bootstrap in"
    say(f"{told} {folder}")


@command.command("status")
@format_option
def status_command(form: str) -> int:
    """Say whether it is there, and in order.

    Exit code 1 means that it is there and not in order.
    """
    folder, switch = bootstrap.site_folder(), os.environ.get("PATCHKIT")
    found = bootstrap.look(folder)
    told = found.location if found.location and Path(found.location).exists() else None
    location = bootstrap.location_found_alone() or told
    if form == "json":
        files = [{"file": str(file), "state": state} for file, state in found.files.items()]
        data = {"folder": str(folder), "state": found.state, "files": files, "switch": switch}
        click.echo(to_json({**data, "patchkit": location}))
    else:
        print_bootstrap(folder, found, switch, location)
    works = found.state == bootstrap.INSTALLED and location is not None
    return 0 if works or found.state == bootstrap.ABSENT else 1
