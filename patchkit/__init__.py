"""patchkit: the patch manager for vLLM. This is the whole vocabulary of a pack author.

PYTEST_DONT_REWRITE: pytest would warn where patchkit armed the process before pytest came.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 10):  # noqa: UP036 - a checkout may meet any Python
    from patchkit.errors import DependencyError

    raise DependencyError(
        f"patchkit needs Python 3.10 or later, found Python {sys.version.split()[0]}"
    )

from patchkit.core import unchecked as _unchecked  # noqa: F401 - first: what comes later is unchecked
from patchkit.core.rows.declaration import (
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
from patchkit.core.rows.processes import ProcessRow
from patchkit.runtime.imports.finder import watch_bodies

if TYPE_CHECKING:
    from patchkit.runtime.testing.applied import applied


def _arm() -> None:
    from patchkit.runtime.reach.arming import arm_unasked  # noqa: PLC0415 - once other code imports a body

    arm_unasked("the import of a body")


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
        from patchkit.runtime.testing.applied import applied  # noqa: PLC0415

        return applied
    if name == "ray":  # `patchkit.ray.runtime_env()`, without an import of its own
        from importlib import import_module  # noqa: PLC0415

        return import_module("patchkit.ray")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
