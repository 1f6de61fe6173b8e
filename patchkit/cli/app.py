"""The group of commands, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import importlib
import io
import sys
from typing import TYPE_CHECKING

import click

from patchkit import __version__
from patchkit.errors import PatchkitError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (
    *("list", "show", "check", "explain", "lock", "diff", "history", "matrix"),
    *("new", "run", "status", "doctor", "bootstrap"),
)
"""In the order of the help; `patchkit.cli.<name>` holds each, as `command`."""

WRONG = 2
_INTERRUPTED = 130


class _Commands(click.Group):
    """Imports a command's file when it is asked for: a command costs no other's start."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"patchkit.cli.{cmd_name}").command
        return command


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="patchkit", message="%(prog)s %(version)s")
@click.pass_context
def group(ctx: click.Context) -> None:
    """
    The patch manager for vLLM.

    \b
    Examples:
      patchkit list                      which patches are for the versions here
      patchkit show NAME                 all about one of them
      patchkit run -- vllm serve MODEL   run it patched, in every process it starts
      patchkit status DIR                is it applied in every process?
      patchkit doctor                    is anything in the way?

    Exit code: 0 fine, 1 findings, 2 wrong use or broken input.
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; every error that a user can cause ends as one line on stderr."""
    _never_choke_on_a_letter()
    try:
        code = group.main(args=argv, prog_name="patchkit", standalone_mode=False)
    except (PatchkitError, click.ClickException, click.Abort) as error:
        return _told(error)
    except SystemExit as error:  # so click and rich end where nobody reads any more
        return 1 if error.code else 0
    return code if isinstance(code, int) else 0


def _never_choke_on_a_letter() -> None:
    """Print what a terminal's encoding lacks as an escape; rows may hold any text."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _told(error: Exception) -> int:
    if isinstance(error, click.Abort):
        say("interrupted")
        return _INTERRUPTED
    say(_wording(error) if isinstance(error, click.ClickException) else str(error))
    return WRONG


def _wording(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "patchkit"
    text = error.format_message().rstrip(".")
    return f"{text} (see '{command} --help')"


def say(text: str) -> None:
    """Talk: one line on stderr."""
    click.echo("patchkit: " + " ".join(text.split("\n")), err=True)
