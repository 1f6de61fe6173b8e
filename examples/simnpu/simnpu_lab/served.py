"""Start `vllm serve`, send it a request over HTTP, and stop it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from simnpu_lab import cluster, processes
from simnpu_lab.generate import PROMPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

STOP_SECONDS = 20.0
AT_A_TIME = 8


def ask(
    command: Sequence[str],
    model: Path,
    env: Mapping[str, str],
    log: Path,
    *,
    enough: Callable[[], bool] = lambda: True,
    timeout: float = 240,
) -> list[list[int]]:
    """
    Run a command line that serves the model; return the tokens of every answer.

    Args:
        command: without the address, which is added.
        model: to ask for.
        env: of the server.
        log: what the server says.
        enough: asked after every round of requests; where several processes serve, nobody knows
            which of them answers.
        timeout: seconds to wait for the server, and then until it is enough.

    Raises:
        RuntimeError: it ended, or did not answer in time; the message holds the end of its log.

    """
    port = cluster.free_ports(1)[0]
    address = f"http://{cluster.HOST}:{port}"
    where = ["--host", cluster.HOST, "--port", str(port)]
    with log.open("wb") as file:
        server = subprocess.Popen(
            [*command, *where],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        await_health(server, address, timeout)
        return list(_answers(address, model, enough, timeout))
    except (OSError, TimeoutError) as error:
        raise RuntimeError(f"{error}\n{processes.last_lines(log.read_text(), 40)}") from error
    finally:
        stop(server)


def await_health(server: subprocess.Popen[bytes], address: str, timeout: float) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise OSError(f"the server ended with exit {server.returncode}")
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"the server did not answer in {timeout:.0f} s")


def _answers(
    address: str, model: Path, enough: Callable[[], bool], timeout: float
) -> Iterator[list[int]]:
    """One request, then as many at a time as keep several servers busy."""
    yield complete(address, model)
    deadline = time.monotonic() + timeout
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        while not enough():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the requests were not enough in {timeout:.0f} s")
            yield from pool.map(complete, [address] * AT_A_TIME, [model] * AT_A_TIME)


def complete(address: str, model: Path) -> list[int]:
    """One completion, as a client would ask for it."""
    body = {
        "model": str(model),
        "prompt": PROMPT,
        "max_tokens": 8,
        "temperature": 0,
        "return_token_ids": True,
    }
    request = urllib.request.Request(
        f"{address}/v1/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return list(json.load(answer)["choices"][0]["token_ids"])


def stop(server: subprocess.Popen[bytes]) -> None:
    """Ask the server to stop, as an orchestrator does, then end what is left of its group."""
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        processes.end_group(server)


def describe(directory: Path, version: str) -> None:
    """
    Write metadata of a distribution `vllm` into a folder of the path.

    The command `vllm` asks for its version under that name, which a build for CPU does not have.
    """
    place = directory / f"vllm-{version}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
