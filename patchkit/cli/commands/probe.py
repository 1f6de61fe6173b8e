"""`patchkit probe`: run a command and see where targets are imported and called."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import click

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.status.probed import ANSWER, ProbeResult, read_probe
from patchkit.analysis.status.runs import discard_run, new_run
from patchkit.analysis.upstream.reading.tree import open_installed
from patchkit.authoring.scaffold.first_change import UpstreamTarget, refuse_missing
from patchkit.cli import options
from patchkit.cli.commands.run import (
    CANNOT_RUN,
    end_as,
    environment_here,
    run_and_wait,
)
from patchkit.cli.output import say
from patchkit.cli.report.probe_json import probe_json
from patchkit.cli.server_requests import ServerRequests, read_requests
from patchkit.core.engines.engine import server_in
from patchkit.core.engines.entry_points import installed_engines
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import canonical, parse_version
from patchkit.errors import UpstreamError
from patchkit.settings import Settings

_COMMAND = "patchkit.command"
"""The key of the command to run, in `meta` of click's context."""
_REQUESTS = "--requests"
_STDERR = 2


class _ProbeCommand(click.Command):
    """A click command that does not parse the command to run, after its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of `probe`, and store the command to run in the context.

        Args:
            ctx: The context, whose `meta` gets the command.
            args: All arguments.

        Returns:
            The arguments that click did not parse.
        """
        own_args, ctx.meta[_COMMAND] = _split(args)
        return super().parse_args(ctx, own_args)


