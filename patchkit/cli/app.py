"""The command `patchkit`: finds its subcommands, and turns errors into one line on stderr."""

import ast
import importlib
import os
import sys
import threading
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click

from patchkit import __version__
from patchkit.cli.output import own_stdout, say
from patchkit.core.rows.project import Project
from patchkit.errors import DeclarationError, PatchkitError, near

SECTIONS = {
    "Write patches": ("new", "probe", "adopt", "rebase", "export", "list", "show"),
    "Know whether they hold": ("check", "fit", "explain", "diff", "history"),
    "Keep them reviewed": ("lock", "matrix"),
    "Run with them": ("run", "status", "bisect", "doctor", "bootstrap"),
}
"""The commands, in the order of the help; each is `command` in `patchkit.cli.commands.<name>`."""

COMMANDS = tuple(chain.from_iterable(SECTIONS.values()))

_WRONG = 2
_INTERRUPTED = 130
_PATIENCE = 1.0
"""How many seconds the threads of an interrupted command have to end."""


class _Commands(click.Group):
    """A click group that imports the module of a command only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands; click calls this for shell completion."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"patchkit.cli.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line, or suggest similar names if there is none.

        Raises:
            UsageError: There is no command of this name.
        """
        name = args[0]
        # click itself handles options, and command lines that are completed.
        if (
            name not in COMMANDS
            and not name.startswith("-")
            and not ctx.resilient_parsing
        ):
            raise click.UsageError(
                f"No such command {name!r}{near(name, COMMANDS)}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the commands into the help, by section, each with the first sentence of its help.

        click's own method would import every command, and cut the sentences off.
        """
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, _summary(name)) for name in names])


def _summary(name: str) -> str:
    """Return the first sentence of a command's help, read from its source without an import."""
    source = Path(__file__).with_name("commands").joinpath(f"{name}.py").read_bytes()
    help_text = ""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            help_text = ast.get_docstring(node) or ""
    # Up to 1,000 characters: more than any sentence has.
    return click.Command(name, help=help_text).get_short_help_str(1_000)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(
    __version__, "-V", "--version", prog_name="patchkit", message="%(prog)s %(version)s"
)
@click.pass_context
def group(ctx: click.Context) -> None:
    """The patch manager for vLLM and SGLang.

    \b
    Examples:
      patchkit list                     which patches apply here
      patchkit show NAME                one patch in full
      patchkit run -- vllm serve MODEL  run it patched, in every process it starts
      patchkit status                   what is applied in every process
      patchkit doctor                   what keeps patches from being applied

    Exit code: 0 fine, 1 findings, 2 wrong use or broken input.
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; print an error that a user can cause as one line on stderr.

    Args:
        argv: The arguments after `patchkit`, or None for those of this process.

    Returns:
        The exit code.
    """
    if argv is None:
        argv = sys.argv[1:]
    with own_stdout() as output:
        code = _run(list(argv))
    if output and output.fault:
        say(f"the output cannot be written: {output.fault}")
        return _WRONG
    return code


def _run(arguments: list[str]) -> int:
    """Run one command, and return its exit code; see `run`."""
    try:
        # Not standalone: click returns what the command returns, and raises its own errors.
        # The context keeps `obj`: `pages.py` shows the command line on an HTML page.
        code = group.main(arguments, "patchkit", standalone_mode=False, obj=arguments)
    except click.Abort:
        say("interrupted")
        _end_if_threads_wait()
        return _INTERRUPTED
    except PatchkitError as error:
        say(_message(error))
        return _WRONG
    except click.ClickException as error:
        say(_message_of_click(error))
        return _WRONG
    except SystemExit as error:  # from shell completion
        return int(bool(error.code))
    if isinstance(code, int):
        return code
    return 0


def _end_if_threads_wait() -> None:
    """End an interrupted command at once if its threads are waiting, such as for a silent server.

    Python would wait for them, until the server's time is over. What they write to the cache, they
    write whole or not at all.
    """
    deadline = time.monotonic() + _PATIENCE
    for thread in threading.enumerate():
        if thread.name.startswith("patchkit-") and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                os._exit(_INTERRUPTED)


def _message(error: PatchkitError) -> str:
    """Return the message of an error.

    If the project's settings name a pack that cannot be imported, the message names their file.
    """
    if isinstance(error, DeclarationError) and error.field == "import":
        project = Project.read()
        if error.pack in project.packs:
            return f"{error} ({project.file}, [tool.patchkit] packs)"
    return str(error)


def _message_of_click(error: click.ClickException) -> str:
    """Return the message of a usage error, with the command whose help explains its options."""
    context = getattr(error, "ctx", None)
    command = "patchkit"
    if context:
        command = context.command_path
    text = error.format_message().rstrip(".")
    return f"{text} (see '{command} --help')"
