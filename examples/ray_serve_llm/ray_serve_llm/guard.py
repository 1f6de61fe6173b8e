"""Run a command for as long as its owner lives: `python guard.py DIRECTORY COMMAND…`.

The owner holds the other end of standard input, which closes when the owner ends, however it
ends. Then the command and all of its process group end, and the directory is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading

GRACE_SECONDS = 10.0


def end(group: int, number: signal.Signals) -> None:
    """Signal a process group, which may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def end_with_owner(server: subprocess.Popen[bytes]) -> None:
    """Wait for the owner's end; ask the command to stop, then make it."""
    sys.stdin.buffer.read()
    end(server.pid, signal.SIGTERM)
    try:
        server.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        end(server.pid, signal.SIGKILL)


def main(directory: str, *command: str) -> None:
    """Run the command."""
    # When a worker process of Ray ends, Ray kills its children, but not their children: this one
    # must be nobody's child, or it could not end the command.
    if os.fork():
        os._exit(0)
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=end_with_owner, args=(server,), daemon=True).start()
    status = server.wait()
    end(server.pid, signal.SIGKILL)
    shutil.rmtree(directory, ignore_errors=True)
    print(f"vllm serve ended with exit code {status}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
