"""
Carry patchkit into children of `multiprocessing`, and of `multiprocess`, with the role of each.

A spawned child unpickles its preparation data first; patchkit adds an object that arms the child.
A forked child has inherited the session, and only takes on its role. vLLM's
model registry starts a helper with `subprocess`, which unpickles the function that it is to call.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from patchkit.errors import PatchkitError
from patchkit.process.roles import LIBRARIES, role_of_name, role_of_process
from patchkit.reach.carrier import Carrier
from patchkit.rows.declaration import Role
from patchkit.rows.target import Target

if TYPE_CHECKING:
    from patchkit.process.session import Session

_START = "process:BaseProcess.start"
_BOOTSTRAP = "process:BaseProcess._bootstrap"
_PREPARE = "spawn:get_preparation_data"
_ASK_HELPER = Target.parse("vllm.model_executor.models.registry:_run_in_subprocess")


def watch_children(session: Session) -> None:
    """Hook the functions that start a child, and the one with which a child begins."""
    starting = threading.local()

    def start(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        starting.role = role = role_of_process(process)
        try:
            result = wrapped(*args, **kwargs)
        finally:
            starting.role = None
        session.journal.write(
            "child", child=process.pid, name=process.name, role=role and str(role)
        )
        return result

    def prepare(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        data = wrapped(*args, **kwargs)
        role = getattr(starting, "role", None) or role_of_name(str(data.get("name", "")))
        data["patchkit"] = Carrier(role, data.get("sys_path"))
        return data

    def bootstrap(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        return _begin(session, process) or session.lookout.exit_code(wrapped(*args, **kwargs))

    for library in LIBRARIES:
        for place, by in ((_START, start), (_BOOTSTRAP, bootstrap), (_PREPARE, prepare)):
            session.hooks.wrap(Target.parse(f"{library}.{place}"), by)
    session.hooks.wrap(_ASK_HELPER, _ask)


def _ask(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Arm the helper of the model registry before it calls its function."""
    function, *rest = args
    carrying = partial(function)
    carrying.patchkit = Carrier(Role.MAIN, list(sys.path))  # type: ignore[attr-defined]
    return wrapped(carrying, *rest, **kwargs)


def _begin(session: Session, process: Any) -> int:
    """Take on the role of a child process; return exit code 1 where a required patch failed."""
    role = role_of_process(process)
    try:
        if role is not None and session.roles != {role}:
            session.become((role,))
        elif not session.roles:
            session.enter(Role.MAIN)
    except PatchkitError:
        from traceback import print_exc  # noqa: PLC0415 - no start pays for it

        print_exc()
        session.lookout.end_as_told()  # from Python 3.13 on, a forked child has its `atexit` too
        return 1
    return 0
