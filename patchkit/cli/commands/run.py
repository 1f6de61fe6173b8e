"""`patchkit run`: run a command with patchkit in every Python process that it starts."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

from patchkit.analysis.status.node import look
from patchkit.analysis.status.patches import idle_patches, tally
from patchkit.analysis.status.picture import Picture, draw
from patchkit.analysis.status.process_status import ProcessStatus
from patchkit.analysis.status.runs import discard_run, new_run, why_unwritable
from patchkit.cli.health import contradictions
from patchkit.cli.module_source import find_module
from patchkit.cli.options import patches_option, selection_of, without_process
from patchkit.cli.output import say
from patchkit.cli.process_options import set_process_option
from patchkit.cli.report.words import count, one_line
from patchkit.cli.used_packs import packs_line
from patchkit.cli.ways_in import SITECUSTOMIZE_FOLDER
from patchkit.core.engines.entry_points import installed_engines, installed_processes
from patchkit.core.rows.processes import ProcessTable
from patchkit.core.rows.project import Project
from patchkit.core.rows.selection import check_names
from patchkit.core.versions.installed import Versions
from patchkit.errors import DeclarationError, PatchkitError
from patchkit.registry import Registry, is_own_pack, packs_for
from patchkit.runtime.reach.told_rows import environment_of
from patchkit.settings import Settings, is_switched_off


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument(
    "argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND..."
)
@patches_option
def command(argv: tuple[str, ...], packs: tuple[str, ...]) -> int:
    """Run a command, and every process it starts, with patches.

    Works by the environment alone (PYTHONPATH); nothing is installed. Python processes that ignore
    their environment (python -I, -E, -S) are out of reach. The exit code is the command's.

    \b
    Examples:
      patchkit run -- vllm serve MODEL --tensor-parallel-size 2
      patchkit run -- python script.py
      patchkit run --patches mine.patches -- ./start.sh
      PATCHKIT_LOG=info patchkit run -- python -m my.benchmark
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if is_switched_off(os.environ):
        say("PATCHKIT=0: the command runs without patches")
        return execute(argv, os.environ)
    settings = Settings.read()
    _check(settings, packs)
    own_packs = [pack for pack in packs_for(settings, packs) if not is_own_pack(pack)]
    journal = settings.journal or str(new_run(argv))
    say(f"journal in {journal}")
    say(packs_line(own_packs))
    started = time.time()
    code = run_and_wait(argv, environment_here((*settings.packs, *packs), journal))
    if code not in CANNOT_RUN:
        status_command = "'patchkit status'"
        if settings.journal:
            status_command = f"'patchkit status {journal}'"
        _say_result(journal, started, status_command)
        if not own_packs:
            say(packs_line(own_packs))
    elif settings.journal is None:  # the folder was made for this run, and is empty
        discard_run(Path(journal))
    return end_as(code)


def _check(settings: Settings, packs: Sequence[str]) -> None:
    """Find errors before the command runs, and warn of patches that have no process.

    Args:
        settings: The settings of this process.
        packs: The packs of the command line.

    Raises:
        PatchkitError: Every process of the command would stop with this error.
    """
    Versions.of(settings).check()
    try:
        registry = Registry.collect(settings, packs)
    except DeclarationError as error:
        if settings.on_failure == "stop":
            raise
        say(str(error))
        return
    check_names(settings, [row.name for row in registry])
    for warning in contradictions(settings):
        say(warning)
    # Only a variable of the engine that switches processes off can leave a patch without one.
    if any(ProcessTable(installed_processes()).switched_on(os.environ)):
        for name, message in without_process(registry, selection_of(settings)):
            say(f"{name} {message}")


def environment_here(packs: Sequence[str], journal: str) -> dict[str, str]:
    """Return the environment for a command that runs with patches, by this project's settings.

    Args:
        packs: The packs that its processes read besides the installed ones.
        journal: The folder that its processes write their journals to.

    Returns:
        The environment, made from that of this process.
    """
    project = Project.read()
    environ = dict(os.environ)
    path = [environ.get("PYTHONPATH", ""), *_project_folders_with(packs, project)]
    environ["PYTHONPATH"] = os.pathsep.join(entry for entry in path if entry)
    # If a pack cannot be read, the processes of the command report that.
    with suppress(PatchkitError):
        environ |= environment_of(Registry.collect(Settings.read(), packs))
    if project.lock:
        environ.setdefault("PATCHKIT_LOCK", str(Path(project.lock).absolute()))
    return child_environment(environ, packs, journal)


