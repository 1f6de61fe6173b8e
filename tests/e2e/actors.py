"""Run `actor.py` against one release's real class in a Ray of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit_lab import cluster, processes, scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT = Path(__file__).with_name("actor.py")
LIMIT = 600
"""Seconds that a driver may take: where nothing is cached, it compiles all that vLLM imports."""


@dataclass(frozen=True)
class ActorCase:
    """A real class, and what is around it.

    Args:
        target: the class, `module:name`.
        place: where the device goes in: `creation` or `method`.
        backend: module of the device backend.
        settings: environment of driver and workers.
    """

    target: str
    place: str
    backend: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        """Of driver and Ray alike; no platform is simulated, only the device."""
        return {**scenario.MACHINE, "SIMNPU": "0", **self.settings}


@dataclass(frozen=True)
class Pair:
    """How the same driver ended without and with patchkit."""

    without: processes.Outcome
    patched: processes.Outcome

    @property
    def seen(self) -> dict[str, object]:
        """What the patched actor said."""
        assert self.patched.status == 0, self.patched.tail()
        said = self.patched.said("pid")
        assert said, self.patched.tail()
        return said


def run_both(python: Path, case: ActorCase, directory: Path) -> Pair:
    """One Ray, two drivers; `import patchkit.auto` is all that differs."""
    with cluster.started(python, case.env) as ray:
        env = processes.environment(
            case.env, ray.environment, {"PATCHKIT_DEVICE_BACKEND": case.backend}
        )
        command = [str(python), str(SCRIPT), case.target, case.place, case.backend]
        without = processes.run(command, env, LIMIT, directory / "without.log")
        command.append("--patchkit")
        patched = processes.run(command, env, LIMIT, directory / "patched.log")
    return Pair(without, patched)


def assert_cured(pair: Pair) -> None:
    """The seed's error without patchkit, and none with it."""
    assert pair.without.status not in (0, None), pair.without.tail()
    assert scenario.error_line(pair.without), pair.without.tail()
    assert_received(pair)


def assert_received(pair: Pair) -> None:
    """With patchkit the device arrived, in an actor of the patched class."""
    assert pair.seen["device"] == "npu"
    assert str(pair.seen["class"]).startswith("patchkit.platform.")
