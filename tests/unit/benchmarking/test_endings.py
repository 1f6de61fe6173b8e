"""What a measurement has opened is closed, whatever ends its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

WORK = """
import asyncio, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from benchmarks.endings import in_order

def work(opened, closed):
    with in_order():
        try:
            open(opened, "w").close()
            asyncio.run(asyncio.sleep(60))
        finally:
            time.sleep(0.3)  # a server takes a while to end
            open(closed, "w").close()

if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(work, *sys.argv[1:]).result()
"""


def waits_for(path: Path) -> bool:
    """Whether a file is there within half a minute."""
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return path.exists()


@pytest.mark.parametrize(
    ("number", "is_group"),
    [
        (signal.SIGINT, True),
        (signal.SIGTERM, True),
        (signal.SIGTERM, False),
        (signal.SIGKILL, False),
    ],
)
def test_it_is_closed_by_whatever_signal(
    tmp_path: Path, number: signal.Signals, is_group: bool
) -> None:
    """Both processes get it, as of a terminal or `timeout`, or only the one that is known."""
    script = tmp_path / "work.py"
    script.write_text(WORK)
    opened, closed = tmp_path / "opened", tmp_path / "closed"
    with subprocess.Popen(
        [sys.executable, str(script), str(opened), str(closed)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert waits_for(opened)
        if is_group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        assert waits_for(closed)
        # Every process that could write to it has ended.
        process.communicate(timeout=30)
        assert process.returncode == -number
