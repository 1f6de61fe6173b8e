"""patchkit: the patch manager for vLLM. This is the whole vocabulary of a pack author.

PYTEST_DONT_REWRITE: pytest would warn where patchkit armed the process before pytest came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit import unchecked as _unchecked  # noqa: F401 - first: what comes later is unchecked
from patchkit.imports.finder import watch_bodies
from patchkit.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Edit,
    Patch,
    Provide,
    Replace,
    Role,
    Wrap,
)
from patchkit.rows.processes import ProcessRow

if TYPE_CHECKING:
    from patchkit.testing.applied import applied


def _arm() -> None:
    from patchkit.reach.arming import arm_unasked  # noqa: PLC0415 - once other code imports a body

    arm_unasked()


watch_bodies(_arm)

__version__ = "0.2.0"

__all__ = [
    "Add",
    "AddField",
    "AfterImport",
    "BeforeImport",
    "Edit",
    "Patch",
    "ProcessRow",
    "Provide",
    "Replace",
    "Role",
    "Wrap",
    "applied",
]


def __getattr__(name: str) -> Any:
    # For tests: no process that is patched has a use for it.
    if name == "applied":
        from patchkit.testing.applied import applied  # noqa: PLC0415

        return applied
    if name == "ray":  # `patchkit.ray.runtime_env()`, without an import of its own
        from importlib import import_module  # noqa: PLC0415

        return import_module("patchkit.ray")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
