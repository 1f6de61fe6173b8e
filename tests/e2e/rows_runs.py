"""Runs of an engine with the thirty-seven rows, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit_lab import processes, scenario
from rows.witness import VARIABLE, Sight, sights

HERE = Path(__file__).parent
MAIN, CORE, WORKER = "MainProcess", "EngineCore", "VllmWorker-0"

# Where each row leaves lines in an engine of several processes, and whether it does so for every
# request (True), or while the engine is made.
ACTS: dict[str, tuple[set[str], bool]] = {
    "validator-edited": ({MAIN}, False),
    "validator-wrapped": ({MAIN}, False),
    "class-method": ({MAIN}, True),
    "initializer": ({MAIN}, True),
    "coroutine": ({MAIN}, True),
    "async-generator": ({MAIN}, True),
    "the-outer": ({MAIN}, True),
    "the-inner": ({MAIN}, True),
    "scheduler-edited": ({CORE}, True),
    "whole-class": ({CORE}, True),
    "static-method": ({CORE}, True),
    "enum-member": ({CORE}, True),
    "context-manager": ({CORE}, True),
    "engine-core-process": ({CORE}, True),
    "engine-core-entry": ({CORE}, False),
    "new-method": ({CORE}, True),
    "new-function": ({CORE}, True),
    "lacking-module": ({CORE}, True),
    "decorated": ({CORE}, True),
    "needs-the-module": ({CORE}, True),
    "after-import": ({CORE}, False),
    "one-importer": ({CORE}, True),
    "compiled-forward": ({WORKER}, True),
    "property": ({WORKER}, True),
    "cached-function": ({WORKER}, False),
    "before-import": ({WORKER}, False),
    "inherited-method": ({WORKER}, True),
    "nested-class": ({WORKER}, False),
    "runner-method": ({WORKER}, True),
    "worker-method": ({WORKER}, True),
    "custom-op": ({WORKER}, True),
    "registered-layer": ({WORKER}, False),
    "ten-importers": ({CORE, WORKER}, True),
    "model-entry": ({WORKER}, False),
    "output-field": ({CORE}, True),
}
# These leave no line: vLLM itself shows that they act.
SHOWN = {"constant", "one-argument"}
# With one process there is no AsyncLLM and no EngineCoreProc.
ABSENT = {"coroutine", "async-generator", "engine-core-process", "engine-core-entry"}
TURNS = ("patched", "undone", "again", "disarmed")


@dataclass(frozen=True)
class Run:
    """What is left of an engine's run.

    Args:
        said: what it printed.
        lines: what its rows have left.
        journal: of its processes.
    """

    said: dict[str, Any]
    lines: list[Sight]
    journal: Path

    def turn(self, name: str) -> list[Sight]:
        """The lines from one request of `single` to the next."""
        starts = [
            at for at, line in enumerate(self.lines) if line.name.startswith("-- ")
        ]
        (begin,) = (at for at in starts if self.lines[at].name == f"-- {name}")
        end = next((at for at in starts if at > begin), len(self.lines))
        return self.lines[begin + 1 : end]

    def only(self, name: str) -> list[Sight]:
        """The lines of one row."""
        return [line for line in self.lines if line.name == name]


def run(kind: str, python: Path, model: Path, directory: Path, **more: str) -> Run:
    """Run an engine of the pack."""
    lines = directory / "lines"
    lines.touch()
    env = {
        **scenario.VLLM,
        "VLLM_PLUGINS": "",
        "VLLM_CACHE_ROOT": str(directory / "cache"),
        "PYTHONPATH": str(HERE),
        "PATCHKIT_PATCHES": "rows",
        "PATCHKIT_JOURNAL": str(directory / "journal"),
        VARIABLE: str(lines),
        **more,
    }
    command = [str(python), str(HERE / "rows_engine.py"), kind, str(model)]
    outcome = processes.run(command, processes.environment(env), 600, directory / "log")
    said = outcome.said("process")
    assert outcome.status == 0, outcome.tail()
    assert said, outcome.tail()
    return Run(said, sights(lines), directory / "journal")
