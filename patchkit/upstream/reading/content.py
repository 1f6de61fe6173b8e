"""The bytes of an archive that lies on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from patchkit.upstream.reading.archive import Span


class LocalContent:
    """
    A file on this machine.

    Args:
        file: where it lies.

    """

    is_whole = False
    """Nothing of it need be kept elsewhere."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def size(self) -> int:
        """How many bytes there are."""
        try:
            return self.file.stat().st_size
        except OSError as error:
            raise UpstreamError(_why(error)) from error

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Read the spans, in their order, each in full."""
        try:
            with self.file.open("rb") as file:
                return [_read(file.fileno(), start, end) for start, end in spans]
        except OSError as error:
            raise UpstreamError(_why(error)) from error

    def close(self) -> None:
        """Do nothing: the file is the user's."""


def _read(descriptor: int, start: int, end: int) -> bytes:
    found = os.pread(descriptor, end - start, start)
    if len(found) != end - start:
        raise UpstreamError("it is cut off")
    return found


def _why(error: OSError) -> str:
    return error.strerror or str(error)
