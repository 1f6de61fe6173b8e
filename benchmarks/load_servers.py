"""Servers of vLLM for a measurement: one with a pack, one without, and the memory of each."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit_lab import cluster, processes, scenario, served

from benchmarks.load_rows import PACK

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).resolve().parents[1]
_PYTHON = Path(sys.executable)
_START_SECONDS = 600.0
_OPTIONS = (
    # A process for the engine core and one for the worker, beside the one that serves.
    *("--distributed-executor-backend", "mp"),
    # Twice what 64 streams hold: of a large cache, new pages would be touched for minutes.
    *("--num-gpu-blocks-override", "128"),
)
_ENGINE = {
    **scenario.VLLM,
    "VLLM_PLUGINS": "",
    "OMP_NUM_THREADS": "1",  # threads that wait for work burn processor time
    "PYTHONHASHSEED": "0",  # so that both servers order what they hash alike
    # Of 1,024 shapes of matrices, which come up for minutes; each takes half a megabyte.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64",
}


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Args:
        address: as `http://host:port`.
        session: the process that leads the session that all its processes are in.
        log: what they have written.
        journal: the folder of its journals; None if it is not patched.
        memory: bytes of its processes, after each load.
        journals: bytes of its journals, after each load.
    """

    address: str
    session: int
    log: Path
    journal: Path | None = None
    memory: list[int] = field(default_factory=list)
    journals: list[int] = field(default_factory=list)

    def measure(self) -> None:
        """Note how much memory its processes have now, and how large its journals are."""
        self.memory.append(memory_of_session(self.session))
        if self.journal is not None:
            self.journals.append(sum(sizes_in(self.journal)))

    def last_words(self) -> str:
        """Return the end of its log, for an error."""
        return processes.last_lines(self.log.read_text(errors="replace"), 40)


def prepare(place: Path) -> Path:
    """Make the model, and the metadata that the command `vllm` needs; return where the model is.

    Args:
        place: a folder, which is on the path of the servers.

    Raises:
        RuntimeError: the model could not be made.
    """
    served.describe(place, "0.32.0+cpu")
    return scenario.make_model(_PYTHON, place)


@contextlib.contextmanager
def running(place: Path, model: Path, *, with_patches: bool) -> Iterator[Server]:
    """Run a server in a session of its own; all its processes end with the block.

    Args:
        place: the folder of the pack, for the log and, with patches, for the journals.
        model: what it serves.
        with_patches: whether it is started by `patchkit run`, or knows nothing of patchkit.

    Raises:
        RuntimeError: it ended, or did not answer in time; the message holds the end of its log.
    """
    port = str(cluster.free_ports(1)[0])
    address = f"http://{cluster.HOST}:{port}"
    log = place / ("patched.log" if with_patches else "plain.log")
    journal = place / "journal" if with_patches else None
    command = served.command_line(_PYTHON, model, *_OPTIONS)
    if with_patches:
        command = [str(_PYTHON), "-m", "patchkit", "run", "--", *command]
    with log.open("wb") as file:
        leader = subprocess.Popen(
            [*command, "--host", cluster.HOST, "--port", port],
            env=_environment(place, journal),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(address, leader.pid, log, journal)
    try:
        try:
            served.await_health(leader, address, _START_SECONDS)
        except (OSError, TimeoutError) as error:
            raise RuntimeError(f"{error}\n{server.last_words()}") from error
        yield server
    finally:
        served.stop(leader)


def _environment(place: Path, journal: Path | None) -> dict[str, str]:
    """Return the environment of a server; without a journal, it is one without patchkit."""
    settings = {"PATCHKIT": "0"}
    if journal is not None:
        settings = {"PATCHKIT_PATCHES": PACK, "PATCHKIT_JOURNAL": str(journal)}
    path = {"PYTHONPATH": os.pathsep.join([str(place), str(_ROOT)])}
    return processes.environment(_ENGINE, path, settings)


def status_of(journal: Path) -> dict[str, Any]:
    """Return what `patchkit status --format json` says of journals.

    Raises:
        RuntimeError: it says nothing.
    """
    done = subprocess.run(
        [str(_PYTHON), "-m", "patchkit", "status", "--format", "json", str(journal)],
        env=processes.environment({"PYTHONPATH": str(_ROOT)}),
        check=False,
        text=True,
        capture_output=True,
    )
    if done.returncode not in {0, 1}:  # 1 only says that there are findings
        raise RuntimeError(f"patchkit status failed: {done.stderr[-2000:]}")
    picture: dict[str, Any] = json.loads(done.stdout)
    return picture


def memory_of_session(leader: int) -> int:
    """Add up the memory of all processes of a session that is theirs and not a file's.

    What forked processes share is divided among them.

    Args:
        leader: the pid of the process that leads the session.

    Returns:
        Bytes.
    """
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if session_in((folder / "stat").read_text()) == leader:
                total += anonymous_in((folder / "smaps_rollup").read_text())
    return total


def session_in(stat: str) -> int:
    """Read the session of a process from its /proc/PID/stat."""
    # The name of the program is in parentheses, and may have blanks.
    return int(stat.rpartition(")")[2].split()[3])


def anonymous_in(rollup: str) -> int:
    """Read the bytes of its own memory that a process has, from its /proc/PID/smaps_rollup.

    Args:
        rollup: the text of the file; a process that has just ended has none.
    """
    for line in rollup.splitlines():
        name, _, amount = line.partition(":")
        if name == "Pss_Anon":
            return int(amount.split()[0]) * 1024
    return 0


def sizes_in(folder: Path) -> list[int]:
    """Return the sizes of the files of a folder, in bytes."""
    return [file.stat().st_size for file in folder.iterdir()]
