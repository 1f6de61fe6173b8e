"""The demonstration for a pinned Ray: vLLM 0.32.0 on Ray 2.35.0, with both of its Ray executors.

Shows what fails without patchkit, one failure after the other, then the tokens with all rows,
offline and served; and that the same rows leave a new Ray alone. `make demo-ray235` calls it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit_lab import cluster, processes, scenario, served, stage
from rich import box
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

V1 = scenario.SCENARIOS["ray-v1"]
V2 = scenario.SCENARIOS["ray-v2"]
SERVE = ("--distributed-executor-backend", "ray", "--tensor-parallel-size", "2")
INTRODUCTION = Text.from_markup(
    "A cluster runs Ray 2.35.0 and cannot move; the vLLM is 0.32.0, whose executor V1 requires "
    "Ray 2.43. Each failure below is what is left with the rows so far.\n"
    "vLLM and Ray are real; the NPUs are simulated (see examples/simnpu), the arithmetic runs on "
    "the CPU."
)


class Failure(NamedTuple):
    """What an engine without a row dies of; where no CPU gets there, what that needs."""

    row: str
    says: str
    needs: str = ""


FAILURES = (
    Failure("ray-v1-version-check", "Ray version 2.43.0 is required, but found 2.35.0"),
    Failure(
        "ray-v1-pipeline-communicator",
        "No module named 'ray.experimental.channel.accelerator_context'",
    ),
    Failure(
        "ray-v1-overlap-keyword",
        "got an unexpected keyword argument '_overlap_gpu_communication'",
    ),
    Failure(
        "ray-v1-list-of-references", "'CompiledDAGRef' object is not subscriptable"
    ),
    Failure("ray-v1-time-outs", "", "a step of over 10 s"),
    Failure("ray-v1-tensor-transport", "", "several pipeline stages"),
)
ROWS = tuple(failure.row for failure in FAILURES)
LAB = Path(__file__).resolve().parents[2] / "lab" / "environments.py"


def tell(console: Console, directory: Path) -> None:
    """Every step in order."""
    console.print(
        Panel(INTRODUCTION, title="vLLM 0.32.0 on Ray 2.35.0", box=box.ROUNDED)
    )
    python = made_environment("ray-2.35.0")
    model = stage.made_model(console, directory, python)
    baseline = stage.single_process(console, python, model)
    # The command `vllm` asks for its version under a name that the build for CPU does not have.
    served.describe(directory, "0.32.0+cpu")
    with on_ray(console, directory, python, model, "2.35.0") as on:
        failures(on)
        for name, story in (("V1", V1), ("V2", V2)):
            offline(on, story, name, baseline)
            over_http(on, story, name, baseline)
    new = made_environment("vllm-0.32.0")
    console.print(ranges(python, new))
    with on_ray(console, directory, new, model, "2.60.0") as on:
        untouched(on, baseline)
    on.done("both Rays stopped, nothing left behind")


def made_environment(name: str) -> Path:
    """Return the Python of an environment, which the lab makes where it is missing."""
    command = [sys.executable, str(LAB), name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


@contextlib.contextmanager
def on_ray(
    console: Console, directory: Path, python: Path, model: Path, version: str
) -> Iterator[stage.Stage]:
    """Start a Ray of an environment's version."""
    with contextlib.ExitStack() as stack:
        with console.status(f"Starting Ray {version} with two simulated NPUs …"):
            ray = stack.enter_context(cluster.started(python, scenario.MACHINE))
        env = {**scenario.MACHINE, **scenario.BACKEND, **ray.environment}
        on = stage.Stage(console, directory, python, model, env)
        on.done(f"Ray {version} at {ray.address}, two simulated NPUs")
        yield on


# -- without


def failures(on: stage.Stage) -> None:
    """What ends executor V1, in its order: each with the rows for those before it."""
    device = scenario.DEVICE_STRING_ERROR
    failure(on, device, "without patchkit", PATCHKIT="0")
    for number, (row, says, needs) in enumerate(FAILURES):
        if not says:
            on.console.print(
                Text.from_markup(f"  [dim]{row}: not reached on a CPU ({needs})")
            )
            continue
        title = (
            f"now with {ROWS[number - 1]}" if number else "with the rows for the device"
        )
        failure(on, says, title, PATCHKIT_DISABLE=",".join(ROWS[number:]))


