"""Makes objects that arm a process by being unpickled there, before what is pickled after them."""

from typing import Any

# This code runs where patchkit may not be installed, so it is pickled as text, not as functions.
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
# After an `Exception`, Ray goes on to unpickle the actor's arguments, and reports only what fails
# there. The text of a `SystemExit` reaches the process that has created the actor. Only a worker
# process, which runs Ray's `default_worker.py`, is ended so.
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
# Its value stands among the base classes of the actor's class, so it must be an object whose
# `__mro_entries__` names no base. `exec` arms the process and returns None, so that `or` goes on.
_AS_BASE = """exec(code) or type(
    "Carried", (), {"__module__": "__main__", "__mro_entries__": lambda self, bases: ()}
)()"""


class Carrier:
    """An object that arms the process in which it is unpickled; it is None there.

    Args:
        role: The role of that process, or several as `names_of` writes them; None or '' if none is
            known.
        sys_path: Becomes `sys.path` first, if that process sets its own only later; None if not.
    """

    arrive = "arrive"
    """The function of `arming` that the process is to call."""

    def __init__(self, role: str | None, sys_path: list[str] | None = None) -> None:
        self._role = role
        self._sys_path = sys_path

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        """Have `exec(code, names)` called in place of unpickling; its result is None."""
        return exec, (self._code(), self._names())

    def _code(self) -> str:
        return _ARRIVE.replace("{arrive}", self.arrive)

    def _names(self) -> dict[str, Any]:
        # Not a `Role`, which is unpickled by an import of patchkit.
        role = str(self._role) if self._role else None
        return {"sys_path": self._sys_path, "role": role}


class ActorCarrier(Carrier):
    """A carrier for the class of a Ray actor, which is pickled as the first of its base classes.

    It does nothing in a process that is no worker of Ray's, as a class may come back to its sender,
    with an error for example. A worker process that cannot be armed ends and says why.
    """

    arrive = "arrive_in_actor"

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        """Have `eval(_AS_BASE, names)` called: it arms, and makes an object that is no base."""
        names = {**self._names(), "arrive": self._code(), "code": _ARRIVE_IN_ACTOR}
        return eval, (_AS_BASE, names)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[()]:
        """Be no base of a class that is made with this among its bases."""
        return ()

    def put_before(self, cls: type) -> None:
        """Put this carrier first in the `__orig_bases__` of a class.

        cloudpickle pickles these before the rest of the class. So the process that unpickles the
        class is armed before it imports anything that the class needs.

        Args:
            cls: The actor's class.
        """
        cls.__orig_bases__ = (self, *cls.__bases__)  # type: ignore[attr-defined]
