"""Ctrl-C ends a command that waits for a server which does not answer any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from support.packages import row, world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.packages import World

__all__ = ["world"]
pytestmark = pytest.mark.processes

PAGE = "".join(
    f'<a href="up-1.{number}-py3-none-any.whl">up</a>\n' for number in range(12)
)

PROGRAM = """
import signal, sys
from patchkit.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
sys.exit(main())
"""


class SilentServer(ThreadingHTTPServer):
    """An index that lists wheels, and never answers who asks for one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_asked = threading.Event()
        self.is_over = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: SilentServer

    def do_GET(self) -> None:
        if self.path.endswith(".whl"):
            self.server.is_asked.set()
            self.server.is_over.wait()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[SilentServer]:
    """A server that runs for the time of a test."""
    with SilentServer() as silent:
        threading.Thread(target=silent.serve_forever, daemon=True).start()
        yield silent
        silent.is_over.set()
        silent.shutdown()


def test_an_interrupted_check_waits_for_no_server(
    world: World, server: SilentServer
) -> None:
    """It ends within seconds, though the server has a minute to answer."""
    changes = "Wrap('up.mod:f', by='w')"
    world.pack(row("p", "patch_a", changes), patch_a="def w(*args): ...\n")
    command = ["check", "--patches", "pack", "--releases", "up>=1"]
    settings = {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/",
        "PIP_DEFAULT_TIMEOUT": "60",
        "PYTHONPATH": os.pathsep.join([str(world.folder), *sys.path]),
        "XDG_CACHE_HOME": str(world.folder / "cache"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *command],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings},
    )
    assert server.is_asked.wait(30)
    time.sleep(1)  # until several threads wait
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted" in said
    assert time.monotonic() - began < 20
