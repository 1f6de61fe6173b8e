"""The table of ways in: what there is, what cannot be, and what is run.

A cell is a way in, how vLLM is launched, how its processes start, and its executor.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

WAYS = {
    1: "`import patchkit.auto`",
    2: "`patchkit run --`",
    3: "vLLM plugin",
    4: "bootstrap",
    5: "`patchkit.ray.runtime_env()`",
    6: "object by pickle",
}
LAUNCHERS = ("script", "python -m", "vllm serve", "Ray actor", "Ray Serve")
STARTS = ("fork", "spawn")
EXECUTORS = ("uni", "mp", "Ray V1", "Ray V2")
ONE = "one process"
"""In place of a start method: VLLM_ENABLE_V1_MULTIPROCESSING=0."""

ON_RAY = ("Ray actor", "Ray Serve")


@dataclass(frozen=True, order=True)
class Cell:
    """One cell of the table.

    Args:
        way: number in `WAYS`.
        launcher: one of `LAUNCHERS`.
        start: one of `STARTS`, or `ONE`.
        executor: one of `EXECUTORS`.
        special: what else is asked of `vllm serve`, a key of `SPECIALS`.
    """

    way: int
    launcher: str
    start: str
    executor: str
    special: str = ""

    @property
    def name(self) -> str:
        """For test ids and files."""
        words = [str(self.way), self.launcher, self.start, self.executor, self.special]
        return "-".join(word.replace(" ", "_") for word in words if word)

    @property
    def helper(self) -> bool:
        """Whether vLLM is also to start the helper of its model registry."""
        return self in HELPED

    @property
    def ray(self) -> bool:
        """Whether it needs a Ray."""
        return (
            self.launcher in ON_RAY or "Ray" in self.executor or "Ray" in self.special
        )


SPECIALS = {
    "two API servers": ("--api-server-count", "2"),
    "data parallel": ("--data-parallel-size", "2", "--api-server-count", "1"),
    "data parallel on Ray": (
        *("--data-parallel-size", "2", "--api-server-count", "1"),
        *("--data-parallel-backend", "ray"),
    ),
}

SPECIAL_RUNS = (
    Cell(3, "vllm serve", "fork", "mp", special="two API servers"),
    Cell(2, "vllm serve", "fork", "mp", special="data parallel"),
    Cell(2, "vllm serve", "spawn", "uni", special="data parallel on Ray"),
)

SAMPLE = frozenset(
    {
        Cell(0, "script", "fork", "mp"),
        Cell(1, "script", "spawn", "uni"),
        Cell(2, "vllm serve", "spawn", "mp"),
        Cell(3, "vllm serve", "fork", "mp", special="two API servers"),
        Cell(4, "python -m", "fork", "mp"),
        Cell(5, "Ray actor", ONE, "uni"),
        Cell(6, "Ray Serve", ONE, "uni"),
    }
)
"""What `make e2e` runs, each way in at least once; `make ways` runs every cell."""

HELPED = frozenset(
    {
        Cell(1, "script", "fork", "uni"),
        Cell(2, "script", "fork", "mp"),
        Cell(3, "python -m", "fork", "mp"),
        Cell(4, "script", "fork", "uni"),
        Cell(5, "Ray actor", ONE, "uni"),
        Cell(6, "python -m", ONE, "uni"),
    }
)
"""Where the model registry's helper is looked at too: once for each way in."""

CONTROLS = (
    Cell(0, "script", "fork", "mp"),
    Cell(0, "vllm serve", "fork", "mp"),
    Cell(0, "Ray actor", ONE, "uni"),
)
"""The same without any way in."""

ENGINES = ((ONE, "uni"), *product(STARTS, EXECUTORS))
"""Every start with every executor; in one process there is only uni."""

WHY_NOT = {
    "a": "`vllm serve` is not your script: you cannot add a line to it or pass it an object. Use "
    "2, 3 or 4.",
    "b": "Ray runs the hook in the workers of a job, and the script is not one. The Ray executors' "
    "own workers get patchkit from the process that asks for them.",
    "c": "vLLM's server never has an engine in its own process (`Running EngineCore in asyncio "
    "without multiprocessing is not currently supported`).",
    "d": "In a Ray actor, vLLM always spawns (`In a Ray actor and can only be spawned`).",
}
"""Reasons, by the letter in the table."""


def why_not(cell: Cell) -> str | None:
    """The letter of the reason why a cell cannot be, or None if it can."""
    if cell.launcher == "vllm serve" and cell.start == ONE:
        return "c"
    if cell.launcher in ON_RAY and cell.start == "fork":
        return "d"
    if cell.launcher == "vllm serve" and cell.way in {1, 6}:
        return "a"
    return "b" if cell.way == 5 and cell.launcher not in ON_RAY else None


def all_cells() -> list[Cell]:
    """Every cell, whether it can be or not."""
    return [
        Cell(way, launcher, start, executor)
        for launcher, (start, executor), way in product(LAUNCHERS, ENGINES, WAYS)
    ]


RUNS = tuple(cell for cell in all_cells() if why_not(cell) is None)
"""Every cell that can be."""
