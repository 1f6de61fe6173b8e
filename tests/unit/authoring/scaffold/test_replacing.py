"""Files that are replaced together: by a process that is killed, and by the one that comes next."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.authoring.scaffold import replacing
from patchkit.authoring.scaffold.replacing import is_unfinished, recover, replace_all
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD = {"patch_a.py": b"old body", "__init__.py": b"old row"}
NEW = {"patch_a.py": b"new body", "__init__.py": b"new row"}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A folder with a body and a row."""
    for name, content in OLD.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def contents(pack: Path) -> dict[str, bytes]:
    """What is in each file of the folder, hidden ones too."""
    return {file.name: file.read_bytes() for file in pack.iterdir()}


def replace_in(pack: Path) -> None:
    """Replace the body, and then the row."""
    replace_all([(pack / name, content) for name, content in NEW.items()])


def is_killed_at(line: int, work: Callable[[], None]) -> bool:
    """Do some work in a child that is killed before it runs the nth line of `replacing`.

    Returns:
        Whether it was killed; False if the work has no so many lines.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    lines = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != replacing.__file__:
            return None
        if event == "line":
            lines += 1
            if lines == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    work()
    os._exit(0)


@pytest.mark.processes
def test_a_process_that_is_killed_leaves_all_or_nothing(pack: Path) -> None:
    """Killed before any line, it has replaced both files or none once the next one has recovered,
    and nothing else is there. Once the row is replaced, the body is, too.
    """
    outcomes: list[dict[str, bytes]] = []
    line = 1
    while is_killed_at(line, lambda: replace_in(pack)):
        recover([pack / name for name in OLD])
        assert contents(pack) in (OLD, NEW), line
        outcomes.append(contents(pack))
        for name, content in OLD.items():
            (pack / name).write_bytes(content)
        line += 1
    assert contents(pack) == NEW
    assert outcomes[0] == OLD
    assert outcomes[-1] == NEW


@pytest.mark.processes
@pytest.mark.parametrize("step", ["copying", "replacing"])
def test_who_recovers_may_be_killed_too(pack: Path, step: str) -> None:
    """Killed before any line while it takes things back, it leaves that to the next process."""
    line = 1
    is_killed = True
    while is_killed:
        for name, content in OLD.items():
            (pack / name).write_bytes(content)
        half_replaced(pack)
        if step == "copying":
            (pack / "patch_a.py").rename(pack / ".patch_a.py.patchkit")
            (pack / "patch_a.py").write_bytes(OLD["patch_a.py"])
            (pack / ".patch_a.py.patchkit-old").write_bytes(b"half a co")
        is_killed = is_killed_at(line, lambda: recover([pack / name for name in OLD]))
        recover([pack / "patch_a.py"])
        assert contents(pack) == OLD, line
        line += 1
    assert line > 10


def half_replaced(pack: Path) -> None:
    """Leave what a process leaves that is killed after it replaced the body alone."""
    (pack / ".__init__.py.patchkit").write_bytes(NEW["__init__.py"])
    (pack / "patch_a.py").write_bytes(NEW["patch_a.py"])
    (pack / ".patch_a.py.patchkit-old").write_bytes(OLD["patch_a.py"])


def test_what_an_earlier_version_has_left_is_in_nobodys_way(pack: Path) -> None:
    """A replacement that took no name yet is deleted, and the files are replaced."""
    (pack / ".patch_a.py.patchkit").write_bytes(b"half")
    assert is_unfinished([pack / "__init__.py"])
    replace_in(pack)
    assert contents(pack) == NEW
    assert not is_unfinished([pack / "__init__.py"])


def test_a_file_that_was_edited_since_is_not_given_back(pack: Path) -> None:
    """The error names both texts; if one of them is taken away, the other one stays."""
    half_replaced(pack)
    body = pack / "patch_a.py"
    body.write_bytes(b"edited")
    later = time.time_ns() + 10**9
    os.utime(body, ns=(later, later))
    with pytest.raises(ScaffoldError, match=r"patch_a\.py was edited .*\.patchkit-old"):
        recover([body])
    assert body.read_bytes() == b"edited"
    (pack / ".patch_a.py.patchkit-old").unlink()
    recover([body])
    assert contents(pack) == {**OLD, "patch_a.py": b"edited"}


def test_modes_and_links_stay(
    pack: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file keeps its mode, and of a link the file that it leads to is replaced."""
    body = pack / "patch_a.py"
    body.chmod(0o640)
    there = tmp_path_factory.mktemp("there") / "rows.py"
    (pack / "__init__.py").rename(there)
    (pack / "__init__.py").symlink_to(there)
    replace_in(pack)
    assert stat.S_IMODE(body.stat().st_mode) == 0o640
    assert (pack / "__init__.py").is_symlink()
    assert there.read_bytes() == NEW["__init__.py"]


def test_a_file_that_cannot_be_replaced_leaves_the_others(pack: Path) -> None:
    """The body was replaced by then, and gets back what it had."""
    (pack / "__init__.py").unlink()
    (pack / "__init__.py").mkdir()
    with pytest.raises(OSError, match=r"__init__\.py"):
        replace_in(pack)
    assert (pack / "patch_a.py").read_bytes() == OLD["patch_a.py"]
    assert not is_unfinished([pack / "patch_a.py"])


@pytest.mark.processes
def test_two_processes_replace_files_one_after_the_other(pack: Path) -> None:
    """While one of them has the lock of the folder, the other one waits, and then goes on."""
    folder = os.open(pack, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    child = os.fork()
    if not child:
        replace_in(pack)
        os._exit(0)
    time.sleep(0.2)
    assert contents(pack) == OLD
    fcntl.flock(folder, fcntl.LOCK_UN)
    assert os.waitpid(child, 0)[1] == 0
    os.close(folder)
    assert contents(pack) == NEW
