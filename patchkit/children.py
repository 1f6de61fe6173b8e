"""
Carry patchkit into the processes that `multiprocessing` starts, with the role of each.

A spawned child unpickles its preparation data before anything else; patchkit puts in there what
arms the child. A forked child has inherited the session, and only has to take on its role.
"""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING, Any

from patchkit.declaration import Role, Target
from patchkit.errors import PatchkitError
from patchkit.roles import role_of_name, role_of_process

if TYPE_CHECKING:
    from patchkit.session import Session

_START = Target.parse("multiprocessing.process:BaseProcess.start")
_BOOTSTRAP = Target.parse("multiprocessing.process:BaseProcess._bootstrap")
_PREPARE = Target.parse("multiprocessing.spawn:get_preparation_data")

# The child's sys.path is set by multiprocessing only after the data has been unpickled.
_ARRIVE = """
import sys
sys.path[:] = sys_path
from patchkit.process import arrive
arrive(role)
"""


def watch_children(session: Session) -> None:
    """Hook `multiprocessing` where it starts a child, and where a child begins."""
    starting = threading.local()

    def start(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        starting.role = role_of_process(process)
        try:
            return wrapped(*args, **kwargs)
        finally:
            starting.role = None

    def prepare(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        data = wrapped(*args, **kwargs)
        role = getattr(starting, "role", None) or role_of_name(str(data.get("name", "")))
        data["patchkit"] = Carrier(data.get("sys_path"), role)
        return data

    def bootstrap(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        return _begin(session, process) or wrapped(*args, **kwargs)

    for target, by in ((_START, start), (_BOOTSTRAP, bootstrap), (_PREPARE, prepare)):
        session.when_imported(target.module, _hook(session, target, by))


def _hook(session: Session, target: Target, by: Any) -> Any:
    return lambda module: session.hook_call(module, target, by)


def _begin(session: Session, process: Any) -> int:
    """Take on the role of a child process; 1, its exit code, where a required patch failed."""
    role = role_of_process(process)
    try:
        if role is not None and session.roles != {role}:
            session.become((role,))
        elif not session.roles:
            session.enter(Role.MAIN)
    except PatchkitError:
        traceback.print_exc()
        return 1
    return 0


class Carrier:
    """
    Unpickling it arms the process.

    Args:
        sys_path: the child's, as multiprocessing is about to set it.
        role: what the child is started for, where that is known.

    """

    def __init__(self, sys_path: list[str] | None, role: Role | None) -> None:
        self._sys_path = sys_path
        self._role = role

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        role = self._role.value if self._role else None
        path = list(self._sys_path or ())
        return exec, (_ARRIVE if path else _ARRIVE_HERE, {"sys_path": path, "role": role})


_ARRIVE_HERE = _ARRIVE.replace("sys.path[:] = sys_path\n", "")
