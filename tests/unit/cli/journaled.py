"""Journals in a folder, and what `status` says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write journals into a directory."""

    def write(*journals: dict[str, bytes]) -> Path:
        place = tmp_path / "journal"
        place.mkdir(exist_ok=True)
        for journal in journals:
            for name, data in journal.items():
                (place / name).write_bytes(data)
        return place

    return write


def answered(
    capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0
) -> dict[str, Any]:
    """Return what `status --format json` prints, and check its exit code on the way."""
    assert main(["status", "--format", "json", *argv]) == code
    out: dict[str, Any] = json.loads(capsys.readouterr().out)
    return out
