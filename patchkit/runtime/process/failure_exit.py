"""Makes a process in which a required patch has failed exit with an error, whatever it does."""

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from patchkit.errors import PatchkitError
from patchkit.runtime.process.journal import say

EXIT_CODE = 70
"""`EX_SOFTWARE` of sysexits.h; no program of vLLM's ends with it."""


class FailureExit:
    """Makes a process exit with `EXIT_CODE` where a required patch has failed.

    Args:
        reason_to_fail: returns the failure as a message; None if the process may exit with 0.
    """

    def __init__(self, reason_to_fail: Callable[[], str | None]) -> None:
        self._reason_to_fail = reason_to_fail

    def arrange(self) -> None:
        """Have `_at_exit` run at the end, before atexit functions that are registered by now."""
        atexit.unregister(self._at_exit)
        atexit.register(self._at_exit)

    def code(self, code: Any) -> Any:
        """Choose the exit code of a child process, which runs no atexit functions.

        Args:
            code: the exit code that it would have.

        Returns:
            `EXIT_CODE` where a required patch has failed, otherwise `code`.
        """
        return EXIT_CODE if self._reason_to_fail() else code

    def _at_exit(self) -> None:
        """Run the other atexit functions, then exit: a SystemExit here would be ignored."""
        atexit.unregister(self._at_exit)
        reason = self._reason_to_fail()
        if reason is None or _is_reported():
            return
        atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing ends a child
        say("error", f"exit code {EXIT_CODE}: {reason}")
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(EXIT_CODE)


def _is_reported() -> bool:
    """Whether Python ends for an uncaught error of patchkit's, and has printed its traceback."""
    error = getattr(sys, "last_value", None)
    trace = getattr(sys, "last_traceback", None)
    # An interactive console sets these too, and goes on; its traceback begins in an inner frame.
    if trace is None or trace.tb_frame.f_back is not None or hasattr(sys, "ps1"):
        return False
    while error is not None and not isinstance(error, PatchkitError):
        error = error.__cause__ or error.__context__
    return error is not None
