"""Where `patchkit run` keeps journals: a folder of the user's own, a folder in it for each run."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.status.node import writer

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT = 20


def new_run() -> Path:
    """Make the folder of a run, and delete those of old ones in which no process runs."""
    home = _home()
    if not _is_own(home):  # somebody else has taken the name
        return Path(tempfile.mkdtemp(prefix="patchkit-"))
    for old in list(_runs(home))[_KEPT - 1 :]:
        if not _is_running(old):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{datetime.now():%Y%m%d-%H%M%S-%f}-", dir=home))


def newest_run() -> Path | None:
    """Find the folder of the run that began last; None where there is none."""
    home = _home()
    return next(_runs(home), None) if _is_own(home, make=False) else None


def _home() -> Path:
    return Path(tempfile.gettempdir()) / f"patchkit-{os.getuid()}"


def _is_own(home: Path, *, make: bool = True) -> bool:
    """Whether it is a folder that nobody else can write to."""
    try:
        if make:
            home.mkdir(mode=0o700, exist_ok=True)
        facts = home.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(facts.st_mode)
        and facts.st_uid == os.getuid()
        and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _runs(home: Path) -> Iterator[Path]:
    yield from sorted(filter(Path.is_dir, home.iterdir()), reverse=True)


def _is_running(run: Path) -> bool:
    host = os.uname().nodename
    writers = (writer(file.name) for file in run.glob("*.jsonl"))
    return any(_is_alive(pid) for there, pid in writers if there == host and pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
