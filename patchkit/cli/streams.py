"""What a command prints to: a closed pipe, a full disk, an encoding that lacks letters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_PLAIN = str.maketrans("├└│─…✓✗¿·→", "|`|-~+X%.>")
_HANDLER = "patchkit.plain"


class Streams:
    """stdout and stderr for the time of a command; both are as they were afterwards."""

    def __init__(self) -> None:
        self._former = sys.stdout, sys.stderr
        self._below = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # `patchkit list >&-`
        self._out: _Output | None = None

    def __enter__(self) -> Streams:
        codecs.register_error(_HANDLER, _plainly)
        sys.stdout, sys.stderr = self._below
        for stream in self._below:
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=_HANDLER)
        self._out = _output(sys.stdout)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.flush()
        sys.stdout, sys.stderr = self._former

    def flush(self) -> None:
        """Write out what was printed so far."""
        sys.stdout.flush()

    @property
    def fault(self) -> str | None:
        """What kept the output from being written; None where all was, or its reader has left."""
        return self._out.fault if self._out else None


class _Output(io.FileIO):
    """Takes everything; `fault` says what kept it from being written."""

    fault: str | None = None
    _is_lost = False

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._is_lost:
            try:
                return super().write(data)
            except BrokenPipeError:  # who reads has seen enough, and the answer is the same
                self._is_lost = True
            except OSError as error:
                self._is_lost, self.fault = True, error.strerror
        return len(data)


def _output(stream: object) -> _Output | None:
    """Put our own below a stream of the system's."""
    if not isinstance(stream, io.TextIOWrapper):
        return None
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # a test's
        return None
    stream.flush()
    out = _Output(number, "wb", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(out),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
    )
    return out


def _nowhere() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - as long as the process


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Draw lines and marks in ASCII where an encoding lacks them; any other letter is an escape."""
    if isinstance(error, UnicodeEncodeError):
        text = error.object[error.start : error.end]
        if (plain := text.translate(_PLAIN)).isascii():
            return plain, error.end
    return codecs.backslashreplace_errors(error)
