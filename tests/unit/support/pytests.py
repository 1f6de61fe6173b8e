"""A Python that has imported pytest, and forks for every run: what a process is, for less."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.packages import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A child has what `python -m pytest` has: nothing of patchkit or of plugins was imported before.
SERVER = f"""
import gc, importlib, json, os, signal, sys
import pytest, _pytest.config
for name in _pytest.config.default_plugins:
    importlib.import_module(f"_pytest.{{name}}")
gc.freeze()  # what pytest collects at its end is only the run's
for line in sys.stdin:
    words, folder, environ, said = json.loads(line)
    if (pid := os.fork()) == 0:
        signal.alarm({TIMEOUT})
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        sys.path[1:1] = environ["PYTHONPATH"].split(os.pathsep)
        sys.argv = ["pytest", *words]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        sys.exit(pytest.main(words))
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Pytests:
    """Runs pytest in processes of their own.

    Args:
        server: a Python that executes SERVER.
        output: the file that a run writes to.
    """

    def __init__(self, server: subprocess.Popen[str], output: Path) -> None:
        self.server = server
        self.output = output

    def run(
        self, words: tuple[str, ...], folder: Path, environ: dict[str, str]
    ) -> tuple[int, str]:
        """Return the exit code, and what stands on stdout and stderr."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        order = [words, str(folder), environ, str(self.output)]
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        code = int(self.server.stdout.readline())
        return code, self.output.read_text()


@pytest.fixture(scope="session")
def pytests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pytests]:
    """One for all tests; it imports pytest once."""
    folder = tmp_path_factory.mktemp("pytests")
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield Pytests(server, folder / "output")
