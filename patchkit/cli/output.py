"""What a command prints to: a closed pipe, a full disk, an encoding without some letters."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from patchkit.analysis.upstream.reading.parallel import Progress


def say(text: str) -> None:
    """Talk: one line on stderr; where nobody can hear it the exit code is left."""
    with contextlib.suppress(OSError):
        click.echo("patchkit: " + " ".join(text.split("\n")), err=True)


class Output(io.FileIO):
    """Takes everything; `fault` says what kept it from being written, but that its reader left."""

    fault: str | None = None
    _is_lost = False

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        """Write while anybody takes it."""
        if not self._is_lost:
            try:
                return super().write(data)
            except BrokenPipeError:  # who reads has seen enough, and the answer is the same
                self._is_lost = True
            except OSError as error:
                self._is_lost, self.fault = True, error.strerror
        return len(data)


@contextlib.contextmanager
def own_stdout() -> Iterator[Output | None]:
    """Put our own below stdout for the time of a command, where it is the system's."""
    former = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        out = Output(former.fileno(), "wb", closefd=False)
    except OSError:  # a test's
        yield None
        return
    raw: io.RawIOBase = out
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=former.encoding,
        errors="backslashreplace",  # an encoding may lack a letter
        line_buffering=former.isatty(),
    )
    try:
        yield out
    finally:
        sys.stdout.flush()
        sys.stdout = former
        try:
            _ = sys.stderr and sys.stderr.flush()
        except OSError:  # at its end, Python would fail by what stderr did not take
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextlib.contextmanager
def progress() -> Iterator[Progress | None]:
    """Show on stderr, for a person who waits, how far the reading of releases has come."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal gets a bar
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    what = "reading releases"
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[at]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, at="")
        yield lambda done, total, label: bar.update(task, completed=done, total=total, at=label)
