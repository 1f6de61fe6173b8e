"""Makes objects that arm a process when they are unpickled there, before what follows them."""

from typing import Any

from patchkit.core.rows.declaration import Role

# These run where patchkit may not be installed, so they are text and not functions.
_ARRIVE = """
import sys
if sys_path:
    sys.path[:] = sys_path
try:
    from patchkit.runtime.reach.arming import {arrive}
except ModuleNotFoundError as error:
    import os
    raise RuntimeError(
        "the process that started this one is patched by patchkit, but on node "
        + os.uname().nodename + " " + sys.executable + " has no patchkit: " + str(error)
        + ". Install vllm-patchkit there."
    ) from error
{arrive}(role)
"""
# Ray takes any `Exception` for a class that it can do without, goes on to the arguments, and
# reports what fails there. The text of a `SystemExit` it hands to whoever asked for the actor.
_ARRIVE_IN_ACTOR = """
try:
    exec(arrive)
except Exception as error:
    import os, sys
    if not any(word.endswith("default_worker.py") for word in sys.orig_argv):
        raise
    kind, node = type(error).__name__, os.uname().nodename
    raise SystemExit(f"(patchkit on node {node}) {kind}: {error}") from error
"""
# A base that is none: `__mro_entries__` says so wherever a class is made of it.
_AS_BASE = """exec(code) or type(
    "Carried", (), {"__module__": "__main__", "__mro_entries__": lambda self, bases: ()}
)()"""


class Carrier:
    """Unpickling it arms the process; what comes out is None.

    Args:
        role: The role of the process, where it is known.
        sys_path: For a process that would set its own only after the unpickling.
    """

    arrive = "arrive"

    def __init__(self, role: Role | None, sys_path: list[str] | None = None) -> None:
        self._role = role
        self._sys_path = sys_path

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        return exec, (self._code(), self._names())

    def _code(self) -> str:
        return _ARRIVE.replace("{arrive}", self.arrive)

    def _names(self) -> dict[str, Any]:
        role = None if self._role is None else self._role.value
        return {"sys_path": self._sys_path, "role": role}


class ActorCarrier(Carrier):
    """The same for a Ray actor's class, pickled as if it were its first base class.

    A class may return to the process that sent it, with an error for example: it does nothing
    there. A worker process that cannot be armed ends and says why.
    """

    arrive = "arrive_in_actor"

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        names = {**self._names(), "arrive": self._code(), "code": _ARRIVE_IN_ACTOR}
        return eval, (_AS_BASE, names)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[()]:
        return ()

    def put_before(self, cls: type) -> None:
        """Have `cls`, a class that is pickled by value, carry this before its bases."""
        cls.__orig_bases__ = (self, *cls.__bases__)  # type: ignore[attr-defined]
