from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from patchkit.errors import ScaffoldError
from patchkit.scaffold.plan import PlannedFile
from patchkit.scaffold.writing import write

if TYPE_CHECKING:
    from pathlib import Path


def all_in(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_all_is_written(tmp_path: Path) -> None:
    """New files come with their folders; an edited one keeps its mode, and nothing is left over."""
    rows = tmp_path / "__init__.py"
    rows.write_bytes(b"old")
    rows.chmod(0o640)
    write(
        [
            PlannedFile("body", tmp_path / "a/b/c.py", b"new"),
            PlannedFile("row", rows, b"two", b"old"),
        ]
    )
    assert all_in(tmp_path) == {"a/b/c.py": b"new", "__init__.py": b"two"}
    assert stat.S_IMODE(rows.stat().st_mode) == 0o640


@pytest.mark.parametrize("fault", ["there", "changed", "folder"])
def test_a_fault_leaves_nothing_behind(fault: str, tmp_path: Path) -> None:
    """A file that is there, one that was changed, a folder that is a file: all is taken back."""
    rows = tmp_path / "__init__.py"
    rows.write_bytes(b"changed" if fault == "changed" else b"old")
    (tmp_path / "there").write_bytes(b"theirs")
    before = all_in(tmp_path)
    test = {"there": "there", "folder": "there/test.py"}.get(fault, "tests/test.py")
    with pytest.raises(ScaffoldError, match=r"there|meanwhile"):
        write(
            [
                PlannedFile("body", tmp_path / "a/b/c.py", b"new"),
                PlannedFile("test", tmp_path / test, b"new"),
                PlannedFile("row", rows, b"two", b"old"),
            ]
        )
    assert all_in(tmp_path) == before
    assert not (tmp_path / "a").exists()
