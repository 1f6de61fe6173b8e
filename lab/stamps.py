"""Stamps: digests of the layers of an environment that were completed, in `stamp.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from folders import python_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = "stamp.json"


def read_stamp(environment: Path) -> list[str]:
    """Return the digests of the completed layers; none if the build was interrupted."""
    if not python_of(environment).exists():
        return []
    try:
        return [str(digest) for digest in json.loads((environment / NAME).read_text())]
    except (OSError, ValueError, TypeError):
        return []


def write_stamp(environment: Path, digests: Sequence[str]) -> None:
    """Record the layers that are complete."""
    (environment / NAME).write_text(json.dumps(list(digests)))


def agreeing(stamp: Sequence[str], digests: Sequence[str]) -> int:
    """Return how many layers, counted from the first, are up to date."""
    for index, (found, expected) in enumerate(zip(stamp, digests, strict=False)):
        if found != expected:
            return index
    return min(len(stamp), len(digests))
