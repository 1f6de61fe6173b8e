"""Writes which modules of vLLM run functions in a process: the witness of `module_roles.py`.

`patchkit run` runs it as the `sitecustomize` that its own hides. It needs Python 3.12. A call while
a module is imported does not count: such calls are the same in every process.
"""

import os
import sys

FILE = os.environ["ROLE_WITNESS"]
OPTIMIZED = 0x1
"""The flag of a function's code; modules and bodies of classes lack it."""
TOOL = 1

SEEN = set()


def is_importing(frame):
    """Whether a module is executed in this thread, as importlib's frames tell."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def started(code, _):
    """Write the module of a function that runs for the first time."""
    if not code.co_flags & OPTIMIZED or "/vllm/" not in code.co_filename:
        return sys.monitoring.DISABLE
    frame = sys._getframe(1)  # noqa: SLF001 - the call
    if is_importing(frame):
        return None
    module = frame.f_globals.get("__name__", "")
    if module not in SEEN:
        SEEN.add(module)
        file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{os.getpid()} {module}\n".encode())
        os.close(file)
    return sys.monitoring.DISABLE


def forked():
    """Begin anew in a child."""
    SEEN.clear()
    sys.monitoring.restart_events()


sys.monitoring.use_tool_id(TOOL, "role witness")
sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, started)
sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
os.register_at_fork(after_in_child=forked)