def failure(on: stage.Stage, says: str, title: str, **settings: str) -> None:
    """One of them.

    Raises:
        DemoError: there was none, or another.
    """
    outcome = on.generate(V1, f"Executor V1, {title} …", "--patchkit", **settings)
    lines = outcome.output.splitlines()
    line = next((line for line in lines if says in line and "Error" in line), None)
    if outcome.status in (0, None) or line is None:
        raise stage.DemoError(f"{title}, {says!r} was expected {outcome.tail()}")
    words = line.split()
    first = next(place for place, word in enumerate(words) if word.endswith("Error:"))
    message = " ".join(words[first:])
    on.panel(message, f"V1 {title}: dead after {outcome.seconds:.0f} s", "red")


# -- with


def offline(
    on: stage.Stage, story: scenario.Scenario, name: str, baseline: list[int]
) -> None:
    """Generate, with all rows."""
    journal = on.directory / f"journal-{name}"
    title = f"Executor {name}, with all rows …"
    outcome = on.generate(story, title, "--patchkit", PATCHKIT_JOURNAL=str(journal))
    same(scenario.report(outcome).tokens, baseline)
    text = Text.from_markup(
        f"{baseline}\n[green]the baseline's tokens, from two Ray workers[/]"
    )
    on.panel(
        text, f"executor {name}, with all rows: after {outcome.seconds:.0f} s", "green"
    )
    on.console.print(stage.applied_table(read_directory(journal)))


def over_http(
    on: stage.Stage, story: scenario.Scenario, name: str, baseline: list[int]
) -> None:
    """Serve and stream, with all rows."""
    command = [str(on.python.with_name("patchkit")), "run", "--"]
    command += served.command_line(on.python, on.model, *SERVE)
    env = processes.environment(
        on.env, story.settings, {"PYTHONPATH": str(on.directory)}
    )
    with (
        on.console.status(f"`patchkit run -- vllm serve`, executor {name} …"),
        served.running(command, env, on.directory / "serve.log") as address,
    ):
        whole = served.complete(address, on.model)
        chunks = served.stream(address, on.model)
    same(whole, baseline)
    streamed = [token for chunk in chunks for token in chunk]
    same(streamed[: len(baseline)], baseline)
    on.done(
        f"executor {name}, `patchkit run -- vllm serve`: the same tokens; {len(streamed)} "
        f"streamed in {len(chunks)} chunks, with these first"
    )


def same(found: list[int], baseline: list[int]) -> None:
    """Compare tokens.

    Raises:
        DemoError: they are others.
    """
    if found != baseline:
        raise stage.DemoError(f"found tokens {found}, expected {baseline}")


# -- on a new Ray


def ranges(old: Path, new: Path) -> Table:
    """Which rows run on either Ray, and why not."""
    table = Table(title="`patchkit list --all` on either Ray", box=box.ROUNDED)
    for title in ("patch", "Ray 2.35.0", "Ray 2.60.0"):
        table.add_column(title)
    on_old, on_new = listed(old), listed(new)
    for row in ROWS:
        table.add_row(row, *(said(patches[row]) for patches in (on_old, on_new)))
    return table


def listed(python: Path) -> dict[str, dict[str, Any]]:
    """What `patchkit list` says there."""
    command = [str(python), "-m", "patchkit", "list", "--all", "--format", "json"]
    env = processes.environment(scenario.BACKEND)
    output = subprocess.run(command, env=env, capture_output=True, check=True).stdout
    return {patch["name"]: patch for patch in json.loads(output)["patches"]}


def said(patch: dict[str, Any]) -> str:
    """Selected, or why not."""
    return "[green]selected[/]" if patch["selected"] else str(patch["reason"])


def untouched(on: stage.Stage, baseline: list[int]) -> None:
    """Executor V1 on a new Ray: no row applies.

    Raises:
        DemoError: one did.
    """
    journal = on.directory / "journal-new"
    title = "Executor V1 on Ray 2.60.0 …"
    outcome = on.generate(V1, title, "--patchkit", PATCHKIT_JOURNAL=str(journal))
    same(scenario.report(outcome).tokens, baseline)
    found = read_directory(journal)
    applied = {name for one in found for name in ROWS if stage.mark(one, name)}
    if applied:
        raise stage.DemoError(
            f"found {', '.join(sorted(applied))} on Ray 2.60.0, expected none"
        )
    on.done(
        "executor V1 on Ray 2.60.0: the same tokens, and none of these rows in any process"
    )


if __name__ == "__main__":
    sys.exit(stage.play(tell))
