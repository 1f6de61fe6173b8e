"""What arms a process by being unpickled there, before anything that lies behind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchkit.declaration import Role

# Runs where patchkit may not be installed, so it is text and not a function.
_ARRIVE = """
import sys
if sys_path:
    sys.path[:] = sys_path
try:
    from patchkit.process import {arrive}
except ModuleNotFoundError as error:
    import os
    raise RuntimeError(
        "the process that started this one is patched by patchkit, but on node "
        + os.uname().nodename + " " + sys.executable + " has no patchkit: " + str(error)
        + ". Install vllm-patchkit there."
    ) from error
{arrive}(role)
"""


class Carrier:
    """
    Unpickling it arms the process; what comes out is None.

    Args:
        role: what the process is started for, where that is known.
        sys_path: what `sys.path` will be there, where it is set only after the unpickling.

    """

    arrive = "arrive"

    def __init__(self, role: Role | None, sys_path: list[str] | None = None) -> None:
        self._role = role
        self._sys_path = sys_path

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        role = self._role.value if self._role else None
        code = _ARRIVE.replace("{arrive}", self.arrive)
        return exec, (code, {"sys_path": self._sys_path, "role": role})


class ActorCarrier(Carrier):
    """
    The same for a Ray actor's class.

    A class may come back to the process that sent it, with an error for example; there it does
    nothing.
    """

    arrive = "arrive_in_actor"
