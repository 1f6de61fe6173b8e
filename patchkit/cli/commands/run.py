"""`patchkit run`: a command with patchkit in it and in all it starts; nothing is installed."""

import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

import patchkit
from patchkit.analysis.status.journals import new_run
from patchkit.analysis.status.node import look
from patchkit.analysis.status.picture import Picture, draw
from patchkit.analysis.status.process_status import ProcessStatus
from patchkit.cli.module_source import find_module
from patchkit.cli.options import patches_option, selection_of, without_process
from patchkit.cli.output import say
from patchkit.cli.process_options import set_process_option
from patchkit.cli.report.words import count, one_line
from patchkit.core.rows.processes import ProcessTable
from patchkit.core.rows.project import Project
from patchkit.core.versions.installed import Versions
from patchkit.errors import PatchkitError
from patchkit.registry import Registry, installed_processes
from patchkit.settings import Settings

WAY_IN = str(Path(patchkit.__file__).absolute().parent / "runtime" / "bootstrap" / "run")
"""The folder whose `sitecustomize` arms a Python process."""

_WORST_FIRST = ("failed", "applied", "skipped", "armed")


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@patches_option
def command(words: tuple[str, ...], packs: tuple[str, ...]) -> int:
    """Run a command patched, and all that it starts.

    Works by the environment alone (PYTHONPATH); nothing is installed. Python processes that ignore
    their environment (python -I, -E, -S) are out of reach. The exit code is the command's.

    \b
    Examples:
      patchkit run -- vllm serve MODEL --tensor-parallel-size 2
      patchkit run -- python script.py
      patchkit run --patches mine.patches -- ./start.sh
      PATCHKIT_LOG=info patchkit run -- python -m my.benchmark
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    settings = Settings.read()
    if not settings.enabled:
        say("PATCHKIT=0: the command runs without patches")
        return execute(words, os.environ)
    # What every process of the command would stop at.
    Versions.of(settings).check()
    if settings.only or settings.disabled:
        settings.check_names([row.name for row in Registry.collect(settings, packs)])
    if any(ProcessTable(installed_processes()).switched_on(os.environ)):
        registry = Registry.collect(settings, packs)
        for name, message in without_process(registry, selection_of(settings)):
            say(f"{name} {message}")
    journal = settings.journal or str(new_run())
    say(f"journal in {journal}")
    started = time.time()
    code = run_and_wait(words, environment_here((*settings.packs, *packs), journal))
    if code not in CANNOT_RUN:
        how = f"'patchkit status {journal}'" if settings.journal else "'patchkit status'"
        _tell_the_end(journal, started, how)
    if settings.journal is None:
        with suppress(OSError):  # there is a journal in it
            Path(journal).rmdir()
    return end_as(code)


def environment_here(packs: Sequence[str], journal: str) -> dict[str, str]:
    """Make the environment of a command that runs patched, with the settings of this project."""
    project, environ = Project.read(), dict(os.environ)
    tops = [find_module(name.partition(".")[0]) for name in packs]
    places = {place for top in tops if top for place in top.submodule_search_locations or ()}
    found = {Path(place).parent for place in places}
    ours = dict.fromkeys((Path().absolute(), *project.folders)) if found else ()
    folders = [str(folder) for folder in ours if folder in found]
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [environ.get("PYTHONPATH"), *folders]))
    if project.lock:
        environ.setdefault("PATCHKIT_LOCK", str(Path(project.lock).absolute()))
    return child_environment(environ, packs, journal)


def child_environment(
    environ: Mapping[str, str], packs: Iterable[str], journal: str
) -> dict[str, str]:
    """Make the environment that arms every Python process of a command, wherever it goes."""
    folders = environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [folder for folder in folders if folder != WAY_IN]
    path = WAY_IN if others in ([], [""]) else os.pathsep.join([WAY_IN, *others])
    ours = {
        "PYTHONPATH": path,
        "PATCHKIT": "1",
        "PATCHKIT_JOURNAL": str(Path(journal).absolute()),
        "PATCHKIT_PATCHES": ",".join(dict.fromkeys(packs)),
    }
    return {**environ, **{name: value for name, value in ours.items() if value}}


def _tell_the_end(journal: str, started: float, how: str) -> None:
    """Say what became of the patches; the exit code is the command's, whatever comes of that."""
    try:
        for line in _last_words(draw([look(journal)]), started, how):
            say(line)
    except (OSError, PatchkitError, ValueError, KeyError) as error:
        say(f"journals in {journal} cannot be read: {error}")


