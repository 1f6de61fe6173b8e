"""Observes the calls of functions by `sys.monitoring`, which Python has since 3.12.

No object of upstream is replaced, and code that is not watched runs as fast as before.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType, FunctionType
from typing import Any
from weakref import ref

from patchkit.core.record import Record
from patchkit.errors import TargetError

Listener = Callable[[FrameType], None]
"""A function that is called at the start of a call, with the frame of the called function."""

_NAME = "patchkit probe"
_TOOLS = (3, 4)
"""The tool ids that Python reserves for no purpose. `process.observing` takes 4 first."""


class _Watched(Record, frozen=False, eq=False):
    """A function that is watched.

    Args:
        function: A weak reference to the function.
        code: Its code; a copy that no other function has, unless `watch` was to make no copies.
        listeners: The listeners, each with the target that the function stands for.
        is_shared: Whether patches have put the code at several targets.
    """

    function: Callable[[], Any]
    code: CodeType
    listeners: tuple[tuple[str, Listener], ...] = ()
    is_shared: bool = False


class Monitor:
    """Calls listeners at every call of the functions that it watches.

    Args:
        tool: A tool id of `sys.monitoring`, which is in use by this monitor.
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
        """Make a monitor with a free tool id.

        Returns:
            The monitor; None before Python 3.12, or if other code uses all ids.
        """
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            return None
        for tool in _TOOLS:
            with suppress(ValueError):  # other code uses it
                monitoring.use_tool_id(tool, _NAME)
                return cls(tool)
        return None

    def watch(
        self, function: FunctionType, target: str, listener: Listener, *, copies: bool
    ) -> None:
        """Call a listener at each call of a function from now on, by whatever name it is called.

        Args:
            function: The function.
            target: The target that it stands for, which has only one listener.
            listener: The listener.
            copies: Whether the function may get a copy of its code, if other functions share it.

        Raises:
            TargetError: The function may get no copy, and another target's function has the same
                code.
        """
        watched = self._of(function, copies=copies)
        other_listeners = [pair for pair in watched.listeners if pair[0] != target]
        is_shared = bool(other_listeners) or watched.function() is not function
        # A call of such code does not show which of the targets it is of.
        if not copies and (is_shared or watched.is_shared):
            watched.is_shared = True
            raise TargetError("patches have put the same code at another target, too")
        # A new tuple, as another thread may be iterating over the old one.
        watched.listeners = (*other_listeners, (target, listener))
        self._monitoring.set_local_events(
            self._tool, watched.code, self._monitoring.events.PY_START
        )

    def leave(self, function: FunctionType, target: str) -> None:
        """Call the listener of a target no more at calls of a function.

        Args:
            function: The function.
            target: The target that it stood for.
        """
        for watched in list(self._watched.values()):
            if watched.function() is function:
                watched.listeners = tuple(
                    pair for pair in watched.listeners if pair[0] != target
                )

    def _of(self, function: FunctionType, *, copies: bool) -> _Watched:
        """Return the record of a function with the code that it has now; a new one if need be.

        The interpreter reports calls by their code. So that calls of other functions with the same
        code are not counted, the function gets a copy of its code, unless `copies` forbids it.
        """
        code = function.__code__
        watched = self._watched.get(id(code))
        # Without copies, functions with the same code share one record.
        if watched is not None and (watched.function() is function or not copies):
            return watched
        # All functions that a `def` inside of a function makes, such as a decorator's wrappers,
        # share its code. The code's name shows that, as the function may have been renamed.
        name: str = code.co_qualname  # type: ignore[attr-defined, unused-ignore]
        if copies and (watched is not None or "<locals>" in name):
            code = code.replace()  # an equal copy
            function.__code__ = code
        watched = _Watched(ref(function), code)
        self._watched[id(code)] = watched
        return watched

    def _started(self, code: CodeType, _offset: int) -> None:
        """Call the listeners of a function; Python calls this when code starts to run."""
        watched = self._watched.get(id(code))
        if watched is not None:
            frame = sys._getframe(1)  # noqa: SLF001 - of the watched function
            for _, listener in watched.listeners:
                listener(frame)
