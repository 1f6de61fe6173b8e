"""How a process ends in which a required patch failed, and somebody swallowed the error."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from patchkit.errors import PatchkitError
from patchkit.process.log import say

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_CODE = 70
"""`EX_SOFTWARE` of sysexits.h: no program of vLLM's ends with it."""


class Ending:
    """
    Sees to the exit code.

    Args:
        reason: says why the process must not end well, or returns None.

    """

    def __init__(self, reason: Callable[[], str | None]) -> None:
        self._reason = reason
        self.is_ours = False
        """Whether the process is the session's, to end as it says; no test's, for example."""

    def prepare(self) -> None:
        """Be asked when the interpreter ends, first."""
        atexit.unregister(self._at_exit)
        atexit.register(self._at_exit)

    def code(self, code: Any = 0) -> Any:
        """Return the exit code of a child process that would end with this one."""
        return EXIT_CODE if self.is_ours and self._reason() else code

    def _at_exit(self) -> None:
        """Run what else is to be run at the end, and leave; nothing later can set the code."""
        atexit.unregister(self._at_exit)
        reason = self._reason() if self.is_ours else None
        if reason is None or _is_told():
            return
        atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing ends a child
        say("error", f"exit code {EXIT_CODE}: {reason}")
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(EXIT_CODE)


def _is_told() -> bool:
    """Whether Python ends with an error of patchkit's, and its traceback."""
    error, trace = getattr(sys, "last_value", None), getattr(sys, "last_traceback", None)
    # A console notes its errors there too, and goes on; they came out of a frame within its own.
    if trace is None or trace.tb_frame.f_back is not None or hasattr(sys, "ps1"):
        return False
    while error is not None and not isinstance(error, PatchkitError):
        error = error.__cause__ or error.__context__
    return error is not None
