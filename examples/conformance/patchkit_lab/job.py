"""What the drivers of Ray jobs have in common: the job's runtime environment."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# Ray's worker processes inherit from the node, not from the driver.
SETTINGS = ("VLLM_", "PATCHKIT_")


def runtime_env(words: Sequence[str]) -> dict[str, Any]:
    """The driver's settings, and patchkit's way in where `--runtime-env` is among the words."""
    settings = {
        name: value for name, value in os.environ.items() if name.startswith(SETTINGS)
    }
    env: dict[str, Any] = {"env_vars": settings}
    if "--runtime-env" in words:
        from patchkit import ray

        env = ray.runtime_env(env)
    return env


def handed(words: Sequence[str]) -> object:
    """The object of `--object FILE`, which the driver hands to the actor."""
    if "--object" not in words:
        return None
    return pickle.loads(Path(words[words.index("--object") + 1]).read_bytes())


def of_generate(words: Sequence[str]) -> list[str]:
    """The words that `generate.py` knows, without what is the driver's."""
    return [word for word in words if word != "--runtime-env"]


class Engine:
    """What a user might write: an actor or a deployment that makes its engine when it is asked.

    Args:
        words: the arguments of `generate.py`.
        _object: reaches the process by pickle; nobody looks at it.
    """

    def __init__(self, words: list[str], _object: object = None) -> None:
        if "--patchkit" in words:
            import patchkit.auto  # noqa: F401
        self._words = words

    def generate(self) -> dict[str, Any]:
        """Make the engine, generate, report."""
        from patchkit_lab import generate

        return generate.generate(generate.arguments(self._words))
