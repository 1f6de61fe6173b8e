"""A simulation of a Ray cluster, as far as `patchkit status --ray` asks one.

Each file of the folder `SIMULATED_RAY` stands for a node, and holds what the task there returns. A
real cluster of 256 nodes does not fit on one machine.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

exceptions = SimpleNamespace(GetTimeoutError=TimeoutError)


def init(**_settings: object) -> None:
    """Connect to nobody."""


def shutdown() -> None:
    """Leave nothing behind."""


def nodes() -> list[dict[str, Any]]:
    """Return the nodes as Ray does."""
    found = sorted(Path(os.environ["SIMULATED_RAY"]).iterdir())
    return [
        {
            "Alive": True,
            "NodeID": str(file),
            "NodeName": file.name,
            "NodeManagerAddress": "10.0.0.1",
        }
        for file in found
    ]


def remote(_function: object) -> SimpleNamespace:
    """Return a task; its reference is the node that it would run on."""

    def options(scheduling_strategy: str, **_others: object) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *_arguments: scheduling_strategy)

    return SimpleNamespace(options=options)


def wait(references: list[str], **_limits: object) -> tuple[list[str], list[str]]:
    """All nodes have answered."""
    return references, []


def get(reference: str, timeout: float) -> Any:
    """Return what a node has answered."""
    assert timeout == 0
    return pickle.loads(Path(reference).read_bytes())
