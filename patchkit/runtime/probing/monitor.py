"""Has the interpreter tell of every call of a function, by `sys.monitoring` of Python 3.12.

No object of upstream is replaced, and code that is not watched runs as fast as before.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType, FunctionType
from typing import Any

from patchkit.core.record import Record

Listener = Callable[[FrameType], None]
"""Is told of a call, with the frame of the function that is called."""

_NAME = "patchkit probe"
_TOOLS = (3, 4)
"""Those that Python has no purpose for; patchkit's other observer takes 4 first."""


class _Watched(Record, frozen=False, eq=False):
    """A function that is watched.

    Args:
        function: The function, whose code nobody else runs.
        code: That code.
        listeners: Who is told, each with the target that the function stands for.
    """

    function: Any
    code: CodeType
    listeners: tuple[tuple[str, Listener], ...] = ()


class Monitor:
    """Tells listeners of the calls of functions.

    Args:
        tool: The number of a tool of `sys.monitoring`, which is taken.
    """

    def __init__(self, tool: int) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._tool = tool
        self._watched: dict[int, _Watched] = {}
        self._monitoring.register_callback(
            tool, self._monitoring.events.PY_START, self._started
        )

    @classmethod
    def take(cls) -> "Monitor | None":
        """Take a tool that is free.

        Returns:
            The monitor; None before Python 3.12, or where others have all tools.
        """
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            return None
        for tool in _TOOLS:
            with suppress(ValueError):  # it is somebody's
                monitoring.use_tool_id(tool, _NAME)
                return cls(tool)
        return None

    def watch(
        self, function: FunctionType, target: str, listener: Listener, *, copies: bool
    ) -> None:
        """Tell of each call of a function from now on, by whatever name it is called.

        Args:
            function: The function.
            target: The target that it stands for, which is told once of each call.
            listener: What is told.
            copies: Whether the function may get a copy of its code, if other functions share it.
        """
        watched = self._of(function, copies=copies)
        others = [pair for pair in watched.listeners if pair[0] != target]
        # Never changed in place, as another thread may be telling them.
        watched.listeners = (*others, (target, listener))
        self._monitoring.set_local_events(
            self._tool, watched.code, self._monitoring.events.PY_START
        )

    def leave(self, function: FunctionType, target: str) -> None:
        """Tell of no more calls of a function for a target.

        Args:
            function: The function.
            target: The target that it stood for.
        """
        for watched in list(self._watched.values()):
            if watched.function is function:
                watched.listeners = tuple(
                    pair for pair in watched.listeners if pair[0] != target
                )

    def _of(self, function: FunctionType, *, copies: bool) -> _Watched:
        """Return what is watched of a function, by the code that it has now."""
        code = function.__code__
        watched = self._watched.get(id(code))
        if watched is not None and (watched.function is function or not copies):
            return watched
        # What one `def` within a function makes shares its code, such as a decorator's wrappers;
        # the name of the function itself may have been changed since.
        name: str = code.co_qualname  # type: ignore[attr-defined, unused-ignore]
        if copies and (watched is not None or "<locals>" in name):
            code = code.replace()
            function.__code__ = code
        watched = _Watched(function, code)
        self._watched[id(code)] = watched
        return watched

    def _started(self, code: CodeType, _offset: int) -> None:
        watched = self._watched.get(id(code))
        if watched is not None:
            frame = sys._getframe(1)  # noqa: SLF001 - the call that is told of
            for _, listener in watched.listeners:
                listener(frame)
