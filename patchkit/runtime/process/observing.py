"""Observes whether code has run: the interpreter tells, no code is changed, no call costs more.

Since Python 3.12 `sys.monitoring` tells of a first call, and is switched off for that code then.
Before, the interpreter itself counts the first calls of code, to know what is worth optimising.
"""

import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import pairwise
from types import CodeType
from typing import Any

_NAME = "patchkit"
_TOOLS = (4, 3)
"""Those that Python has no purpose for."""


def observer() -> "Counted":
    """Make what this Python can observe with.

    Returns:
        An observer by `sys.monitoring`, or before Python 3.12 by the interpreter's own count.
    """
    if hasattr(sys, "monitoring"):
        return Monitored()
    return Counted()


class Counted:
    """Reads the count that the interpreter keeps, which ends where code counts as hot."""

    def __init__(self) -> None:
        # By identity, as equal code is another's; each as often as it is to be forgotten.
        self._codes: dict[int, list[CodeType]] = {}
        self._first: dict[int, int] = {}

    def watch(self, codes: Iterable[CodeType]) -> None:
        """Observe some code, until it is forgotten as often.

        Args:
            codes: The code; what is not observed yet is from now on.
        """
        for code in codes:
            watched = self._codes.setdefault(id(code), [])
            if not watched:
                self._begin(code)
            watched.append(code)

    def forget(self, codes: Iterable[CodeType]) -> None:
        """Take back that some code is observed.

        Args:
            codes: The code.
        """
        for code in codes:
            watched = self._codes.get(id(code), [code])
            watched.pop()
            if not watched:
                self._codes.pop(id(code), None)
                self._leave(code)

    def has_run(self, code: CodeType) -> bool | None:
        """Say whether code has run since it is observed.

        Args:
            code: The code.

        Returns:
            None where that cannot be observed, as it was hot before.
        """
        first = self._first.get(id(code))
        if first is None:
            return None
        count, _ = self._count(code)
        return count != first

    def close(self) -> None:
        """Observe nothing more."""
        for watched in list(self._codes.values()):
            self.forget(list(watched))

    def _begin(self, code: CodeType) -> None:
        count, end = self._count(code)
        if count != end:
            self._first[id(code)] = count

    def _leave(self, code: CodeType) -> None:
        self._first.pop(id(code), None)

    def _count(self, code: CodeType) -> tuple[int, int]:
        """How often it has run, and where the count ends; the same where nobody counts."""
        counter = _counter()
        if counter is None:
            return 0, 0
        number, offset, end = counter
        return int(number.from_address(id(code) + offset).value), end


class Monitored(Counted):
    """Has `sys.monitoring` tell instead; where others have all tools, nothing can be observed."""

    def __init__(self) -> None:
        super().__init__()
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._tool: int | None = None
        self._ran: dict[int, bool] = {}

    def has_run(self, code: CodeType) -> bool | None:
        """Say whether code has run since it is observed.

        Args:
            code: The code.

        Returns:
            None where that cannot be observed.
        """
        return self._ran.get(id(code))

    def close(self) -> None:
        """Observe nothing more, and give the tool back."""
        super().close()
        if self._has_tool():
            self._monitoring.register_callback(
                self._tool, self._monitoring.events.PY_START, None
            )
            self._monitoring.free_tool_id(self._tool)
            self._tool = None

    def _begin(self, code: CodeType) -> None:
        if self._tool is None:
            self._tool = self._free_tool()
        if self._has_tool():
            self._ran[id(code)] = False
            self._monitoring.set_local_events(
                self._tool, code, self._monitoring.events.PY_START
            )

    def _leave(self, code: CodeType) -> None:
        if self._ran.pop(id(code), None) is not None and self._has_tool():
            self._monitoring.set_local_events(self._tool, code, 0)

    def _has_tool(self) -> bool:
        """Whether the tool is still ours; if somebody has freed it, nothing is known any more."""
        if self._tool is not None and self._monitoring.get_tool(self._tool) != _NAME:
            self._tool = None
            self._ran.clear()
        return self._tool is not None

    def _free_tool(self) -> int | None:
        monitoring = self._monitoring
        for tool in _TOOLS:
            with suppress(ValueError):  # it is somebody's
                monitoring.use_tool_id(tool, _NAME)
                monitoring.register_callback(
                    tool, monitoring.events.PY_START, self._started
                )
                return tool
        return None

    def _started(self, code: CodeType, _: int) -> object:
        if id(code) in self._ran:
            self._ran[id(code)] = True
        return self._monitoring.DISABLE


@cache
def _counter() -> tuple[Any, int, int] | None:
    """Find the one number in a code object that grows by one with each of its first calls.

    Returns:
        Its type, its offset in bytes, and the last that it counts to; None where there is none.
    """
    try:
        # Not `ctypes`: an import hook of somebody's that rewrites modules may not get through it.
        from _ctypes import _SimpleCData, sizeof  # noqa: PLC0415 - only where patches apply
    except ImportError:
        return None
    if sys.implementation.name != "cpython":
        return None
    number: Any = type("c_int16", (_SimpleCData,), {"_type_": "h"})

    def probe() -> None:
        pass

    probe.__code__ = code = probe.__code__.replace()
    states = []
    offsets = range(0, type(code).__basicsize__, sizeof(number))
    for _ in range(4):
        states.append(
            [number.from_address(id(code) + offset).value for offset in offsets]
        )
        probe()
    grown = [
        offset
        for offset, values in zip(offsets, zip(*states, strict=True), strict=True)
        if all(later - earlier == 1 for earlier, later in pairwise(values))
    ]
    if len(grown) != 1:
        return None
    for _ in range(_HOT):
        probe()
    end = number.from_address(id(code) + grown[0]).value
    probe()
    if number.from_address(id(code) + grown[0]).value != end:
        return None
    return number, grown[0], end


_HOT = 2000
"""More calls than any interpreter counts: 8 in Python 3.11, 1,024 in 3.10."""
