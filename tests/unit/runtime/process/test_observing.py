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
needs_counts = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="sys.monitoring is there"
)


@pytest.fixture
def code_observer() -> Iterator[Counted]:
    """An observer, closed in the end."""
    observing_code = observer()
    yield observing_code
    observing_code.close()


def new() -> tuple[Callable[[], None], CodeType]:
    """Return a function, and its code, which no other function has."""

    def function() -> None:
        pass

    function.__code__ = code = function.__code__.replace()
    return function, code


def test_equal_codes_are_observed_each_for_itself(code_observer: Any) -> None:
    """Code that has run stays so, and says nothing of equal code of another function."""
    function, code = new()
    _, other = new()
    assert code == other
    code_observer.watch([code, other])
    assert code_observer.has_run(code) is False
    assert code_observer.has_run(other) is False
    for _ in range(3000):
        function()
        assert code_observer.has_run(code) is True
    assert code_observer.has_run(other) is False


def test_what_ran_before_does_not_count(code_observer: Any) -> None:
    """Code has run only if it ran since it was watched, or watched again."""
    function, code = new()
    function()
    code_observer.watch([code])
    assert code_observer.has_run(code) is False
    function()
    assert code_observer.has_run(code) is True
    code_observer.forget([code])
    assert code_observer.has_run(code) is None
    code_observer.watch([code])
    assert code_observer.has_run(code) is False
    function()
    assert code_observer.has_run(code) is True


def test_a_generator_runs_with_its_first_value(code_observer: Any) -> None:
    """A generator has run once its first value is taken, not when it is made."""

    def generator() -> Iterator[int]:
        yield 1

    code_observer.watch([generator.__code__])
    made = generator()
    assert code_observer.has_run(generator.__code__) is False
    next(made)
    assert code_observer.has_run(generator.__code__) is True


def test_what_is_not_watched_is_not_known(code_observer: Any) -> None:
    """Whether code has run that is not watched is None, not False."""
    _, code = new()
    assert code_observer.has_run(code) is None


def test_code_that_is_watched_twice(code_observer: Any) -> None:
    """Watching it once more begins nothing anew, and it is observed until it is forgotten twice."""
    function, code = new()
    code_observer.watch([code])
    function()
    code_observer.watch([code])
    code_observer.forget([code])
    assert code_observer.has_run(code) is True
    code_observer.forget([code])
    assert code_observer.has_run(code) is None


@needs_counts
def test_hot_code_is_not_known() -> None:
    """Whether code has run is None where the interpreter's count was full before."""
    function, code = new()
    for _ in range(3000):
        function()
    observing_code = observer()
    observing_code.watch([code])
    function()
    assert observing_code.has_run(code) is None


@needs_counts
def test_an_interpreter_without_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether code has run is None where the interpreter does not count."""
    monkeypatch.setattr(observing, "_find_counter", lambda: None)
    counted = Counted()
    _, code = new()
    counted.watch([code])
    assert counted.has_run(code) is None


@needs_counts
def test_a_python_without_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether code has run is None where Python was built without ctypes."""
    monkeypatch.setitem(sys.modules, "_ctypes", None)
    monkeypatch.setattr(observing, "_find_counter", observing._find_counter.__wrapped__)
    counted = Counted()
    _, code = new()
    counted.watch([code])
    assert counted.has_run(code) is None


@needs_monitoring
def test_the_monitoring_tool_is_given_back(code_observer: Any) -> None:
    """A tool is taken with the first code that is watched, and freed by `close`."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - not there before 3.12
    assert monitoring.get_tool(4) is None
    _, code = new()
    code_observer.watch([code])
    assert monitoring.get_tool(4) == "patchkit"
    assert monitoring.get_local_events(4, code) == monitoring.events.PY_START
    code_observer.forget([code])
    assert monitoring.get_local_events(4, code) == 0
    code_observer.close()
    assert monitoring.get_tool(4) is None


@needs_monitoring
def test_a_monitoring_tool_that_somebody_else_has_taken(code_observer: Any) -> None:
    """Nothing is known from then on, and `close` leaves the tool to its new owner."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - not there before 3.12
    _, code = new()
    code_observer.watch([code])
    monitoring.free_tool_id(4)
    monitoring.use_tool_id(4, "another")
    try:
        _, other = new()
        code_observer.watch([code, other])
        assert code_observer.has_run(code) is None
        code_observer.close()
        assert monitoring.get_tool(4) == "another"
    finally:
        monitoring.free_tool_id(4)


@needs_monitoring
def test_no_free_monitoring_tool(code_observer: Any) -> None:
    """Nothing is known where others have both tools, which are left to them."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - not there before 3.12
    for tool in (3, 4):
        monitoring.use_tool_id(tool, "another")
    try:
        function, code = new()
        code_observer.watch([code])
        function()
        assert code_observer.has_run(code) is None
        code_observer.close()
        assert monitoring.get_tool(4) == monitoring.get_tool(3) == "another"
    finally:
        for tool in (3, 4):
            monitoring.free_tool_id(tool)
