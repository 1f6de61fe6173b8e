"""What the demonstrations have in common: how they begin and end, their steps, their tables."""

from __future__ import annotations

import re
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

from patchkit.analysis.status import read_directory
from patchkit.errors import PatchkitError
from patchkit_lab import cluster, processes, scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from patchkit.analysis.status import ProcessStatus


class DemoError(Exception):
    """A step did not show what it is there to show."""


@dataclass(frozen=True)
class Stage:
    """What the steps share.

    Args:
        console: where they speak.
        directory: for logs and journals, gone at the end.
        python: the interpreter of the environment.
        model: the tiny model.
        env: of every vLLM.
    """

    console: Console
    directory: Path
    python: Path
    model: Path
    env: dict[str, str]

    def generate(
        self, story: scenario.Scenario, title: str, *flags: str, **settings: str
    ) -> processes.Outcome:
        """Run vLLM, with a sign of life."""
        log = self.directory / "generate.log"
        env = {**self.env, **story.settings, **settings}
        with self.console.status(title):
            return scenario.generate(
                self.python, self.model, log, *story.arguments, *flags, env=env
            )

    def done(self, text: str) -> None:
        """Tick a step off."""
        self.console.print(Text.from_markup(f"[green]✓[/] {text}"))

    def panel(self, content: str | Text, title: str, colour: str) -> None:
        """Show what a step is about."""
        text = Text(content, style=colour) if isinstance(content, str) else content
        self.console.print(
            Panel(text, title=title, border_style=colour, box=box.ROUNDED)
        )


def play(tell: Callable[[Console, Path], None]) -> int:
    """Tell a story in a directory of its own; 0 when it went as told."""
    # Asked to stop, it still has to take its Ray down.
    signal.signal(signal.SIGTERM, _stop)
    console = Console(highlight=False)
    try:
        with tempfile.TemporaryDirectory(prefix="patchkit-demo-") as directory:
            tell(console, Path(directory))
    except (DemoError, RuntimeError, cluster.ClusterError, PatchkitError) as error:
        console.print(Text(f"The demonstration failed: {error}", style="red"))
        return 1
    return 0


def _stop(*_: object) -> NoReturn:
    """Leave through every `finally`."""
    sys.exit(143)


def made_model(console: Console, directory: Path, python: Path) -> Path:
    """Make the tiny model."""
    with console.status("Making a tiny random Llama …"):
        return scenario.make_model(python, directory)


def single_process(console: Console, python: Path, model: Path) -> list[int]:
    """The tokens to expect: plain vLLM on the CPU in one process."""
    with console.status("Baseline: vLLM in a single process …"):
        log = model.with_name("baseline.log")
        outcome = scenario.generate(
            python, model, log, "--executor", "uni", env=scenario.SINGLE
        )
    tokens = scenario.report(outcome).tokens
    console.print(
        f"[green]✓[/] baseline, one process, {outcome.seconds:.0f} s: {tokens}"
    )
    return tokens


def without(on: Stage, story: scenario.Scenario, doing: str, says: str) -> None:
    """Show a failure: the words of the output that match the pattern.

    Raises:
        DemoError: there was none, or another.
    """
    outcome = on.generate(story, f"Without patchkit: {doing} …", PATCHKIT="0")
    found = re.search(says, outcome.output)
    if outcome.status in (0, None) or found is None:
        raise DemoError(f"without patchkit there should be {says!r} {outcome.tail()}")
    on.panel(found[0], f"without patchkit: dead after {outcome.seconds:.0f} s", "red")


def patched(
    on: Stage, story: scenario.Scenario, how: str, baseline: list[int], **settings: str
) -> None:
    """Show the cure, and what it did.

    Raises:
        DemoError: the tokens are others, or not from two Ray workers.
    """
    journal = on.directory / "journal"
    settings["PATCHKIT_JOURNAL"] = str(journal)
    outcome = on.generate(
        story, f"With {how}: the same vLLM …", "--patchkit", **settings
    )
    report = scenario.report(outcome)
    if report.tokens != baseline or [worker.ray for worker in report.workers] != [
        True,
        True,
    ]:
        raise DemoError(
            f"found {report}, expected tokens {baseline} from two Ray workers"
        )
    same = f"{report.tokens}\n[green]the baseline's tokens, from two Ray workers[/]"
    title = f"with {how}: generated after {outcome.seconds:.0f} s"
    on.panel(Text.from_markup(same), title, "green")
    on.console.print(applied_table(read_directory(journal)))


def applied_table(found: Sequence[ProcessStatus]) -> Table:
    """A row a patch, a column a process."""
    shown = [process for process in found if process.roles]
    table = Table(title="Which patch was applied in which process", box=box.ROUNDED)
    table.add_column("patch")
    for process in shown:
        table.add_column(
            f"{', '.join(process.roles)}\n[dim]pid {process.pid}", justify="center"
        )
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
