"""What a command prints to: a closed pipe, a full disk, an encoding without some letters."""

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import click

from patchkit.upstream.reading.parallel import Progress

_PLAIN = str.maketrans("├└│─…✓✗¿·→", "|`|-~+X%.>")
_HANDLER = "patchkit.plain"


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
def own_streams() -> Iterator[Output | None]:
    """Put our own below stdout and stderr for the time of a command; tell of that of stdout."""
    former = sys.stdout, sys.stderr
    codecs.register_error(_HANDLER, _plainly)
    # Held here as long as their descriptors are in use; there are none after `patchkit list >&-`.
    below = former[0] or _nowhere(), former[1] or _nowhere()
    sys.stdout, sys.stderr = below
    for stream in below:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)
    try:
        (sys.stdout, out), (sys.stderr, _) = map(_over, below)
        yield out
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = former


def _over(stream: TextIO) -> tuple[TextIO, Output | None]:
    """Put our own below a stream of the system's; what it held back would fail at exit."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream, None
    try:
        number = stream.fileno()
        stream.flush()
    except (OSError, ValueError):  # a test's
        return stream, None
    out = Output(number, "wb", closefd=False)
    raw: io.RawIOBase = out
    above = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
    )
    return above, out


def _nowhere() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - as long as the process


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Draw lines and marks in ASCII where an encoding lacks them; any other letter is an escape."""
    if isinstance(error, UnicodeEncodeError):
        text = error.object[error.start : error.end]
        if (plain := text.translate(_PLAIN)).isascii():
            return plain, error.end
    return codecs.backslashreplace_errors(error)


@contextlib.contextmanager
def progress() -> Iterator[Progress | None]:
    """Show on stderr, for a person who waits, how far the reading of releases has come."""
    if not sys.stderr.isatty():
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
