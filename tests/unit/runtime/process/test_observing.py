"""Whether code has run, as this Python can tell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.runtime.process import observing
from patchkit.runtime.process.observing import Counted, observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

needs_monitoring = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="sys.monitoring"
)
counts = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="sys.monitoring is there"
)


@pytest.fixture
def eye() -> Iterator[Counted]:
    one = observer()
    yield one
    one.close()


def new() -> tuple[Callable[[], None], CodeType]:
    """A function with code of its own."""

    def function() -> None:
        pass

    function.__code__ = code = function.__code__.replace()
    return function, code


def test_each_code_for_itself(eye: Any) -> None:
    """Equal code is another's; what runs again is told once and for all."""
    (function, code), (_, other) = new(), new()
    assert code == other
    eye.watch([code, other])
    assert (eye.has_run(code), eye.has_run(other)) == (False, False)
    for _ in range(3000):
        function()
        assert eye.has_run(code) is True
    assert eye.has_run(other) is False


def test_what_ran_before_does_not_count(eye: Any) -> None:
    """Only what runs while it is watched; and anew when it is watched again."""
    function, code = new()
    function()
    eye.watch([code])
    assert eye.has_run(code) is False
    function()
    assert eye.has_run(code) is True
    eye.watch([])
    assert eye.has_run(code) is None
    eye.watch([code])
    assert eye.has_run(code) is False
    function()
    assert eye.has_run(code) is True


def test_generators(eye: Any) -> None:
    """They run when somebody takes the first value, not when they are made."""

    def generator() -> Iterator[int]:
        yield 1

    eye.watch([generator.__code__])
    made = generator()
    assert eye.has_run(generator.__code__) is False
    next(made)
    assert eye.has_run(generator.__code__) is True


def test_what_is_not_watched_is_not_known(eye: Any) -> None:
    """None, not False; leaving it changes nothing."""
    _, code = new()
    assert eye.has_run(code) is None
    eye.watch([])


@counts
def test_hot_code_is_not_known() -> None:
    """The interpreter has counted to its end before."""
    function, code = new()
    for _ in range(3000):
        function()
    one = observer()
    one.watch([code])
    function()
    assert one.has_run(code) is None


@counts
def test_an_interpreter_without_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known there, and nothing is said."""
    monkeypatch.setattr(observing, "_counter", lambda: None)
    one, (_, code) = Counted(), new()
    one.watch([code])
    assert one.has_run(code) is None


@counts
def test_a_python_without_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some builds lack it."""
    monkeypatch.setitem(sys.modules, "_ctypes", None)
    monkeypatch.setattr(observing, "_counter", observing._counter.__wrapped__)
    one, (_, code) = Counted(), new()
    one.watch([code])
    assert one.has_run(code) is None


@needs_monitoring
def test_the_tool_is_given_back(eye: Any) -> None:
    """It is taken with the first code, and free once the observer is closed."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - not there before 3.12
    before = monitoring.get_tool(4)
    _, code = new()
    eye.watch([code])
    assert (before, monitoring.get_tool(4)) == (None, "patchkit")
    assert monitoring.get_local_events(4, code) == monitoring.events.PY_START
    eye.watch([])
    assert monitoring.get_local_events(4, code) == 0
    eye.close()
    assert monitoring.get_tool(4) is None


@needs_monitoring
def test_a_tool_that_somebody_else_has_freed(eye: Any) -> None:
    """Nothing is known from then on, and who takes it keeps it."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - not there before 3.12
    _, code = new()
    eye.watch([code])
    monitoring.free_tool_id(4)
    monitoring.use_tool_id(4, "another")
    try:
        _, other = new()
        eye.watch([code, other])
        assert eye.has_run(code) is None
        eye.close()
        assert monitoring.get_tool(4) == "another"
    finally:
        monitoring.free_tool_id(4)


@needs_monitoring
def test_no_free_tool(eye: Any) -> None:
    """Others have both: nothing is known, and theirs are left alone."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - not there before 3.12
    for tool in (3, 4):
        monitoring.use_tool_id(tool, "another")
    try:
        function, code = new()
        eye.watch([code])
        function()
        assert eye.has_run(code) is None
        eye.close()
        assert monitoring.get_tool(4) == monitoring.get_tool(3) == "another"
    finally:
        for tool in (3, 4):
            monitoring.free_tool_id(tool)
