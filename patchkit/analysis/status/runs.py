"""Keeps the folders of journals that `patchkit run` makes, and lists these runs."""

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from patchkit.analysis.status.node import contents, writer

_TO_KEEP = 20
"""How many runs keep their journals."""
_FACTS = "run.json"
"""The file of a run that says what was run, and when."""
_TIME = "%Y%m%d-%H%M%S"
_TIME_LENGTH = len("20261127-191545")


class Run(NamedTuple):
    """One `patchkit run` of this user.

    Args:
        number: Its place among the runs that are kept; 1 is the newest.
        name: A beginning of its folder's name that no other run's has.
        folder: The folder of its journals.
        started: When it was started, in seconds since the epoch; 0 where that is not known.
        command: What was run; empty where that is not known.
    """

    number: int
    name: str
    folder: Path
    started: float
    command: Sequence[str]

    @property
    def is_running(self) -> bool:
        """Whether a process that wrote a journal of the run is alive."""
        return _is_running(self.folder)


def new_run(command: Sequence[str]) -> Path:
    """Make the folder of a run, and delete those of old runs in which no process is alive.

    Args:
        command: What is run.

    Returns:
        The folder, which nobody else can write to.
    """
    home = _home()
    if not _is_own(home):  # somebody else has taken the name
        return Path(tempfile.mkdtemp(prefix="patchkit-"))
    for old in _folders(home)[_TO_KEEP - 1 :]:
        if not _is_running(old):
            shutil.rmtree(old, ignore_errors=True)
    moment = datetime.now()
    folder = Path(tempfile.mkdtemp(prefix=f"{moment:{_TIME}-%f}-", dir=home))
    facts = {"command": list(command), "started": moment.timestamp()}
    with suppress(OSError):  # the run itself may still have room for its journals
        (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
    return folder


def discard_run(folder: Path) -> None:
    """Remove the folder of a run unless there is a journal in it.

    Args:
        folder: The folder.
    """
    if any(folder.glob("*.jsonl")):
        return
    shutil.rmtree(folder, ignore_errors=True)


def all_runs() -> list[Run]:
    """Return the runs that are kept, the newest first."""
    home = _home()
    if not _is_own(home, make=False):
        return []
    folders = _folders(home)
    moments = [folder.name[:_TIME_LENGTH] for folder in folders]
    runs = []
    for number, folder in enumerate(folders, start=1):
        name = folder.name[:_TIME_LENGTH]
        if moments.count(name) > 1:
            name = folder.name
        facts = _facts(folder)
        started = facts.get("started")
        if not isinstance(started, float):
            started = _time_of_name(name)
        command = facts.get("command")
        if not isinstance(command, list):
            command = []
        runs.append(Run(number, name, folder, started, list(map(str, command))))
    return runs


def newest_holding(file: str) -> Path | None:
    """Return the folder of the newest run that has a file; None if there is none.

    Args:
        file: The name of the file.
    """
    for run in all_runs():
        if (run.folder / file).is_file():
            return run.folder
    return None


def find_run(text: str) -> Run | None:
    """Find a run by its number, or by a beginning of its folder's name that no other run's has.

    Args:
        text: The number or the name.

    Returns:
        The run; None if there is none, or more than one.
    """
    runs = all_runs()
    found = [run for run in runs if str(run.number) == text]
    if not found:
        found = [run for run in runs if run.folder.name.startswith(text)]
    if len(found) == 1:
        return found[0]
    return None


def run_in(folder: Path) -> Run | None:
    """Return the run whose journals are in a folder.

    Args:
        folder: The folder.

    Returns:
        The run; None if no `patchkit run` has made the folder.
    """
    path = folder.absolute()
    for run in all_runs():
        if run.folder == path:
            return run
    return None


def _facts(folder: Path) -> dict[str, Any]:
    """Read what a run says of itself; nothing where that is torn, or no file of this user's."""
    try:
        facts = json.loads(contents(folder / _FACTS))
    except (OSError, ValueError, RecursionError):
        return {}
    if isinstance(facts, dict):
        return facts
    return {}


def _time_of_name(name: str) -> float:
    with suppress(ValueError, OverflowError):
        moment = time.strptime(name[:_TIME_LENGTH], _TIME)
        return time.mktime(moment)
    return 0


def _home() -> Path:
    return Path(tempfile.gettempdir()) / f"patchkit-{os.getuid()}"


def _is_own(home: Path, *, make: bool = True) -> bool:
    """Whether a path is a folder that nobody else can write to; it is made if `make` says so."""
    try:
        if make:
            home.mkdir(mode=0o700, exist_ok=True)
        facts = home.lstat()
    except OSError:
        return False
    is_writable_by_others = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    is_folder = stat.S_ISDIR(facts.st_mode)
    return is_folder and facts.st_uid == os.getuid() and not is_writable_by_others


def _folders(home: Path) -> list[Path]:
    """List the folders of runs, whose names begin with the time: the latest first."""
    return sorted(filter(Path.is_dir, home.iterdir()), reverse=True)


def _is_running(run: Path) -> bool:
    local_host = os.uname().nodename
    for file in run.glob("*.jsonl"):
        host, pid = writer(file.name)
        if host == local_host and pid and _is_alive(pid):
            return True
    return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True
