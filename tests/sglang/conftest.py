"""Real SGLang on a CPU, with stand-ins for packages of GPUs: `make sglang` runs these tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes
from sglang_runs import LAB, SECONDS, environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from patchkit_lab.processes import Outcome


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Llama."""
    folder = tmp_path_factory.mktemp("llama")
    command = [sys.executable, "-m", "patchkit_lab.make_model", str(folder)]
    env = processes.environment({"PYTHONPATH": str(LAB), "PATCHKIT": "0"})
    done = processes.run(command, env, SECONDS, folder.with_suffix(".log"))
    assert done.status == 0, done.tail()
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Outcome]:
    """Runs a command with rows of a pack, journals in `tmp_path/journal`, calls in `calls`."""

    def start(*command: str, **variables: str) -> Outcome:
        return processes.run(
            command, environment(tmp_path, **variables), SECONDS, tmp_path / "log"
        )

    return start
