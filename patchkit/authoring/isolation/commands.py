"""Runs commands of others: cut off from the network, for a limited time, ended as a whole."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from patchkit.authoring.isolation import launcher
from patchkit.errors import ScaffoldError

NOT_STARTED = 127
"""The exit code of a command that cannot be started; its output has the program and the reason."""


class Isolation(NamedTuple):
    """Whether a command was cut off; each is '' if it was, and else why the system refused.

    Args:
        network: From the network.
        files: From writing outside of its folders.
    """

    network: str = ""
    files: str = ""


class IsolatedRun(NamedTuple):
    """A command that has ended.

    Args:
        code: Its exit code; None where it was ended at the time limit.
        output: What it has written on stdout and stderr.
        isolation: Whether it was cut off.
    """

    code: int | None
    output: str
    isolation: Isolation

    @property
    def ending(self) -> str:
        """How it ended: `with 3`, or `by SIGILL` where a signal ended it."""
        if self.code is None or self.code >= 0:
            return f"with {self.code}"
        try:
            return f"by {signal.Signals(-self.code).name}"
        except ValueError:  # a number without a name, as those of real time
            return f"by signal {-self.code}"

    @property
    def last_line(self) -> str:
        """The last line of its output that is not blank; '' where there is none."""
        return self.output.strip().rpartition("\n")[2].strip()


def run_isolated(
    command: Sequence[str],
    *,
    timeout: float,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    writable: Sequence[Path] | None = None,
    input_text: str = "",
) -> IsolatedRun:
    """Run a command without the network, and end its process group as a whole.

    Args:
        command: The program and its arguments.
        timeout: The seconds after which it is ended.
        environ: Its environment.
        cwd: Its working directory; None for that of this process.
        writable: The only folders that it can write to; None to protect no files.
        input_text: Its standard input.

    Returns:
        The ended command, with what the system refused to cut off.

    Raises:
        ScaffoldError: The program that cuts it off ended itself.
    """
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        input_file = Path(folder, "input")
        input_file.write_text(input_text, "utf-8")
        folders = None
        if writable is not None:
            folders = [str(path) for path in writable]
        request = json.dumps({"report": str(report), "writable": folders})
        # The launcher cuts its own process off, and then becomes the command. -I and -S: it loads
        # nothing that the environment or site-packages name, before it is cut off.
        launching = [sys.executable, "-I", "-S", str(launcher.__file__), request]
        # A file and no pipe: a process that outlives the command would keep a pipe open, and
        # reading it would not end.
        output_file = Path(folder, "output")
        with input_file.open("rb") as stdin, output_file.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                [*launching, *command],
                cwd=cwd,
                env=dict(environ),
                stdin=stdin,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            code = _wait(process, timeout)
        text = output_file.read_text("utf-8", errors="replace")
        # The launcher writes its report before it becomes the command: without it, nothing ran.
        try:
            isolation = Isolation(**json.loads(report.read_text("utf-8")))
        except (OSError, ValueError) as error:
            last_line = text.strip().rpartition("\n")[2]
            raise ScaffoldError(f"nothing was run: {last_line or error}") from error
    return IsolatedRun(code, text, isolation)


def isolation_here(folder: Path) -> Isolation:
    """Return what this system refuses to cut off, by a command that does nothing.

    Args:
        folder: The only folder that commands are to write to.

    Raises:
        ScaffoldError: Nothing can be run here.
    """
    environ = {"PATH": os.environ.get("PATH", os.defpath)}
    done = run_isolated(["true"], timeout=60, environ=environ, writable=[folder])
    return done.isolation


def _wait(process: subprocess.Popen[bytes], timeout: float) -> int | None:
    """Wait for a process, then end all of its group; None where it took too long."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:  # also after Ctrl-C, which the process itself does not get
        with suppress(ProcessLookupError):  # none of the group is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
