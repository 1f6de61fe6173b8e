"""Prints the output of commands, even to a closed pipe, a full disk or a limited encoding."""

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.report.words import printable

if TYPE_CHECKING:
    from patchkit.analysis.upstream.reading.parallel import Progress


_LOGIN = re.compile(r"(?<!file)(:/+)[^\s'\"]+@")
"""Finds the name and password of a URL, also of one that was read as a path."""
_URL = re.compile(r"(https?:)/+(?!/|localhost)([^\s'\"<>,;)]+)")
_BEGINNING, _END = 1_500, 400
"""Characters of a message that are printed, if it has more: of a value with thousands, say."""


def say(text: str) -> None:
    """Print one line on stderr, or nothing if stderr cannot be written.

    Args:
        text: The message. Its line breaks become spaces, control characters are escaped, what may
            be secret in a URL becomes `…`, and so does the middle of a very long message.
    """
    line = printable(_without_secrets(text)).replace("\n", " ")
    if len(line) > _BEGINNING + _END:
        line = f"{line[:_BEGINNING]} … {line[-_END:]}"
    with contextlib.suppress(OSError):
        click.echo(f"patchkit: {line}", err=True)


def _without_secrets(text: str) -> str:
    """Mask names, passwords and possible tokens in the URLs of a message."""
    text = _LOGIN.sub(r"\1…@", text)
    if not _URL.search(text):
        return text
    from patchkit.analysis.upstream.reading.masking import masked  # noqa: PLC0415 - few messages have one

    # One that was read as a path has a single slash left.
    return _URL.sub(lambda match: masked(f"{match[1]}//{match[2]}"), text)


class Output(io.FileIO):
    """A file that accepts all data, and discards it once it can no longer be written."""

    fault: str | None = None
    """Why data could not be written; None also where the reader of a pipe has closed it."""
    _is_lost = False

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        """Write data, or discard it once a write has failed.

        Args:
            data: The bytes to write.

        Returns:
            The number of bytes that were written or discarded.
        """
        if not self._is_lost:
            try:
                return super().write(data)
            except BrokenPipeError:
                # No fault: the reader has seen enough, as with `| head`.
                self._is_lost = True
            except OSError as error:
                self._is_lost = True
                self.fault = error.strerror
        return len(data)


@contextlib.contextmanager
def own_stdout() -> Iterator[Output | None]:
    """Replace `sys.stdout` by a stream that accepts everything, while a command runs.

    Yields:
        The file of the new stream, with the fault of a failed write; None if stdout has no file
        descriptor, as in tests, and is kept.
    """
    # Python has no stdout if it was started with a closed one.
    original = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        file = Output(original.fileno(), "wb", closefd=False)
    except OSError:
        yield None
        return
    raw: io.RawIOBase = file
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=original.encoding,
        errors="backslashreplace",  # for letters that the encoding lacks
        line_buffering=original.isatty(),
    )
    try:
        yield file
    finally:
        if sys.stdout is not None:  # as a pack may have set it
            sys.stdout.flush()
        sys.stdout = original
        _flush_stderr()


def _flush_stderr() -> None:
    """Flush stderr, and replace it by the null device if that fails.

    Else Python would try again as it exits, and end with an error of its own.
    """
    if not sys.stderr:
        return
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextlib.contextmanager
def progress_bar() -> Iterator["Progress | None"]:
    """Show on stderr how many releases have been read, if it is a terminal.

    Yields:
        A function to call after each release; None if stderr is no terminal.
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
        # The description is a column of its own, and no release was read yet.
        task = bar.add_task("", total=None, label="")

        def update(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, label=label)

        yield update


@contextlib.contextmanager
def busy(doing: str) -> Iterator[None]:
    """Show on stderr what is being done, if it is a terminal, and remove that in the end.

    Args:
        doing: What is done, such as `adopting my_plugin`.

    Yields:
        Nothing.
    """
    if not sys.stderr or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal gets a line

    with Console(stderr=True).status(f"{doing} …"):
        yield
