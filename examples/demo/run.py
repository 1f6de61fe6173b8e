"""The demonstration: a vLLM that dies on a machine with NPUs, and lives with one line more.

Makes a tiny model, starts a Ray with two simulated NPUs, runs vLLM on it without and with
patchkit, and shows which patch was applied in which process. `make demo` calls it.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit_lab import cluster, scenario, stage
from rich import box
from rich.panel import Panel
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

PYTHON = Path(sys.executable)
STORY = scenario.SCENARIOS["ray-v2"]
FAILURE = f"Expected one of .*{scenario.DEVICE_STRING_ERROR}"
INTRODUCTION = Text.from_markup(
    "A worker's arguments hold [bold]torch.device('npu')[/]. Ray unpickles them in a process that "
    "has not imported the device backend, and the engine dies.\n"
    "vLLM and Ray are real; the NPUs are simulated (see examples/simnpu), the arithmetic runs on "
    "the CPU."
)


def tell(console: Console, directory: Path) -> None:
    """Every step in order."""
    console.print(
        Panel(INTRODUCTION, title="patchkit on real vLLM and real Ray", box=box.ROUNDED)
    )
    model = stage.made_model(console, directory, PYTHON)
    baseline = stage.single_process(console, PYTHON, model)
    with contextlib.ExitStack() as stack:
        with console.status("Starting a Ray with two simulated NPUs …"):
            ray = stack.enter_context(cluster.started(PYTHON, scenario.MACHINE))
        env = {**scenario.MACHINE, **scenario.BACKEND, **ray.environment}
        on = stage.Stage(console, directory, PYTHON, model, env)
        on.done(f"Ray at {ray.address}, two simulated NPUs")
        stage.without(on, STORY, "vLLM on two NPUs over Ray", FAILURE)
        stage.patched(on, STORY, "`import patchkit.auto`", baseline)
    on.done("Ray stopped, nothing left behind")


if __name__ == "__main__":
    sys.exit(stage.play(tell))
