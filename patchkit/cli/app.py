"""The group of commands, and the one place where an error becomes a line and an exit code."""

import ast
import importlib
import sys
from collections.abc import Sequence
from importlib.resources import files

import click

from patchkit import __version__
from patchkit.cli.output import own_stdout, say
from patchkit.core.rows.project import Project
from patchkit.errors import DeclarationError, PatchkitError, near

SECTIONS = {
    "Write patches": ("new", "adopt", "rebase", "export", "list", "show"),
    "Know whether they hold": ("check", "fit", "explain", "diff", "history"),
    "Keep them reviewed": ("lock", "matrix"),
    "Run with them": ("run", "status", "bisect", "doctor", "bootstrap"),
}
"""In the order of the help; `patchkit.cli.commands.<name>` holds each, as `command`."""

COMMANDS = tuple(name for names in SECTIONS.values() for name in names)

_WRONG = 2
_INTERRUPTED = 130


class _Commands(click.Group):
    """Imports a command's file when it is asked for: a command costs no other's start."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(
            f"patchkit.cli.commands.{cmd_name}"
        ).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say which command is like one that there is none of."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {word!r}{near(word, COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands by what they are for, their first sentences uncut."""
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, _summary(name)) for name in names])


def _summary(name: str) -> str:
    """Read the first sentence of a command's help, and import nothing of what the command needs."""
    tree = ast.parse(files("patchkit.cli.commands").joinpath(f"{name}.py").read_bytes())
    defined = (one for one in tree.body if isinstance(one, ast.FunctionDef))
    texts = [ast.get_docstring(one) or "" for one in defined if one.name == "command"]
    return click.Command(name, help=texts[0]).get_short_help_str(1_000)


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
    """The patch manager for vLLM.

    \b
    Examples:
      patchkit list                     which patches apply here
      patchkit show NAME                all about one of them
      patchkit run -- vllm serve MODEL  run it patched, in every process it starts
      patchkit status                   is it applied in every process?
      patchkit doctor                   is anything in the way?

    Exit code: 0 fine, 1 findings, 2 wrong use or broken input.
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; every error that a user can cause ends as one line on stderr."""
    with own_stdout() as out:
        code = _run(list(sys.argv[1:] if argv is None else argv))
    if out and out.fault:
        say(f"the output cannot be written: {out.fault}")
        return _WRONG
    return code


def _run(words: list[str]) -> int:
    try:
        code = group.main(words, "patchkit", standalone_mode=False, obj=words)
    except click.Abort:
        say("interrupted")
        return _INTERRUPTED
    except (PatchkitError, click.ClickException) as error:
        say(_wording(error) if isinstance(error, click.ClickException) else _cause(error))
        return _WRONG
    except SystemExit as error:  # of shell completion
        return 1 if error.code else 0
    return code if isinstance(code, int) else 0


def _cause(error: PatchkitError) -> str:
    if isinstance(error, DeclarationError) and error.field == "import":
        project = Project.read()
        if error.pack in project.packs:
            return f"{error} ({project.file}, [tool.patchkit] packs)"
    return str(error)


def _wording(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "patchkit"
    text = error.format_message().rstrip(".")
    return f"{text} (see '{command} --help')"
