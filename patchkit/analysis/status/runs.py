"""Makes, lists and deletes the folders in which `patchkit run` keeps the journals of a run."""

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
from patchkit.errors import SettingsError

_RUNS_KEPT = 20
"""How many runs are kept, the newest."""
_FACTS_FILE = "run.json"
"""The file in a run's folder with its command and time."""
_TIME = "%Y%m%d-%H%M%S"
_TIME_LENGTH = len("20261127-191545")


class Run(NamedTuple):
    """One `patchkit run` of this user.

    Args:
        number: Its position among the kept runs; 1 is the newest.
        name: The time in its folder's name; the whole name if another run has the same time.
        folder: The folder of its journals.
        started: When it was started, in seconds since the epoch; 0 if that is not known.
        command: The command that was run; empty if that is not known.
    """

    number: int
    name: str
    folder: Path
    started: float
    command: Sequence[str]

    @property
    def is_running(self) -> bool:
        """Whether a process that has written a journal of the run is alive."""
        return _is_running(self.folder)


def new_run(command: Sequence[str]) -> Path:
    """Make the folder of a run, and delete the folders of old runs that have ended.

    Args:
        command: The command that is run.

    Returns:
        The folder, to which no other user can write.

    Raises:
        SettingsError: No folder can be made, as in a container whose files are read-only.
    """
    try:
        return _make_folder(command)
    except OSError as error:
        raise SettingsError(
            f"no folder can be made for the journal of this run ({error.strerror}): set "
            "PATCHKIT_JOURNAL to a folder that can be written"
        ) from error


def _make_folder(command: Sequence[str]) -> Path:
    """Do what `new_run` does; OSError if no folder can be made."""
    home = _home()
    if not _is_own(home):  # another user has made it: the run gets a folder elsewhere
        return Path(tempfile.mkdtemp(prefix="patchkit-"))
    # One less than are kept, as the new run is one of them.
    for old in _folders(home)[_RUNS_KEPT - 1 :]:
        if not _is_running(old):
            shutil.rmtree(old, ignore_errors=True)
    moment = datetime.now()
    folder = Path(tempfile.mkdtemp(prefix=f"{moment:{_TIME}-%f}-", dir=home))
    facts = {"command": list(command), "started": moment.timestamp()}
    with suppress(OSError):  # without this file, `all_runs` shows less of the run
        (folder / _FACTS_FILE).write_text(json.dumps(facts), encoding="utf-8")
    return folder


def why_unwritable(folder: Path) -> str:
    """Say that no journal can be written to a folder, so that nobody knows what was patched.

    Args:
        folder: The folder; it is made if it is missing, as processes with patches do.

    Returns:
        The sentence; '' if journals can be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".tmp"):
            return ""
    except OSError as error:
        return (
            f"no journal can be written to {folder} ({error.strerror}): nobody can tell which "
            "processes were patched; name another folder in PATCHKIT_JOURNAL"
        )


def discard_run(folder: Path) -> None:
    """Delete the folder of a run unless there is a journal in it.

    A run in which no process had patchkit would only be one more in the list.

    Args:
        folder: The folder.
    """
    if any(folder.glob("*.jsonl")):
        return
    shutil.rmtree(folder, ignore_errors=True)


def all_runs() -> list[Run]:
    """Return the kept runs, the newest first."""
    try:
        home = _home()
    except FileNotFoundError:  # there is no folder for temporary files
        return []
    if not _is_own(home, make=False):
        return []
    folders = _folders(home)
    moments = [folder.name[:_TIME_LENGTH] for folder in folders]
    runs = []
    for number, folder in enumerate(folders, start=1):
        name = folder.name[:_TIME_LENGTH]
        if moments.count(name) > 1:  # two runs began in the same second
            name = folder.name
        facts = _facts(folder)
        # The file with the facts may be missing, or damaged.
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
    """Find a run by its number, or by the beginning of its folder's name.

    Args:
        text: The number, or the beginning.

    Returns:
        The run; None if no run matches, or several do.
    """
    runs = all_runs()
    found = [run for run in runs if str(run.number) == text]
    is_number = text.isdecimal() and len(text) < len("20260101")
    # A number without such a run finds nothing: "2" does not mean the beginning of "20260101-…".
    if not found and not is_number:
        found = [run for run in runs if run.folder.name.startswith(text)]
    if len(found) == 1:
        return found[0]
    return None


def run_in(folder: Path) -> Run | None:
    """Return the run whose journals are in a folder.

    Args:
        folder: The folder.

    Returns:
        The run; None if the folder is not that of a kept run.
    """
    path = folder.absolute()
    for run in all_runs():
        if run.folder == path:
            return run
    return None


def _facts(folder: Path) -> dict[str, Any]:
    """Read the command and start of a run; {} if the file is missing or damaged."""
    try:
        facts = json.loads(contents(folder / _FACTS_FILE))
    except (OSError, ValueError, RecursionError):
        return {}
    if isinstance(facts, dict):
        return facts
    return {}


def _time_of_name(name: str) -> float:
    """Return the time in the name of a folder, in seconds since the epoch; 0 if it has none."""
    with suppress(ValueError, OverflowError):
        return time.mktime(time.strptime(name[:_TIME_LENGTH], _TIME))
    return 0


def _home() -> Path:
    return Path(tempfile.gettempdir()) / f"patchkit-{os.getuid()}"


def _is_own(home: Path, *, make: bool = True) -> bool:
    """Whether a path is a folder to which no other user can write; with `make`, it is made.

    The path is in the folder of temporary files, where another user may have made it before.
    """
    try:
        if make:
            home.mkdir(mode=0o700, exist_ok=True)
        facts = home.lstat()  # a link, wherever it leads, is no folder
    except OSError:
        return False
    is_writable_by_others = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    is_own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
    return is_own and not is_writable_by_others


def _folders(home: Path) -> list[Path]:
    """List the folders of runs, the latest first: their names begin with the time."""
    return sorted(filter(Path.is_dir, home.iterdir()), reverse=True)


def _is_running(run: Path) -> bool:
    """Whether a process of this host that wrote a journal in a folder is alive."""
    local_host = os.uname().nodename
    for file in run.glob("*.jsonl"):
        host, pid = writer(file.name)  # the pid is 0 if the file is no journal
        if host == local_host and pid and _is_alive(pid):
            return True
    return False


def _is_alive(pid: int) -> bool:
    """Whether there is a process with a pid.

    For another user's process, `os.kill` raises PermissionError, which shows that it exists.
    """
    try:
        os.kill(pid, 0)  # signal 0 is never sent, only checked
    except OSError as error:
        return isinstance(error, PermissionError)
    return True
