"""Run the scripts of this package in processes of their own, on the simulated machine."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit_lab import processes

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent

VLLM = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    # Releases up to 0.9.2 call it otherwise: their environments come with the variable.
    "VLLM_CPU_OMP_THREADS_BIND": os.environ.get("VLLM_CPU_OMP_THREADS_BIND", "nobind"),
    "VLLM_NO_USAGE_STATS": "1",
    # The script asks its workers where they are, with a function of its own.
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""A small vLLM on any machine."""

MACHINE = {"SIMNPU": "1", "VLLM_PLUGINS": "simnpu", "RAY_AUTH_MODE": "disabled", **VLLM}
"""
The simulated machine, for drivers and Ray alike.

`VLLM_PLUGINS` keeps every other installed plugin out, patchkit's included: what reaches a process
must have reached it from the driver.
"""

SINGLE = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_PLUGINS": "", **VLLM}
"""Plain CPU, everything in one process: the baseline."""

CPU = {"VLLM_PLUGINS": "", "RAY_AUTH_MODE": "disabled", **VLLM}
"""Plain CPU, for drivers and Ray alike: no plugin, so no simulated platform."""

CPU_RAY = {"PATCHKIT_CPU_RAY": "1"}
"""What asks patchkit to let vLLM for CPUs run on Ray."""

CPU_RAY_ERROR = "current platform cpu does not support ray"
"""What vLLM for CPUs says of Ray otherwise."""


@dataclass(frozen=True)
class Scenario:
    """One way to run vLLM.

    Args:
        title: for people.
        arguments: of the generating script.
        settings: environment beside the machine's.
        ray: whether it needs a cluster, and its workers are Ray's.
        workers: how many there are.
    """

    title: str
    arguments: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    ray: bool = True
    workers: int = 2


@dataclass(frozen=True)
class Worker:
    """One worker's process, whether Ray started it, and for which of its executors."""

    pid: int
    ray: bool
    executor: str


@dataclass(frozen=True)
class Report:
    """What a run says of itself: its tokens, its main process, its workers."""

    tokens: list[int]
    main: int
    workers: list[Worker]


RAY = ("--executor", "ray", "--tensor-parallel", "2")
SCENARIOS = {
    "ray-v2": Scenario("Ray executor, two workers", RAY),
    "ray-v1": Scenario(
        "Ray executor V1, two workers", RAY, {"VLLM_USE_RAY_V2_EXECUTOR_BACKEND": "0"}
    ),
    "mp-spawn": Scenario(
        "multiprocess executor, engine core spawned",
        ("--executor", "mp"),
        {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"},
        ray=False,
        workers=1,
    ),
}

BACKEND = {"PATCHKIT_DEVICE_BACKEND": "torch_simnpu"}
"""Which module patchkit's flagship patch imports; on a real machine it is torch_npu."""

DEVICE_STRING_ERROR = "device type at start of device string: npu"
"""The end of what torch says of a device whose backend nobody has imported."""


def make_model(python: Path, directory: Path) -> Path:
    """Write the tiny model; return where."""
    model = directory / "model"
    command = [str(python), str(HERE / "make_model.py"), str(model)]
    outcome = processes.run(
        command, processes.environment(VLLM), 600, directory / "model.log"
    )
    if outcome.status != 0:
        raise RuntimeError(f"the tiny model was not made {outcome.tail()}")
    return model


def generate(
    python: Path,
    model: Path,
    log: Path,
    *arguments: str,
    env: Mapping[str, str],
    timeout: float = 600,
) -> processes.Outcome:
    """Run the generating script."""
    command = [str(python), str(HERE / "generate.py"), str(model), *arguments]
    return processes.run(command, processes.environment(env), timeout, log)


def report(outcome: processes.Outcome) -> Report:
    """What a run that generated says.

    Raises:
        RuntimeError: the run did not get that far; the message holds the end of its log.
    """
    said = outcome.said("tokens")
    if outcome.status != 0 or said is None:
        raise RuntimeError(f"no tokens {outcome.tail()}")
    workers = [Worker(**worker) for worker in said["workers"]]
    return Report(said["tokens"], said["main"], workers)


def error_line(outcome: processes.Outcome) -> str | None:
    """The first line that holds torch's complaint, if any does."""
    lines = outcome.output.splitlines()
    return next((line for line in lines if DEVICE_STRING_ERROR in line), None)
