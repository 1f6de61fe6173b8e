"""Comparing two folders of results."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def differences(old: Path, new: Path) -> Iterator[str]:
    """Compare two folders of results.

    Args:
        old: results of the one patchkit.
        new: results of the other.

    Yields:
        A unified diff for each result that differs, or that only one of them has.
    """
    before = _results(old)
    after = _results(new)
    for name in sorted({*before, *after}):
        if before.get(name) == after.get(name):
            continue
        lines = difflib.unified_diff(
            before.get(name, "").splitlines(),
            after.get(name, "").splitlines(),
            _label(old, name, before),
            _label(new, name, after),
            lineterm="",
        )
        yield "\n".join(lines)


def _label(folder: Path, name: str, results: dict[str, str]) -> str:
    """Name a side of a diff, as git does where a file is new or gone."""
    if name in results:
        return f"{folder}/{name}"
    return "/dev/null"


def _results(folder: Path) -> dict[str, str]:
    results = {}
    for file in folder.rglob("*.txt"):
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        results[file.relative_to(folder).as_posix()] = text
    return results
