"""Real SGLang on a CPU, with stand-ins for packages of GPUs: `make sglang` runs these tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit_lab.processes import Outcome

HERE = Path(__file__).resolve().parent
LAB = HERE.parents[1] / "examples" / "conformance"
SECONDS = 240.0


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


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The variables of a run whose journals and calls are in a folder."""
    for name in ("journal", "calls"):
        (folder / name).mkdir(exist_ok=True)
    own = {
        "PYTHONPATH": str(HERE),
        "SGLANG_USE_CPU_ENGINE": "1",
        "PATCHKIT_JOURNAL": str(folder / "journal"),
        "PATCHKIT_PATCHES": "rows_of_sglang",
        "ROWS_OF_SGLANG": str(folder / "calls"),
    }
    return processes.environment(own, variables)
