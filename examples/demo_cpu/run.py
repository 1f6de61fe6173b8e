"""The demonstration without an accelerator: vLLM for CPUs on Ray, refused and then run.

Nothing is simulated: the platform is vLLM's own for CPUs, and the Ray has CPUs only. Makes a tiny
model, runs vLLM on that Ray without and with patchkit, and shows which patch was applied in which
process. `make demo-cpu` calls it.
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
INTRODUCTION = Text.from_markup(
    "vLLM for CPUs refuses to run on Ray. With one patch it does, and you can try distributed vLLM "
    "on a laptop.\n"
    "vLLM, Ray and the CPUs are real: nothing is simulated."
)


def tell(console: Console, directory: Path) -> None:
    """Every step in order."""
    console.print(Panel(INTRODUCTION, title="vLLM for CPUs on Ray", box=box.ROUNDED))
    model = stage.made_model(console, directory, PYTHON)
    baseline = stage.single_process(console, PYTHON, model)
    with contextlib.ExitStack() as stack:
        with console.status("Starting a Ray with CPUs only …"):
            ray = stack.enter_context(cluster.started(PYTHON, scenario.CPU, npus=0))
        env = {**scenario.CPU, **ray.environment}
        on = stage.Stage(console, directory, PYTHON, model, env)
        on.done(f"Ray at {ray.address}, CPUs only")
        stage.without(on, STORY, "vLLM on two CPUs over Ray", scenario.CPU_RAY_ERROR)
        stage.patched(on, STORY, "PATCHKIT_CPU_RAY=1", baseline, **scenario.CPU_RAY)
    on.done("Ray stopped, nothing left behind")


if __name__ == "__main__":
    sys.exit(stage.play(tell))
