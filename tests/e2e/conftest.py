"""Real vLLM, real Ray, simulated NPUs. Run it with the environment that `make e2e` makes.

Two files of tests run at a time, each engine in processes of its own, with its logs in pytest's
directory.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from patchkit_lab import cluster, scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

# Files that take minutes, the longest first: workers that begin with them end together.
LONG = (
    "test_ways_in.py",
    "test_lanes.py",
    "test_docs_pages.py",
    "test_two_nodes.py",
    "test_serve_llm.py",
    "test_data_llm.py",
    "test_watch_workflows.py",
    "test_old_ray.py",
    "test_adopt_piles.py",
    "test_rows.py",
    "test_swallowed.py",
    "test_compile_cache.py",
    "test_probe.py",
    "test_status_ray.py",
    "test_processes.py",
    "test_drift.py",
    "test_guide.py",
    "test_cpu_ray.py",
    "test_real_torch_npu.py",
    "test_tutorial.py",
    "test_old_releases.py",
    "test_outsider_pack.py",
    "test_flagship.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""
    items.sort(
        key=lambda item: (
            LONG.index(name) if (name := item.path.name) in LONG else len(LONG)
        )
    )


@pytest.fixture(scope="session")
def python() -> Path:
    """The Python that holds vLLM 0.32.0: the one that runs the tests."""
    return Path(sys.executable)


@pytest.fixture(scope="session")
def model(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Llama."""
    return scenario.make_model(python, tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="session")
def baseline(python: Path, model: Path) -> list[int]:
    """The tokens of plain vLLM on the CPU, everything in one process."""
    log = model.with_name("baseline.log")
    outcome = scenario.generate(
        python, model, log, "--executor", "uni", env=scenario.SINGLE
    )
    return scenario.report(outcome).tokens


@pytest.fixture(scope="session")
def ray(python: Path) -> Iterator[cluster.Cluster]:
    """A Ray of our own with two simulated NPUs, whose workers never heard of patchkit."""
    with cluster.started(python, scenario.MACHINE) as one:
        yield one
