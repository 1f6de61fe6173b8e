"""`patchkit bootstrap`: manage the `.pth` file that arms every process of this Python."""

import os
from pathlib import Path

import click

from patchkit.cli.options import format_option
from patchkit.cli.output import say
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.doctor import print_bootstrap
from patchkit.runtime.bootstrap import install as bootstrap


# With `no_args_is_help`, click would print the help as an error message.
@click.group("bootstrap", no_args_is_help=False)
def command() -> None:
    """Arm every process of this Python that has PATCHKIT=1.

    \b
    Examples:
      patchkit bootstrap install    write it into this Python's site-packages
      PATCHKIT=1 ray start --head   every worker of this node is armed
      patchkit bootstrap status     is it installed and intact?
      patchkit bootstrap remove     delete it
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is


@command.command("install")
def install_command() -> None:
    """Write it into this Python's site-packages.

    Files of an older patchkit are brought up to date. If the folder is not writable, nothing is
    installed: use `patchkit run`. pip does not track the files: remove them before patchkit.
    """
    folder = bootstrap.site_folder()
    location = None  # this Python finds patchkit by itself
    if not bootstrap.location_found_alone():
        location = bootstrap.own_location()
    if bootstrap.install(folder, location):
        say(
            f"bootstrap installed in {folder}; it arms every Python process that has PATCHKIT=1"
        )
        say(
            "'pip uninstall' leaves it there: run 'patchkit bootstrap remove' before that"
        )
    else:
        say(f"bootstrap is installed and up to date in {folder}")
    if location is not None:
        say(
            f"patchkit is not installed in this Python: the bootstrap looks for it in {location}"
        )


@command.command("remove")
def remove_command() -> None:
    """Delete what install wrote, and nothing else."""
    folder = bootstrap.site_folder()
    if bootstrap.remove(folder):
        say(f"bootstrap removed from {folder}")
    else:
        say(f"no bootstrap in {folder}")


@command.command("status")
@format_option
def status_command(form: str) -> int:
    """Show whether it is installed and intact.

    Exit code 1 means that it is there and not in order.
    """
    folder = bootstrap.site_folder()
    switch = os.environ.get("PATCHKIT")
    installation = bootstrap.look(folder)
    # Where Python finds patchkit: installed, or by the location in the bootstrap.
    location = bootstrap.location_found_alone()
    if not location and installation.location and Path(installation.location).exists():
        location = installation.location
    if form == "json":
        files = [
            {"file": str(file), "state": state}
            for file, state in installation.files.items()
        ]
        data = {
            "folder": str(folder),
            "state": installation.state,
            "files": files,
            "switch": switch,
            "patchkit": location,
        }
        click.echo(to_json(data))
    else:
        print_bootstrap(folder, installation, switch, location)
    if installation.state == bootstrap.ABSENT:
        return 0
    is_working = installation.state == bootstrap.INSTALLED and location is not None
    return int(not is_working)
