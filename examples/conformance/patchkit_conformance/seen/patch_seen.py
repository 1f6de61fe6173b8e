"""Upstream does nothing wrong here: the bodies note that they ran, and in which process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit_conformance.seen import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    By = Callable[[Callable[..., Any], Any, Sequence[Any], Mapping[str, Any]], Any]


def _noting(role: str) -> By:
    def by(
        wrapped: Callable[..., Any],
        _instance: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        with Path(os.environ[VARIABLE]).open("a") as file:
            file.write(f"{role} {os.getpid()}\n")
        return wrapped(*args, **kwargs)

    return by


main = _noting("main")
engine_core = _noting("engine-core")
worker = _noting("worker")
