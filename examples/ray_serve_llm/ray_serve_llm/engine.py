"""A `vllm serve` that ends with the process that started it, reached by a Unix socket."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from . import guard

if TYPE_CHECKING:
    from collections.abc import Sequence

POLL_SECONDS = 0.2
TAIL_LINES = 30


class EngineError(RuntimeError):
    """The engine ended, or does not answer."""


class Engine:
    """One `vllm serve`.

    Args:
        arguments: of its command line, the model first.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        # Not under Ray's own directory: a Unix socket's path may have 107 characters.
        directory = tempfile.mkdtemp(prefix="vllm-serve-")
        self.socket = str(Path(directory, "socket"))
        serve = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", *arguments]
        self._guard = subprocess.Popen(
            [sys.executable, guard.__file__, directory, *serve, "--uds", self.socket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._guard.wait()  # it goes on as nobody's child
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._output = threading.Thread(target=self._relay, daemon=True)
        self._output.start()

    def _relay(self) -> None:
        """Pass on what the engine says, to the log of this process."""
        assert self._guard.stdout is not None
        for line in self._guard.stdout:
            text = line.decode(errors="replace")
            sys.stderr.write(text)
            self._tail.append(text)

    async def ready(self, session: aiohttp.ClientSession) -> None:
        """Wait until it answers; raises EngineError where it ends instead."""
        while True:
            try:
                return await self.check(session)
            except EngineError:
                if not self._output.is_alive():
                    raise
                await asyncio.sleep(POLL_SECONDS)

    async def check(self, session: aiohttp.ClientSession) -> None:
        """Ask it whether it is well; raises EngineError where not, with what it said last."""
        try:
            async with session.get("/health") as answer:
                found = f"status {answer.status}"
                if answer.ok:
                    return
        except aiohttp.ClientError as error:
            found = str(error)
        said = "".join(self._tail)
        raise EngineError(
            f"vllm serve is not well: found {found}, expected status 200\n{said}"
        )

    def stop(self) -> None:
        """End it, and return when all its processes have ended."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._output.join(guard.GRACE_SECONDS + 5)
