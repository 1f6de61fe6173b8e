"""A pack that is not patchkit's, with one patch a role, whose bodies write down who ran them."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NAME = "acme_patches"

# Each target is called for every request, in whatever way the engine is run.
ROWS = """
from patchkit import Patch, Role, Wrap

ENV = None

def row(name, role, target):
    return Patch(
        name=name, body="patch_seen", requires=("vllm>=0.11",), roles={role}, env=ENV,
        changes=(Wrap(target, by=name.partition("-")[0]),),
    )

OUTPUTS = "vllm.v1.engine.output_processor:OutputProcessor.process_outputs"
HELPER = "vllm.model_executor.models.registry:_ModelInfo.from_model_cls"
PATCHES = (
    row("main-seen", Role.MAIN, OUTPUTS),
    row("helper-seen", Role.MAIN, HELPER),
    row("core-seen", Role.ENGINE_CORE, "vllm.v1.core.sched.scheduler:Scheduler.schedule"),
    row("worker-seen", Role.WORKER, "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model"),
)
"""

ENTRY = """
PATCHES += (
    row("entry-seen", Role.ENGINE_CORE, "vllm.v1.engine.core:EngineCoreProc.run_engine_core"),
)
"""

BODY = """
import os
import sys
from multiprocessing import process
from pathlib import Path

SEEN = Path(__file__).with_name("seen")

def _started():
    if any(word.endswith("default_worker.py") for word in sys.orig_argv):
        return "ray"
    if process.parent_process() is None:
        return "command"
    return "spawn" if "--multiprocessing-fork" in sys.orig_argv else "fork"

def _seen(name):
    def by(wrapped, instance, args, kwargs):
        line = f"{name} {os.getpid()} {_started()} {process.current_process().name}\\n"
        with SEEN.open("a") as file:
            file.write(line)
        return wrapped(*args, **kwargs)
    return by

main, helper, core, worker = map(_seen, ("main", "helper", "core", "worker"))
entry = _seen("entry")

class Thing:
    pass
"""


@dataclass(frozen=True)
class Sight:
    """A process in which a body ran.

    Args:
        pid: its own.
        started: how: `command`, `fork`, `spawn` or `ray`.
        name: what `multiprocessing` calls it.
    """

    pid: int
    started: str
    name: str


class Pack:
    """A package made by the test.

    Args:
        directory: where it goes.
        env: a variable that all its rows ask for.
        more: source of further rows.
    """

    def __init__(self, directory: Path, env: str | None = None, more: str = "") -> None:
        self.directory = directory
        self._env = env
        self._package = directory / NAME
        self._package.mkdir()
        rows = textwrap.dedent(ROWS).replace("ENV = None", f"ENV = {env!r}")
        (self._package / "__init__.py").write_text(rows + more)
        (self._package / "patch_seen.py").write_text(textwrap.dedent(BODY))

    @property
    def settings(self) -> dict[str, str]:
        """What makes a process use it."""
        asked = {self._env: "1"} if self._env else {}
        return {"PATCHKIT_PATCHES": NAME, **asked, **self.place}

    @property
    def place(self) -> dict[str, str]:
        """What makes it importable, and nothing more."""
        return {"PYTHONPATH": str(self.directory)}

    def sights(self) -> dict[str, set[Sight]]:
        """The processes in which each body ran."""
        found: defaultdict[str, set[Sight]] = defaultdict(set)
        seen = self._package / "seen"
        for line in seen.read_text().splitlines() if seen.exists() else ():
            name, pid, started, process = line.split()
            found[name].add(Sight(int(pid), started, process))
        return found

    def seen(self) -> dict[str, set[int]]:
        """The pids in which each body ran."""
        return {
            name: {sight.pid for sight in found}
            for name, found in self.sights().items()
        }

    def forget(self) -> None:
        """Begin anew."""
        (self._package / "seen").unlink(missing_ok=True)
