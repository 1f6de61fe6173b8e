"""Start `vllm serve`, send it a request over HTTP, and stop it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from patchkit_lab import cluster, processes
from patchkit_lab.generate import PROMPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

STOP_SECONDS = 120.0
AT_A_TIME = 8


def ask(
    command: Sequence[str],
    model: Path,
    env: Mapping[str, str],
    log: Path,
    *,
    enough: Callable[[], bool] = lambda: True,
    timeout: float = 600,
) -> list[list[int]]:
    """Run a command line that serves the model; return the tokens of every answer.

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
    with running(command, env, log, timeout) as address:
        return list(_answers(address, model, enough, timeout))


@contextlib.contextmanager
def running(
    command: Sequence[str], env: Mapping[str, str], log: Path, timeout: float = 600
) -> Iterator[str]:
    """Run a command line that serves until the end of the block; give its address.

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
        yield address
    except (OSError, TimeoutError) as error:
        raise RuntimeError(
            f"{error}\n{processes.last_lines(log.read_text(), 40)}"
        ) from error
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
    with urllib.request.urlopen(_request(address, model), timeout=300) as answer:
        return list(json.load(answer)["choices"][0]["token_ids"])


def stream(address: str, model: Path) -> list[list[int]]:
    """A hundred tokens as they come, in chunks; of a few, a busy server makes a single chunk."""
    request = _request(address, model, stream=True, max_tokens=100, ignore_eos=True)
    with urllib.request.urlopen(request, timeout=300) as answer:
        events = [
            line[6:]
            for line in answer.read().splitlines()
            if line.startswith(b"data: {")
        ]
    chunks = [
        choice["token_ids"]
        for event in events
        for choice in json.loads(event)["choices"]
    ]
    return [list(chunk) for chunk in chunks if chunk]


def _request(address: str, model: Path, **more: object) -> urllib.request.Request:
    body = {
        "model": str(model),
        "prompt": PROMPT,
        "max_tokens": 8,
        "temperature": 0,
        "return_token_ids": True,
        **more,
    }
    return urllib.request.Request(
        f"{address}/v1/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )


def command_line(python: Path, model: Path, *arguments: str) -> list[str]:
    """The command line of `vllm serve` for the tiny model, as `generate.py` makes its engine."""
    words = [str(python.with_name("vllm")), "serve", str(model), "--enforce-eager"]
    return [*words, "--max-model-len", "128", "--dtype", "float32", *arguments]


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
    """Write metadata of a distribution `vllm` into a folder of the path.

    The command `vllm` asks for its version under that name, which a build for CPU does not have.
    """
    place = directory / f"vllm-{version}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
    )