def _project_folders_with(packs: Sequence[str], project: Project) -> list[str]:
    """Return the folders of this project from which packs are imported, for PYTHONPATH.

    Installed packs need none: the processes of a command find them by themselves.
    """
    folders_with_packs: set[Path] = set()
    for name in packs:
        spec = find_module(name.partition(".")[0])
        if spec is not None:
            locations = spec.submodule_search_locations or ()
            folders_with_packs.update(Path(location).parent for location in locations)
    if not folders_with_packs:
        return []
    folders = dict.fromkeys((Path().absolute(), *project.folders))
    return [str(folder) for folder in folders if folder in folders_with_packs]


def child_environment(
    environ: Mapping[str, str], packs: Iterable[str], journal: str
) -> dict[str, str]:
    """Return an environment that brings patches into every Python process of a command.

    Args:
        environ: The environment to start from, which stays as it is.
        packs: The packs that processes read besides the installed ones.
        journal: The folder that processes write their journals to.

    Returns:
        The environment; the folder of patchkit's `sitecustomize` is first on its PYTHONPATH.
    """
    folders = environ.get("PYTHONPATH", "").split(os.pathsep)
    path = [folder for folder in folders if folder != SITECUSTOMIZE_FOLDER]
    # An empty entry means the current folder, but not if the variable is empty altogether.
    if path == [""]:
        path = []
    environment = {
        **environ,
        "PYTHONPATH": os.pathsep.join([SITECUSTOMIZE_FOLDER, *path]),
        "PATCHKIT": "1",
        "PATCHKIT_JOURNAL": str(Path(journal).absolute()),
    }
    names = ",".join(dict.fromkeys(packs))
    if names:
        environment["PATCHKIT_PATCHES"] = names
    return environment


def _say_result(journal: str, started: float, status_command: str) -> None:
    """Print on stderr what became of the patches, or that the journals cannot be read.

    Args:
        journal: The folder of the journals.
        started: When the command was started, in seconds since the epoch.
        status_command: The command that shows more.
    """
    try:
        seen = look(journal, [engine.signs for engine in installed_engines()])
        for line in _result_lines(draw([seen]), journal, started, status_command):
            say(line)
    except (OSError, PatchkitError, ValueError, KeyError) as error:
        say(f"journals in {journal} cannot be read: {error}")


def _result_lines(
    picture: Picture, journal: str, started: float, status_command: str
) -> tuple[str, ...]:
    """Return the lines about the processes of this run, and the first finding about them.

    Args:
        picture: What the journals say; the folder may also have those of earlier runs.
        journal: The folder.
        started: When this run was started, in seconds since the epoch.
        status_command: The command that shows more.
    """
    processes = [
        process
        for process in picture.processes
        # A process whose start is unknown counts as one of this run.
        if (process.started or started) >= started
    ]
    if not processes:
        nobody = "no Python process was started that patchkit could reach"
        return (why_unwritable(Path(journal)) or nobody,)
    counts = f"{_counts(picture, processes)} in {count(len(processes), 'process')}"
    messages = [
        finding.message
        for finding in picture.findings
        if finding.process is None or finding.process in processes
    ]
    if not messages:
        return counts, f"no findings; {status_command} has the details"
    summary = one_line(messages[0])
    if len(messages) > 1:
        summary += f", and {len(messages) - 1} more to look at"
    return counts, f"{summary}; see {status_command}"


def _counts(picture: Picture, processes: Iterable[ProcessStatus]) -> str:
    """Count patches by status: `patches: 3 applied, 1 skipped`."""
    statuses = tally(processes, idle_patches(picture.processes))
    parts = [f"{number} {status}" for status, number in statuses.items()]
    if not parts:
        parts.append("none")
    return f"patches: {', '.join(parts)}"


