"""Lets SGLang generate tokens for `module_roles.py`, by `engine MODEL` or by `server MODEL`.

The server is a child of this process; both ways of use get the same requests.
"""

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
from typing import Any

OPTIONS: dict[str, Any] = {
    "device": "cpu",
    "attention_backend": "torch_native",
    "dtype": "float32",
    "disable_cuda_graph": True,
    "skip_server_warmup": True,
    "mem_fraction_static": 0.05,
    "max_total_tokens": 2048,
}
PROMPT = "hello world the quick"
SAMPLINGS: tuple[dict[str, Any], ...] = (
    {"temperature": 0, "max_new_tokens": 8},
    {"temperature": 0.7, "top_p": 0.9, "max_new_tokens": 8, "n": 2},
)
SECONDS = 900


def engine(model: str) -> None:
    """Generate by an engine in this process."""
    import sglang  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - the client needs none

    started = sglang.Engine(model_path=model, **OPTIONS)
    for sampling in SAMPLINGS:
        started.generate([PROMPT, "hello"], sampling, return_logprob=True)
    for _part in started.generate(PROMPT, SAMPLINGS[0], stream=True):
        pass
    started.shutdown()


def server(model: str) -> None:
    """Generate by a server, and end it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", model]
    for name, value in OPTIONS.items():
        command.append(f"--{name.replace('_', '-')}")
        if value is not True:
            command.append(str(value))
    process = subprocess.Popen([*command, "--port", str(port)])
    url = f"http://127.0.0.1:{port}"
    try:
        await_health(url, process)
        for sampling in SAMPLINGS:
            for is_streamed in (False, True):
                body = {"text": PROMPT, "sampling_params": sampling}
                post(f"{url}/generate", {**body, "stream": is_streamed})
        completion = {"model": "default", "prompt": PROMPT, "max_tokens": 4}
        post(f"{url}/v1/completions", completion)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def await_health(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=30)
        except (urllib.error.URLError, OSError):
            time.sleep(1)
        else:
            return
    raise SystemExit("the server does not answer")


def post(url: str, body: dict[str, Any]) -> None:
    """Send a request, and read its answer."""
    content = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data=content, headers=headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        answer.read()


if __name__ == "__main__":
    os.environ["SGLANG_USE_CPU_ENGINE"] = "1"
    ways = {"engine": engine, "server": server}
    ways[sys.argv[1]](sys.argv[2])