def _split(args: list[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the arguments of `probe` and the command to run.

    The command begins after `--`, or with `vllm serve` or another engine's server. In the latter
    case, `--requests` may be anywhere: no engine has such an option.
    """
    if "--" in args:
        index = args.index("--")
        return args[:index], args[index + 1 :]
    server = server_in(args, installed_engines())
    if server is None:
        return args, []
    index = server.position_in(args) or 0
    if server.words[0] == "-m":
        index -= 1  # Python stands before it
    requests, command = _without_requests(args[index:])
    return [*args[:index], *requests], command


def _without_requests(command: list[str]) -> tuple[list[str], list[str]]:
    """Split a command into its option `--requests`, with the value, and all else."""
    for index, argument in enumerate(command):
        if argument == _REQUESTS:
            return command[index : index + 2], command[:index] + command[index + 2 :]
        if argument.startswith(f"{_REQUESTS}="):
            return [argument], command[:index] + command[index + 1 :]
    return [], command


@click.command("probe", cls=_ProbeCommand)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET... -- COMMAND...")
@click.option(
    _REQUESTS,
    metavar="N|FILE",
    help="Send N tiny requests, or FILE's (a JSON body a line), to the server that COMMAND starts.",
)
@options.format_option
@click.pass_context
def command(
    ctx: click.Context, targets: tuple[str, ...], requests: str | None, form: str
) -> int:
    """Run a command, and show where targets are imported and called.

    For each target it reports the processes that imported its module, those that called it, how
    often, first from where, and the roles that a row needs. What the command computes stays the
    same. `--` may be omitted before `vllm serve` and `sglang serve`. With --format json, the
    command's stdout goes to stderr. The exit code is the command's, or 1 if nothing could be
    observed.

    \b
    Examples:
      patchkit probe vllm.v1.worker.gpu_worker:Worker.execute_model -- ./a.sh
      patchkit probe vllm.config:VllmConfig vllm serve MODEL --requests 2
      patchkit probe TARGET OTHER --requests bodies.jsonl -- vllm serve MODEL
      patchkit probe TARGET --format json -- python -m my.benchmark
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    argv: list[str] = ctx.meta[_COMMAND]
    if not argv:
        raise click.UsageError("found no command, expected it after TARGET... --")
    if not hasattr(signal, "sigwaitinfo"):
        raise click.UsageError("found a system without sigwaitinfo, expected Linux")
    settings = Settings.read()
    if not settings.enabled:
        raise click.UsageError("PATCHKIT is '0', which switches patchkit off; unset it")
    parsed = list(dict.fromkeys(options.parse_target(text) for text in targets))
    _check_targets(parsed)
    server = None
    if requests is not None:
        server = ServerRequests(argv, read_requests(requests))
    journal = settings.journal or str(new_run(argv))
    say(f"journal in {journal}")
    names = [str(target) for target in parsed]
    began = time.time()
    code = _run(argv, _environment(settings, names, journal), server, form)
    if code in CANNOT_RUN:
        # Nothing has run, so the folder that was made for this run is empty.
        if settings.journal is None:
            discard_run(Path(journal))
        return code
    result = read_probe(journal, names, began)
    faults = _faults(result, server)
    _tell(result, argv, began, faults, journal, form)
    if code == 0 and faults:
        return 1
    return end_as(code)


def _check_targets(targets: Sequence[Target]) -> None:
    """Look up targets in the installed packages, before the command runs.

    For a package that is not installed here, a message says that its targets are not looked up.

    Raises:
        PatchkitError: A target does not exist.
    """
    packages = dict.fromkeys(target.module.partition(".")[0] for target in targets)
    for package in packages:
        release = _find_release(package)
        if release is None:
            say(f"{package} is not installed here: its targets are not looked up first")
            continue
        for target in targets:
            if target.module.partition(".")[0] == package:
                refuse_missing(UpstreamTarget(target, (release,)))


def _find_release(package: str) -> CheckedRelease | None:
    """Open a package as it is installed, or in the working directory; None if it is in neither."""
    for path in (None, [os.getcwd()]):  # noqa: PTH109 - as in sys.path, whose default is None
        opened = partial(open_installed, package, path)
        with suppress(UpstreamError):
            version = opened().version or ""
            name = f"the {package} here"  # for messages, if it does not say its version
            if parse_version(version):
                name = f"{package} {version}"
            return CheckedRelease(name, canonical(package), version, opened)
    return None


def _environment(
    settings: Settings, names: Sequence[str], journal: str
) -> dict[str, str]:
    """Return the environment of the command: as for `patchkit run`, with the targets to observe."""
    environ = environment_here(settings.packs, journal)
    environ["PATCHKIT_PROBE"] = "\n".join(names)
    return environ


def _run(
    argv: Sequence[str],
    environ: dict[str, str],
    server: ServerRequests | None,
    form: str,
) -> int:
    """Run the command to its end.

    Args:
        argv: The program and its arguments.
        environ: Its environment.
        server: Sends requests to the command, which is a server; None for no requests.
        form: The format of the output; with JSON, the command's stdout goes to stderr.

    Returns:
        Its exit code; 0 for a server that was ended after the requests.
    """
    stdout = _STDERR if form == "json" else None
    if server is None:
        return run_and_wait(argv, environ, stdout=stdout)
    code = run_and_wait(argv, environ, stdout=stdout, started=server.begin)
    server.finish()
    if server.has_ended_server:
        return 0
    return code


def _faults(result: ProbeResult, server: ServerRequests | None) -> list[str]:
    """Return the reasons, if any, why the result of the probe says nothing."""
    faults: list[str] = []
    if not result.processes:
        faults.append("no Python process was started that patchkit could reach")
    if server is not None:
        faults += server.faults
    return faults


def _tell(
    result: ProbeResult,
    argv: Sequence[str],
    began: float,
    faults: Sequence[str],
    journal: str,
    form: str,
) -> None:
    """Print the result, and store it beside the journals, for `patchkit new`.

    Args:
        result: The result.
        argv: The command that was run.
        began: When it was started, in seconds since the epoch.
        faults: Messages to print after the result.
        journal: The folder of the journals.
        form: The format of the output.
    """
    answer = probe_json(result, argv, began)
    with suppress(OSError):  # the answer is printed nevertheless
        _store(Path(journal, ANSWER), answer)
    if form == "json":
        click.echo(answer)
    else:
        from patchkit.cli.report.probe import print_probe  # noqa: PLC0415 - JSON needs no rich

        print_probe(result)
    sys.stdout.flush()  # `end_as` may end this process by a signal, which flushes nothing
    for fault in faults:
        say(fault)


def _store(file: Path, answer: str) -> None:
    """Write the answer to a file that only this user can read: it contains the command line.

    The file is complete as soon as it exists: a finished draft is renamed.
    """
    draft = file.with_name(f".{file.name}-{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as opened:
        opened.write(f"{answer}\n")
    draft.replace(file)
