"""Prints what `patchkit adopt --from-script` will run, and what became of it."""

from collections.abc import Iterator, Sequence

from patchkit.authoring.isolation.commands import Isolation
from patchkit.authoring.scripts.adopting import ScriptRows
from patchkit.authoring.scripts.plan import LeftOutStep, ScriptPlan
from patchkit.cli.report.as_json import Data
from patchkit.cli.report.words import one_line, printable

_WIDTH = 100


def plan_lines(plan: ScriptPlan, release: str) -> Iterator[str]:
    """Yield the lines that say what will be run.

    Args:
        plan: What will be run.
        release: The name of the release, of which a copy is edited.
    """
    yield f"will run on a copy of {release}, in a temporary folder:"
    for step in plan.told:
        lines = printable(step.text).splitlines()
        yield f"  {step.file}:{step.line}  {lines[0]}"
        for line in lines[1:]:
            yield f"      {line}"
    yield from left_out_lines(plan.left_out)


def left_out_lines(left_out: Sequence[LeftOutStep]) -> Iterator[str]:
    """Yield the lines that say what is not run.

    Args:
        left_out: What is not run.
    """
    if left_out:
        yield "not run, as it edits no file of the package:"
    for part in left_out:
        text = one_line(part.text)
        if len(text) > _WIDTH:
            text = f"{text[:_WIDTH]}…"
        yield f"  {part.file}:{part.line}  {text}"


def isolation_lines(isolation: Isolation) -> Iterator[str]:
    """Yield a line for each thing that the system does not cut scripts off from.

    Args:
        isolation: What the system refuses to cut off.
    """
    if isolation.network:
        yield f"with the network, which this system does not cut off: {isolation.network}"
    if isolation.files:
        yield f"with leave to write elsewhere, which this system does not refuse: {isolation.files}"


def script_json(rows: ScriptRows) -> Data:
    """Return what was run, and how, for JSON.

    Args:
        rows: The rows of the scripts.
    """
    return {
        "run": [
            {"file": step.file, "line": step.line, "command": step.text}
            for step in rows.steps
        ],
        "left_out": [part._asdict() for part in rows.left_out],
        "network_cut": not rows.isolation.network,
        "files_protected": not rows.isolation.files,
    }
