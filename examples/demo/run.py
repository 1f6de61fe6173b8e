"""
The demonstration: a vLLM that dies on a machine with NPUs, and lives with one line more.

Makes a tiny model, starts a Ray with two simulated NPUs, runs vLLM on it without and with
patchkit, and shows which patch was applied in which process. `make demo` calls it.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.panel import Panel
from rich.text import Text
from simnpu_lab import cluster, scenario, stage

from patchkit.status import read_directory

if TYPE_CHECKING:
    from rich.console import Console

PYTHON = Path(sys.executable)
STORY = scenario.SCENARIOS["ray-v2"]
INTRODUCTION = Text.from_markup(
    "A worker's arguments hold [bold]torch.device('npu')[/]. Ray unpickles them in a process that "
    "has not imported the device backend, and the engine dies.\n"
    "vLLM and Ray are real; the NPUs are simulated (see examples/simnpu), the arithmetic runs on "
    "the CPU."
)


def tell(console: Console, directory: Path) -> None:
    """Every step in order."""
    console.print(Panel(INTRODUCTION, title="patchkit on real vLLM and real Ray", box=box.ROUNDED))
    model = stage.made_model(console, directory, PYTHON)
    baseline = stage.single_process(console, PYTHON, model)
    with contextlib.ExitStack() as stack:
        with console.status("Starting a Ray with two simulated NPUs …"):
            ray = stack.enter_context(cluster.started(PYTHON, scenario.MACHINE))
        env = {**scenario.MACHINE, **scenario.BACKEND, **ray.environment}
        on = stage.Stage(console, directory, PYTHON, model, env)
        on.done(f"Ray at {ray.address}, two simulated NPUs")
        without(on)
        patched(on, baseline)
    on.done("Ray stopped, nothing left behind")


def without(on: stage.Stage) -> None:
    """
    The failure.

    Raises:
        DemoError: there was none, or another.

    """
    title = "Without patchkit: vLLM on two NPUs over Ray …"
    outcome = on.generate(STORY, title, PATCHKIT="0")
    line = scenario.error_line(outcome)
    if outcome.status in (0, None) or line is None:
        raise stage.DemoError(
            f"without patchkit there should be the device-string error {outcome.tail()}"
        )
    message = line[line.index("Expected one of") :]
    on.panel(message, f"without patchkit: dead after {outcome.seconds:.0f} s", "red")


def patched(on: stage.Stage, baseline: list[int]) -> None:
    """
    The cure, and what it did.

    Raises:
        DemoError: the tokens are others.

    """
    journal = on.directory / "journal"
    title = "With `import patchkit.auto`: the same vLLM …"
    outcome = on.generate(STORY, title, "--patchkit", PATCHKIT_JOURNAL=str(journal))
    report = scenario.report(outcome)
    if report.tokens != baseline:
        raise stage.DemoError(f"found tokens {report.tokens}, expected {baseline}")
    same = Text.from_markup(
        f"{report.tokens}\n[green]the baseline's tokens, from two Ray workers[/]"
    )
    title = f"with `import patchkit.auto`: generated after {outcome.seconds:.0f} s"
    on.panel(same, title, "green")
    on.console.print(stage.applied_table(read_directory(journal)))


if __name__ == "__main__":
    sys.exit(stage.play(tell))
