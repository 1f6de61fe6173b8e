"""Writes which modules of vLLM run functions in a process: the witness of `module_roles.py`.

`patchkit run` runs it as the `sitecustomize` that its own hides. It needs Python 3.12. A call while
a module is imported does not count: such calls are the same in every process.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

FILE = os.environ["ROLE_WITNESS"]
OPTIMIZED = 0x1
"""The flag of a function's code; modules and bodies of classes lack it."""
TOOL = 1
MONITORING: Any = vars(sys)["monitoring"]
SEEN: set[str] = set()


def is_importing(frame: FrameType | None) -> bool:
    """Whether a module is executed in this thread, as importlib's frames tell."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def started(code: CodeType, _offset: int) -> Any:
    """Write the module of a function that runs for the first time."""
    if not code.co_flags & OPTIMIZED or "/vllm/" not in code.co_filename:
        return MONITORING.DISABLE
    frame = sys._getframe(1)  # noqa: SLF001 - the call
    if is_importing(frame):
        return None
    module = frame.f_globals.get("__name__", "")
    if module not in SEEN:
        SEEN.add(module)
        file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{os.getpid()} {module}\n".encode())
        os.close(file)
    return MONITORING.DISABLE


def forked() -> None:
    """Begin anew in a child."""
    SEEN.clear()
    MONITORING.restart_events()


MONITORING.use_tool_id(TOOL, "role witness")
MONITORING.register_callback(TOOL, MONITORING.events.PY_START, started)
MONITORING.set_events(TOOL, MONITORING.events.PY_START)
os.register_at_fork(after_in_child=forked)