_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
CANNOT_RUN = frozenset({_NOT_FOUND, _NOT_EXECUTABLE})
"""The shell's exit codes for a command that was not run."""
_PASSED_ON_SIGNALS = frozenset(
    {
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGTERM,
        signal.SIGUSR1,
        signal.SIGUSR2,
    }
)
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def run_and_wait(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    stdout: int | None = None,
    started: Callable[[int], object] | None = None,
) -> int:
    """Run a command, pass signals on to it, and wait for its end.

    On a system without `sigwaitinfo`, such as macOS, the command replaces this process.

    Args:
        argv: The program and its arguments.
        environ: Its environment.
        stdout: The file descriptor that its stdout goes to; None for that of this process.
        started: Is called with its pid once it runs; not where it replaces this process.

    Returns:
        Its exit code, or the negative number of the signal that ended it.
    """
    if not hasattr(signal, "sigwaitinfo"):
        _redirect_stdout(stdout)
        return execute(argv, environ)
    # Blocked signals wait for `sigwaitinfo`, and do not end this process.
    former_mask = signal.pthread_sigmask(
        signal.SIG_BLOCK, {*_PASSED_ON_SIGNALS, signal.SIGCHLD}
    )
    # If this process was started with the signal ignored, it would never learn of the end.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdout.flush()  # else the child would write what is still in the buffer a second time
    pid = os.fork()
    if pid == 0:
        _redirect_stdout(stdout)
        _become(argv, environ, former_mask)
    if started is not None:
        started(pid)
    code = _wait_for(pid)
    signal.pthread_sigmask(signal.SIG_SETMASK, former_mask)
    return code


def _redirect_stdout(stdout: int | None) -> None:
    """Let stdout of this process go to another file descriptor; None keeps it."""
    if stdout is not None:
        os.dup2(stdout, 1)


def execute(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Replace this process by a command.

    Args:
        argv: The program and its arguments.
        environ: Its environment.

    Returns:
        The shell's exit code for a command that cannot be run; otherwise this does not return.
    """
    # Python ignores these two signals at its start, and a command would inherit that.
    for name in ("SIGPIPE", "SIGXFSZ"):
        with suppress(AttributeError, ValueError):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.stdout.flush()
    try:
        os.execvpe(argv[0], list(argv), environ)  # noqa: S606 - the user's own command
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # of an empty name, a ValueError
        expected = "expected one on PATH or a file that can be run"
        say(f"{argv[0] or repr('')}: found no such command, {expected}")
        return _NOT_FOUND
    except OSError as error:
        say(f"{argv[0]}: cannot be run: {error.strerror}")
        return _NOT_EXECUTABLE


def end_as(code: int) -> int:
    """End this process as the command has ended: by the same signal, if it was a signal.

    Args:
        code: The exit code of the command, or the negative number of the signal.

    Returns:
        The exit code for this process, if it was no signal.
    """
    if code >= 0:
        return code
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))  # one core dump is enough
    with suppress(OSError):  # SIGKILL has no handler to reset
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 128 - code  # pid 1 of a container is not ended by its own signals


def _become(
    argv: Sequence[str], environ: Mapping[str, str], mask: set[int]
) -> NoReturn:
    """Replace this forked child by the command, which is killed if its parent dies.

    Args:
        argv: The program and its arguments.
        environ: Its environment.
        mask: The signals that were blocked before the fork, and are blocked again.
    """
    parent = os.getppid()
    set_process_option(_DIE_WITH_PARENT, signal.SIGKILL)
    # The parent died before the option was set, so nobody reads this exit code.
    if os.getppid() != parent:
        os._exit(-signal.SIGKILL % 256)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os._exit(execute(argv, environ))


def _wait_for(pid: int) -> int:
    """Wait until the command ends, and return its exit code; pass signals on to it meanwhile."""
    while True:
        info = signal.sigwaitinfo({*_PASSED_ON_SIGNALS, signal.SIGCHLD})
        if info.si_signo == signal.SIGCHLD:
            code = _collect_ended(pid)
            if code is not None:
                return code
        # A code up to 0 says that a process has sent the signal, to this process alone. Ctrl-C in a
        # terminal, with a code above 0, sends it to the command as well.
        elif info.si_code <= 0:
            os.kill(pid, info.si_signo)


def _collect_ended(pid: int) -> int | None:
    """Wait for all children that have ended, which may include orphans of the command.

    Returns:
        The exit code of the command, or the negative number of a signal; None if it still runs.
    """
    code = None
    with suppress(ChildProcessError):
        while True:
            ended_pid, status = os.waitpid(-1, os.WNOHANG)
            if ended_pid == 0:
                break
            if ended_pid == pid:
                code = os.waitstatus_to_exitcode(status)
    return code