def _last_words(picture: Picture, started: float, how: str) -> tuple[str, ...]:
    every = picture.processes
    processes = [process for process in every if (process.started or started) >= started]
    told = [
        finding.message
        for finding in picture.findings
        if finding.process is None or finding.process in processes
    ]
    if not processes:
        return ("no Python process was started that patchkit could reach",)
    tally = f"{_tally(processes)} in {count(len(processes), 'process')}"
    if not told:
        return tally, f"no findings; {how} has the details"
    more = f", and {len(told) - 1} more to look at" if len(told) > 1 else ""
    return tally, f"{one_line(told[0])}{more}; see {how}"


def _tally(processes: Iterable[ProcessStatus]) -> str:
    found: dict[str, str] = {}
    for process in processes:
        for patch in process.patches.values():
            if process.is_due(patch):
                several = (process.stand(patch)[0], found.get(patch.name, "armed"))
                found[patch.name] = min(several, key=_WORST_FIRST.index)
    counted = Counter(found.values())
    parts = [f"{counted[status]} {status}" for status in _WORST_FIRST if counted[status]]
    return f"patches: {', '.join(parts) or 'none'}"


_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
CANNOT_RUN = frozenset({_NOT_FOUND, _NOT_EXECUTABLE})
_PASSED_ON = frozenset(
    {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}
)
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def run_and_wait(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command and return its exit code, or the negative number of the signal that ended it.

    Where the system lacks what that needs (macOS), this process becomes the command.
    """
    if not hasattr(signal, "sigwaitinfo"):
        return execute(words, environ)
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _become(words, environ, former)
    code = _attend(pid)
    signal.pthread_sigmask(signal.SIG_SETMASK, former)
    return code


def execute(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Become the command; returns, with the shell's exit code, only where that fails."""
    for name in ("SIGPIPE", "SIGXFSZ"):  # which Python ignores: the command would inherit that
        with suppress(AttributeError, ValueError):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.stdout.flush()
    try:
        os.execvpe(words[0], list(words), environ)  # noqa: S606 - the user's own command
    except (FileNotFoundError, NotADirectoryError):
        say(f"{words[0]}: found no such command, expected one on PATH or a file that can be run")
        return _NOT_FOUND
    except OSError as error:
        say(f"{words[0]}: cannot be run: {error.strerror}")
        return _NOT_EXECUTABLE


def end_as(code: int) -> int:
    """End this process by the signal that ended the command; else return its exit code."""
    if code >= 0:
        return code
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError):  # there is no other way to end for SIGKILL
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 128 - code  # the first process of a container outlives its own signals


def _become(words: Sequence[str], environ: Mapping[str, str], mask: set[int]) -> NoReturn:
    """Become the command, in a fork; what kills the parent outright kills it too."""
    parent = os.getppid()
    set_process_option(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(-signal.SIGKILL % 256)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os._exit(execute(words, environ))


def _attend(pid: int) -> int:
    while True:
        told = signal.sigwaitinfo({*_PASSED_ON, signal.SIGCHLD})
        if told.si_signo == signal.SIGCHLD:
            if (code := _ended(pid)) is not None:
                return code
        elif told.si_code <= 0:  # by a process; a terminal's go to all of its group
            os.kill(pid, told.si_signo)


def _ended(pid: int) -> int | None:
    """Collect whatever has ended, orphans too; the exit code of the command if it has."""
    code = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == pid:
                code = os.waitstatus_to_exitcode(ended[1])
    return code
