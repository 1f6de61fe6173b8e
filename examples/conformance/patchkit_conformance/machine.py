"""The machine: what vLLM finds on it, which versions it has, how engines are run on it."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit_lab import processes, scenario

from patchkit_conformance import command, release
from patchkit_conformance.results import ConformanceError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBE = Path(__file__).with_name("probe.py")
SIMULATION = "simnpu_rows"
"""The pack of what the simulated machine needs from vLLM, in `examples/simnpu`."""


@dataclass(frozen=True)
class Machine:
    """How engines are run here.

    Args:
        simulated: whether the NPUs are pretended.
        kind: the platform's device type: `npu`, `cuda`, `cpu`, …
        devices: how many there are.
        settings: environment of every vLLM and of Ray.
        armed: environment of a vLLM with patchkit, beside that.
        single: environment of the baseline.
        simulation: rows that only the simulation needs, `row` and `why`.
    """

    simulated: bool
    kind: str
    devices: int
    settings: Mapping[str, str]
    armed: Mapping[str, str]
    single: Mapping[str, str]
    facts: Mapping[str, str | int] = field(default_factory=dict)
    simulation: tuple[Mapping[str, str], ...] = ()

    @property
    def dtype(self) -> str:
        """Of the model's weights: bfloat16 may kill a CPU that lists AMX."""
        return "float32" if self.simulated or self.kind == "cpu" else "auto"

    @property
    def resources(self) -> int:
        """How many NPUs Ray is told of; it finds real devices by itself."""
        return self.devices if self.simulated else 0

    @property
    def applying(self) -> Mapping[str, str]:
        """Of the process that applies rows: on plain CPU those for CPUs are for here too."""
        simulated = {**scenario.CPU, **scenario.BACKEND, **scenario.CPU_RAY}
        return simulated if self.simulated else self.settings

    @property
    def bare(self) -> dict[str, str]:
        """What switches patchkit off, all but the simulation's own rows."""
        names = ",".join(row["row"] for row in self.simulation)
        return {**self.armed, "PATCHKIT_ONLY": names} if names else {"PATCHKIT": "0"}


def simulated(more: Mapping[str, str]) -> Machine:
    """Two simulated NPUs (see `examples/simnpu`)."""
    if util.find_spec("simnpu_platform") is None:
        raise ConformanceError(
            "--simulated needs examples/simnpu, which is not installed here"
        )
    armed = {**scenario.BACKEND, "PATCHKIT_PATCHES": SIMULATION}
    more = {**release.settings(), **more}
    settings = {**scenario.MACHINE, **more}
    rows = selected({**settings, **armed}, SIMULATION)
    facts = {"platform": "npu (simulated)", "devices": "2 simulated NPUs", **hardware()}
    single = {**scenario.SINGLE, **more}
    return Machine(True, "npu", 2, settings, armed, single, facts, tuple(rows))


def real(more: Mapping[str, str], log: Path) -> Machine:
    """The devices that vLLM finds.

    Raises:
        ConformanceError: vLLM cannot be imported.
    """
    settings = {
        "RAY_AUTH_MODE": "disabled",
        **scenario.VLLM,
        **release.settings(),
        **more,
    }
    off = {**settings, "PATCHKIT": "0"}
    outcome = processes.run(
        [sys.executable, str(PROBE)], processes.environment(off), 300, log
    )
    said = outcome.said("platform")
    if outcome.status != 0 or said is None:
        raise ConformanceError(f"vLLM's platform cannot be asked {outcome.tail()}")
    single = {**off, "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    named = {"platform": said["platform"], "devices": _devices(said)}
    facts = {**named, **hardware()}
    return Machine(
        False, said["platform"], said["devices"], settings, {}, single, facts
    )


def _devices(said: Mapping[str, Any]) -> str:
    return f"{said['devices']} x {said['device'] or said['platform']}"


def hardware() -> dict[str, str | int]:
    """What runs the processes."""
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [
        line.partition(":")[2].strip()
        for line in lines
        if line.startswith("model name")
    ]
    return names[0] if names else platform.machine()


def selected(env: Mapping[str, str], pack: str) -> list[dict[str, str]]:
    """The rows of a pack that are for here: `row` and `why`."""
    _, listed = command.answer(env, "list")
    found = [
        one for one in listed["patches"] if one["pack"] == pack and one["selected"]
    ]
    return [{"row": one["name"], "why": one["why"]} for one in found]


def versions(env: Mapping[str, str]) -> dict[str, str | None]:
    """The versions that matter.

    Raises:
        ConformanceError: vLLM is not installed.
    """
    _, listed = command.answer(env, "list")
    found = {name: one["version"] for name, one in listed["versions"].items()}
    if found.get("vllm") is None:
        raise ConformanceError(f"found no vLLM in {sys.prefix}, expected one to run")
    more = {
        name: command.installed(name)
        for name in ("torch", "transformers", "vllm-patchkit")
    }
    return {**found, **more, "python": platform.python_version()}
