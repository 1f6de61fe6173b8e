"""Print what a command has to say, also to a closed pipe, a full disk or a narrow encoding."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from patchkit.analysis.upstream.reading.parallel import Progress


def say(text: str) -> None:
    """Print one line on stderr; where that cannot be written, the exit code has to do.

    Args:
        text: The message, whose line breaks become spaces.
    """
    line = text.replace("\n", " ")
    with contextlib.suppress(OSError):
        click.echo(f"patchkit: {line}", err=True)


class Output(io.FileIO):
    """A file that accepts all data, also once it cannot be written any more."""

    fault: str | None = None
    """Why data could not be written; None also where the reader has closed its pipe."""
    _is_lost = False

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        """Write data, or discard it once a write has failed.

        Args:
            data: The bytes to write.

        Returns:
            How many bytes were taken: all of them where they are discarded.
        """
        if not self._is_lost:
            try:
                return super().write(data)
            # Who reads has seen enough, and the answer is the same.
            except BrokenPipeError:
                self._is_lost = True
            except OSError as error:
                self._is_lost = True
                self.fault = error.strerror
        return len(data)


@contextlib.contextmanager
def own_stdout() -> Iterator[Output | None]:
    """Replace `sys.stdout` by one that accepts everything, while a command runs.

    Yields:
        The file below it; None if stdout is none of the system's files, and is left as it is.
    """
    former = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        file = Output(former.fileno(), "wb", closefd=False)
    except OSError:  # a test's
        yield None
        return
    raw: io.RawIOBase = file
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=former.encoding,
        errors="backslashreplace",  # an encoding may lack a letter
        line_buffering=former.isatty(),
    )
    try:
        yield file
    finally:
        sys.stdout.flush()
        sys.stdout = former
        _flush_stderr()


def _flush_stderr() -> None:
    """Flush stderr; what it does not take would make Python fail at its end."""
    if not sys.stderr:
        return
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Show on a terminal's stderr how many releases have been read.

    Yields:
        What is to be called as releases are read; None if stderr is no terminal.
    """
    if not sys.stderr or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal gets a bar
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    description = TextColumn("reading releases")
    columns = (
        description,
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[label]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, label="")

        def update(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, label=label)

        yield update
