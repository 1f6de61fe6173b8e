"""Writes which modules of an engine run functions in a process: the witness of `module_roles.py`.

`patchkit run` runs it as the `sitecustomize` that its own hides. A call while a module is imported
does not count: such calls are the same in every process. Before Python 3.12, a profiler tells of
calls, which takes much longer.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

FILE = os.environ["ROLE_WITNESS"]
PACKAGE = os.environ["ROLE_WITNESS_PACKAGE"]
OPTIMIZED = 0x1
"""The flag of a function's code; modules and bodies of classes lack it."""
TOOL = 1
MONITORING: Any = vars(sys).get("monitoring")
SEEN: set[str] = set()
DONE: set[CodeType] = set()
"""The functions that the profiler need not look at any more."""


def is_importing(frame: FrameType | None) -> bool:
    """Whether a module is executed in this thread, as importlib's frames tell."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def is_of_package(code: CodeType) -> bool:
    """Whether code is a function of the engine."""
    is_function = bool(code.co_flags & OPTIMIZED)
    return is_function and f"/{PACKAGE}/" in code.co_filename


def started(code: CodeType, _offset: int) -> Any:
    """Write the module of a function that runs for the first time, as Python 3.12 tells."""
    if not is_of_package(code):
        return MONITORING.DISABLE
    frame = sys._getframe(1)  # noqa: SLF001 - the call
    if is_importing(frame):
        return None
    write(frame)
    return MONITORING.DISABLE


def profiled(frame: FrameType, event: str, _argument: object) -> None:
    """Write the module of a function that runs for the first time, as a profiler tells."""
    code = frame.f_code
    if event != "call" or code in DONE:
        return
    if is_of_package(code):
        if is_importing(frame):
            return
        write(frame)
    DONE.add(code)


def write(frame: FrameType) -> None:
    """Write the module of a call."""
    module = frame.f_globals.get("__name__", "")
    if module not in SEEN:
        SEEN.add(module)
        file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{os.getpid()} {module}\n".encode())
        os.close(file)


def forked() -> None:
    """Begin anew in a child."""
    SEEN.clear()
    DONE.clear()
    if MONITORING is not None:
        MONITORING.restart_events()


if MONITORING is None:
    threading.setprofile(profiled)
    sys.setprofile(profiled)
else:
    MONITORING.use_tool_id(TOOL, "role witness")
    MONITORING.register_callback(TOOL, MONITORING.events.PY_START, started)
    MONITORING.set_events(TOOL, MONITORING.events.PY_START)
os.register_at_fork(after_in_child=forked)
