"""Run a command in a session of its own, for so long and no longer, and leave nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Settings of the caller's own that must not decide a scenario. Without byte code every process
# would compile some thousand modules anew.
FOREIGN = (
    "PATCHKIT",
    "VLLM_",
    "RAY_",
    "SIMNPU",
    "LAB_",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH",
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    Args:
        status: exit status; None when its time was over.
        output: what it wrote, both streams together.
        seconds: how long it took.
    """

    status: int | None
    output: str
    seconds: float

    def tail(self, lines: int = 40) -> str:
        """The end of the output, headed by how the command ended."""
        ended = "its time was over" if self.status is None else f"exit {self.status}"
        return f"({ended} after {self.seconds:.0f} s)\n" + last_lines(
            self.output, lines
        )

    def said(self, key: str) -> dict[str, Any] | None:
        """What it printed last of the JSON objects that begin with a key; None where nothing.

        It need not begin its line: what Ray shows of its workers may stand before it.
        """
        at = self.output.rfind(f'{{"{key}"')
        return (
            None if at < 0 else dict(json.JSONDecoder().raw_decode(self.output, at)[0])
        )


def last_lines(text: str, count: int) -> str:
    """The end of a log."""
    return "\n".join(text.splitlines()[-count:])


def environment(*layers: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what is foreign to a scenario, then the layers."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(FOREIGN)
    }
    for layer in layers:
        kept.update(layer)
    return kept


def run(
    command: Sequence[str],
    env: Mapping[str, str],
    timeout: float,
    log: Path,
    *,
    leave: bool = False,
    folder: Path | None = None,
) -> Outcome:
    """Run a command with its output in a file; its process group does not outlive it, or may."""
    began = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            env=dict(env),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if not leave or process.returncode != 0:
                end_group(process)
    return Outcome(status, log.read_text(errors="replace"), time.monotonic() - began)


def end_group(leader: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a command's process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()


def end(pids: Iterable[int], patience: float = 5.0) -> None:
    """Ask processes to stop, then make them."""
    wanted = set(pids)
    send(wanted, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while any(map(alive, wanted)) and time.monotonic() < deadline:
        time.sleep(0.1)
    send(filter(alive, wanted), signal.SIGKILL)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes, some of which may be gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def marked(marker: str) -> set[int]:
    """Processes that carry a marker in their environment or arguments, and all they started.

    Both are asked, because a process that sets its title may overwrite either.
    """
    running = {
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()
    }
    parents = {pid: parent_of(pid) for pid in running}
    found = {pid for pid in running if carries(pid, marker)} - {os.getpid()}
    while True:
        children = {pid for pid, parent in parents.items() if parent in found} - found
        if not children:
            return found
        found |= children


def carries(pid: int, marker: str) -> bool:
    """Whether a process's environment or arguments hold the marker."""
    for name in ("environ", "cmdline"):
        with contextlib.suppress(OSError):
            if marker.encode() in Path(f"/proc/{pid}/{name}").read_bytes():
                return True
    return False


def parent_of(pid: int) -> int:
    """The process that started another; 0 when that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
