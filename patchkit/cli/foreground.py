"""A command in the foreground: this process waits for it, passes signals on, and ends as it did."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from patchkit.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
CANNOT_RUN = frozenset({_NOT_FOUND, _NOT_EXECUTABLE})
_PASSED_ON = frozenset(
    {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}
)
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def run_and_wait(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """
    Run a command and return its exit code, or the negative number of the signal that ended it.

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
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
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
