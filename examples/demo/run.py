"""
The demonstration: a vLLM that dies on a machine with NPUs, and lives with one line more.

Makes a tiny model, starts a Ray with two simulated NPUs, runs vLLM on it without and with
patchkit, and shows which patch was applied in which process. `make demo` calls it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from simnpu_lab import cluster, processes, scenario

from patchkit.status import ProcessStatus, read_directory

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTHON = Path(sys.executable)
STORY = scenario.SCENARIOS["ray-v2"]


class DemoError(Exception):
    """A step did not show what it is there to show."""


@dataclass(frozen=True)
class Stage:
    """
    What the steps share.

    Args:
        console: where they speak.
        directory: for logs and journals, gone at the end.
        model: the tiny model.
        env: of every vLLM that runs on the Ray.

    """

    console: Console
    directory: Path
    model: Path
    env: dict[str, str]

    def generate(self, title: str, *flags: str, **settings: str) -> processes.Outcome:
        """Run vLLM on the two NPUs, with a sign of life."""
        log = self.directory / "generate.log"
        env = {**self.env, **settings}
        with self.console.status(title):
            return scenario.generate(PYTHON, self.model, log, *STORY.arguments, *flags, env=env)


def main() -> int:
    """Tell the story; 0 when it went as told."""
    # Asked to stop, it still has to take its Ray down.
    signal.signal(signal.SIGTERM, stop)
    console = Console(highlight=False)
    try:
        with tempfile.TemporaryDirectory(prefix="patchkit-demo-") as directory:
            tell(console, Path(directory))
    except (DemoError, RuntimeError, cluster.ClusterError) as error:
        console.print(Text(f"The demonstration failed: {error}", style="red"))
        return 1
    return 0


def stop(*_: object) -> NoReturn:
    """Leave through every `finally`."""
    sys.exit(143)


def tell(console: Console, directory: Path) -> None:
    """Every step in order."""
    console.print(Panel(INTRODUCTION, title="patchkit on real vLLM and real Ray", box=box.ROUNDED))
    with console.status("Making a tiny random Llama …"):
        model = scenario.make_model(PYTHON, directory)
    baseline = single_process(console, directory, model)
    with contextlib.ExitStack() as stack:
        with console.status("Starting a Ray with two simulated NPUs …"):
            ray = stack.enter_context(cluster.started(PYTHON, scenario.MACHINE))
        console.print(f"[green]✓[/] Ray at {ray.address}, two simulated NPUs")
        env = {**scenario.MACHINE, **scenario.BACKEND, **STORY.settings, **ray.environment}
        stage = Stage(console, directory, model, env)
        without(stage)
        patched(stage, baseline)
    console.print("[green]✓[/] Ray stopped, nothing left behind")


INTRODUCTION = Text.from_markup(
    "A worker's arguments hold [bold]torch.device('npu')[/]. Ray unpickles them in a process that "
    "has not imported the device backend, and the engine dies.\n"
    "vLLM and Ray are real; the NPUs are simulated (see examples/simnpu), the arithmetic runs on "
    "the CPU."
)


def single_process(console: Console, directory: Path, model: Path) -> list[int]:
    """The tokens to expect: plain vLLM on the CPU in one process."""
    with console.status("Baseline: vLLM in a single process …"):
        log = directory / "baseline.log"
        outcome = scenario.generate(PYTHON, model, log, "--executor", "uni", env=scenario.SINGLE)
    tokens = scenario.report(outcome).tokens
    console.print(f"[green]✓[/] baseline, one process, {outcome.seconds:.0f} s: {tokens}")
    return tokens


def without(stage: Stage) -> None:
    """
    The failure.

    Raises:
        DemoError: there was none, or another.

    """
    outcome = stage.generate("Without patchkit: vLLM on two NPUs over Ray …", PATCHKIT="0")
    line = scenario.error_line(outcome)
    if outcome.status in (0, None) or line is None:
        raise DemoError(
            f"without patchkit there should be the device-string error {outcome.tail()}"
        )
    message = Text(line[line.index("Expected one of") :], style="red")
    title = f"without patchkit: dead after {outcome.seconds:.0f} s"
    stage.console.print(Panel(message, title=title, border_style="red", box=box.ROUNDED))


def patched(stage: Stage, baseline: list[int]) -> None:
    """
    The cure, and what it did.

    Raises:
        DemoError: the tokens are others.

    """
    journal = stage.directory / "journal"
    title = "With `import patchkit.auto`: the same vLLM …"
    outcome = stage.generate(title, "--patchkit", PATCHKIT_JOURNAL=str(journal))
    report = scenario.report(outcome)
    if report.tokens != baseline:
        raise DemoError(f"found tokens {report.tokens}, expected {baseline}")
    same = Text.from_markup(
        f"{report.tokens}\n[green]the baseline's tokens, from two Ray workers[/]"
    )
    title = f"with `import patchkit.auto`: generated after {outcome.seconds:.0f} s"
    stage.console.print(Panel(same, title=title, border_style="green", box=box.ROUNDED))
    stage.console.print(applied_table(read_directory(journal)))


def applied_table(found: Sequence[ProcessStatus]) -> Table:
    """A row a patch, a column a process."""
    shown = [process for process in found if process.roles]
    table = Table(title="Which patch was applied in which process", box=box.ROUNDED)
    table.add_column("patch")
    for process in shown:
        table.add_column(f"{', '.join(process.roles)}\n[dim]pid {process.pid}", justify="center")
    names = {name for process in shown for name in process.patches}
    for name in sorted(names):
        cells = [mark(process, name) for process in shown]
        if any(cells):
            table.add_row(name, *cells)
    return table


def mark(process: ProcessStatus, name: str) -> str:
    """How it stands with one patch in one process; nothing where it waits for its target."""
    status = process.patches[name].status if name in process.patches else ""
    return {"applied": "[green]applied[/]", "failed": "[red]failed[/]"}.get(status, "")


if __name__ == "__main__":
    sys.exit(main())
