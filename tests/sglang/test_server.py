from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from patchkit_lab import processes
from sglang_runs import PROMPT, SAMPLING, SECONDS, environment
from test_engine import SCHEDULER, called, in_effect, status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPTIONS = (
    *("--device", "cpu", "--attention-backend", "torch_native", "--dtype", "float32"),
    *("--disable-cuda-graph", "--disable-radix-cache", "--skip-server-warmup"),
    *("--mem-fraction-static", "0.05", "--max-total-tokens", "2048"),
)
REQUESTS = 50


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def server(model: Path, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server under `patchkit run`, once it answers; its process group ends with the block."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "patchkit", "run", "--", sys.executable]
    launch = ["-m", "sglang.launch_server", "--model-path", str(model), *OPTIONS]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *launch, "--port", str(port)],
            env=environment(folder),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            await_health(url, process, folder / "log")
            yield process, url
        finally:
            processes.end_group(process)


def await_health(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=10)
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return
    raise AssertionError(processes.last_lines(log.read_text(errors="replace"), 40))


def streamed(url: str) -> list[int]:
    """The tokens of one request, whose answer comes in parts."""
    body = {"text": PROMPT, "sampling_params": SAMPLING, "stream": True}
    request = urllib.request.Request(
        f"{url}/generate",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    ids: list[int] = []
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        for line in answer:
            text = line.decode().removeprefix("data: ").strip()
            if text and text != "[DONE]":
                ids = json.loads(text)["output_ids"]
    return ids


def test_fifty_streams_and_a_scheduler_that_is_killed(
    model: Path, tmp_path: Path
) -> None:
    """Every stream has the same tokens; a killed scheduler ends the server, and status tells it."""
    with server(model, tmp_path) as (process, url):
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(streamed, [url] * REQUESTS))
        assert len(answers[0]) == SAMPLING["max_new_tokens"]
        assert answers == answers[:1] * REQUESTS
        deadline = time.monotonic() + 30
        while len(in_effect(status(tmp_path))) < 4 and time.monotonic() < deadline:
            streamed(url)
        picture = status(tmp_path)
        assert in_effect(picture)["scheduler"] == [SCHEDULER]
        assert in_effect(picture)["detokenizer"] == [["main"]]
        (scheduler,) = called(tmp_path)["run_batch"]
        os.kill(scheduler, signal.SIGKILL)
        assert process.wait(60) != 0
    ended = {one["pid"]: one["alive"] for one in status(tmp_path)["processes"]}
    assert ended[scheduler] is False
