"""Programs that tests run or read: files in a folder `programs` beside the tests."""

from __future__ import annotations

from pathlib import Path


def program(test_file: str, name: str) -> str:
    """The text of a program; `test_file` is the `__file__` of the tests that it lies beside."""
    return (Path(test_file).parent / "programs" / f"{name}.py").read_text("utf-8")
