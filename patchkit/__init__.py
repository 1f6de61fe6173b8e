"""patchkit: the patch manager for vLLM and SGLang. This is the whole vocabulary of a pack author.

PYTEST_DONT_REWRITE tells pytest to leave the asserts of this module alone. Without it, pytest warns
if patchkit was imported before pytest, as it is where the environment arms every process.
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
from patchkit.core.engines.engine import Engine
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Decorate,
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
    """Arm this process, as other code has imported a body and nothing has armed it before."""
    from patchkit.runtime.reach.arming import arm_unasked  # noqa: PLC0415 - once other code imports a body

    arm_unasked("the import of a body")


# A body that an unpickled object brings along arms the process, too.
watch_bodies(_arm)

__version__ = "0.3.0"

__all__ = [
    "Add",
    "AddField",
    "AfterImport",
    "BeforeImport",
    "Decorate",
    "Edit",
    "Engine",
    "Patch",
    "ProcessRow",
    "Provide",
    "Replace",
    "Role",
    "Wrap",
    "applied",
]


def __getattr__(name: str) -> Any:
    """Import `applied` and `patchkit.ray` when they are first asked for: few processes need them.

    `applied` is for tests. `patchkit.ray.runtime_env()` works without `import patchkit.ray`.
    """
    if name == "applied":
        from patchkit.runtime.testing.applied import applied  # noqa: PLC0415

        return applied
    if name == "ray":
        from importlib import import_module  # noqa: PLC0415

        return import_module("patchkit.ray")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
