"""Observes whether code has run, without changing the code or slowing down its calls.

Since Python 3.12, `sys.monitoring` reports the first call of a code object, and is then disabled
for it. Before, this reads the counter that the interpreter keeps in each code object until the code
is *hot*, which means worth optimising.
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
"""The tool ids that Python reserves for no purpose."""


def observer() -> "Counted":
    """Make an observer for this version of Python.

    Returns:
        One that uses `sys.monitoring`, or before Python 3.12 the interpreter's own counter.
    """
    if hasattr(sys, "monitoring"):
        return Monitored()
    return Counted()


class Counted:
    """Reads the interpreter's counter of calls, which stops once the code is hot."""

    def __init__(self) -> None:
        # By `id`, as equal code may be another function's. Each `watch` of it adds it to its list.
        self._codes: dict[int, list[CodeType]] = {}
        self._first: dict[int, int] = {}  # by `id`, the count when observation began

    def watch(self, codes: Iterable[CodeType]) -> None:
        """Begin to observe code objects.

        A code object may be watched several times, for several patches. It is observed until
        `forget` was called for it as often.

        Args:
            codes: The code objects.
        """
        for code in codes:
            watched = self._codes.setdefault(id(code), [])
            if not watched:
                self._start(code)
            watched.append(code)

    def forget(self, codes: Iterable[CodeType]) -> None:
        """Undo one `watch` of each code object; the last one ends its observation.

        Args:
            codes: The code objects.
        """
        for code in codes:
            # Code that is not known (any more) counts as watched once.
            watched = self._codes.get(id(code), [code])
            watched.pop()
            if not watched:
                self._codes.pop(id(code), None)
                self._stop(code)

    def has_run(self, code: CodeType) -> bool | None:
        """Return whether code has run since its observation began.

        Args:
            code: The code object.

        Returns:
            None if that cannot be observed, as the code was hot before.
        """
        first = self._first.get(id(code))
        if first is None:
            return None
        count, _ = self._read_count(code)
        return count != first

    def close(self) -> None:
        """End the observation of all code."""
        for watched in list(self._codes.values()):
            self.forget(list(watched))

    def _start(self, code: CodeType) -> None:
        """Begin to observe code, unless it is hot already."""
        count, end = self._read_count(code)
        if count != end:
            self._first[id(code)] = count

    def _stop(self, code: CodeType) -> None:
        self._first.pop(id(code), None)

    def _read_count(self, code: CodeType) -> tuple[int, int]:
        """Return a code's counter and the value at which it stops; both 0 without a counter."""
        counter = _find_counter()
        if counter is None:
            return 0, 0
        number, offset, end = counter
        return int(number.from_address(id(code) + offset).value), end


class Monitored(Counted):
    """Uses `sys.monitoring`; if other tools have taken all ids, nothing can be observed."""

    def __init__(self) -> None:
        super().__init__()
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._tool: int | None = None
        self._ran: dict[int, bool] = {}  # by `id` of the code

    def has_run(self, code: CodeType) -> bool | None:
        """Return whether code has run since its observation began.

        Args:
            code: The code object.

        Returns:
            None if that cannot be observed.
        """
        return self._ran.get(id(code))

    def close(self) -> None:
        """End the observation of all code, and free the tool id."""
        super().close()
        if self._has_tool():
            self._monitoring.register_callback(
                self._tool, self._monitoring.events.PY_START, None
            )
            self._monitoring.free_tool_id(self._tool)
            self._tool = None

    def _start(self, code: CodeType) -> None:
        """Have the next call of code reported."""
        if self._tool is None:
            self._tool = self._free_tool()
        if self._has_tool():
            self._ran[id(code)] = False
            self._monitoring.set_local_events(
                self._tool, code, self._monitoring.events.PY_START
            )

    def _stop(self, code: CodeType) -> None:
        if self._ran.pop(id(code), None) is not None and self._has_tool():
            self._monitoring.set_local_events(self._tool, code, 0)  # no events

    def _has_tool(self) -> bool:
        """Whether the tool id is still ours; if it was freed, all that was observed is dropped."""
        if self._tool is not None and self._monitoring.get_tool(self._tool) != _NAME:
            self._tool = None
            self._ran.clear()
        return self._tool is not None

    def _free_tool(self) -> int | None:
        """Take a free tool id, with a callback for calls; None if there is none."""
        monitoring = self._monitoring
        for tool in _TOOLS:
            with suppress(ValueError):  # another tool has this id
                monitoring.use_tool_id(tool, _NAME)
                monitoring.register_callback(
                    tool, monitoring.events.PY_START, self._on_start
                )
                return tool
        return None

    def _on_start(self, code: CodeType, _: int) -> object:
        """Record a call, and ask to be told of no further call of this code."""
        if id(code) in self._ran:
            self._ran[id(code)] = True
        return self._monitoring.DISABLE


@cache
def _find_counter() -> tuple[Any, int, int] | None:
    """Find the counter in code objects: the only 16 bits that grow by one with each of some calls.

    Where it lies differs between releases of Python, so a function is called and its memory read.

    Returns:
        The type of the counter, its offset in bytes, and the value at which it stops; None if there
        is no such counter.
    """
    try:
        # Not `ctypes`, with which some import hooks that rewrite modules fail.
        from _ctypes import _SimpleCData, sizeof  # noqa: PLC0415 - only where patches apply
    except ImportError:
        return None
    if sys.implementation.name != "cpython":
        return None
    number: Any = type("c_int16", (_SimpleCData,), {"_type_": "h"})  # as in `ctypes`

    def probe() -> None:
        pass

    # A copy, as the counter of the original may have been used.
    probe.__code__ = code = probe.__code__.replace()
    states = []
    offsets = range(0, type(code).__basicsize__, sizeof(number))
    for _ in range(4):
        states.append(
            [number.from_address(id(code) + offset).value for offset in offsets]
        )
        probe()
    growing = [
        offset
        for offset, values in zip(offsets, zip(*states, strict=True), strict=True)
        if all(later - earlier == 1 for earlier, later in pairwise(values))
    ]
    if len(growing) != 1:
        return None
    counter_offset = growing[0]
    for _ in range(_HOT):
        probe()
    end = number.from_address(id(code) + counter_offset).value
    probe()
    if number.from_address(id(code) + counter_offset).value != end:
        return None  # it goes on counting
    return number, counter_offset, end


_HOT = 2000
"""More calls than any interpreter counts; Python 3.11 counts 8, and 3.10 counts 1,024."""
