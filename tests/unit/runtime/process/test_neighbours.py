"""Beside other tools that patch the same target: each acts, and nothing is lost silently."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
import wrapt
from opentelemetry.instrumentation.threading import ThreadingInstrumentor
from opentelemetry.instrumentation.utils import unwrap
from support import packages
from support.one_patch import MAIN, WRAP, a_world, load
from support.packages import World, row
from support.undoing import apply, undo

from patchkit import Role
from patchkit.errors import ApplyError, UndoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

world = packages.world


def theirs(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """A wrapper of another tool."""
    return ("theirs", wrapped(*args, **kwargs))


def by_wrapt(module: Any) -> Callable[[], None]:
    """Wrap with wrapt by hand; the undo puts back what stood there, as wrapt has none."""
    before = module.function
    wrapt.wrap_function_wrapper(module, "function", theirs)
    return lambda: setattr(module, "function", before)


def by_opentelemetry(module: Any) -> Callable[[], None]:
    """Wrap and unwrap as OpenTelemetry's instrumentations do."""
    wrapt.wrap_function_wrapper(module, "function", theirs)
    return lambda: unwrap(module, "function")


def by_mock(module: Any) -> Callable[[], None]:
    """Patch with `mock.patch` and something that calls the function."""
    before = module.function
    patcher = mock.patch.object(
        module, "function", side_effect=lambda: ("theirs", before())
    )
    patcher.start()
    return patcher.stop


NEIGHBOURS = [by_wrapt, by_opentelemetry, by_mock]


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_theirs_on_top_and_off_first(world: World, neighbour: Any) -> None:
    """Both act; their undo gives our wrapper back, and ours gives the original back."""
    session = a_world(world, WRAP)
    original = load("up.mod").function
    session.arm(MAIN)
    stop = neighbour(load("up.mod"))
    assert load("up.mod").function() == ("theirs", ("by", "old"))
    session.enter(Role.WORKER)
    stop()
    assert load("up.mod").function() == ("by", "old")
    undo(session)
    assert load("up.mod").function is original


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_theirs_on_top_and_ours_off_first(world: World, neighbour: Any) -> None:
    """Our undo raises beneath their wrapper, which stays and acts, and so does ours."""
    session = a_world(world, WRAP)
    session.arm(MAIN)
    module = load("up.mod")
    stop = neighbour(module)
    on_top = module.function
    with pytest.raises(
        UndoError, match=r"up\.mod\.function was overwritten by somebody else"
    ):
        undo(session)
    assert module.function is on_top
    assert module.function() == ("theirs", ("by", "old"))
    stop()


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_theirs_below_and_ours_off_first(world: World, neighbour: Any) -> None:
    """Both act; our undo gives back the very object that they had put there."""
    session = a_world(world, WRAP)
    original = load("up.mod").function
    stop = neighbour(load("up.mod"))
    below = load("up.mod").function
    session.arm(MAIN)
    assert load("up.mod").function() == ("by", ("theirs", "old"))
    undo(session)
    assert load("up.mod").function is below
    stop()
    assert load("up.mod").function is original


@pytest.mark.parametrize("neighbour", [by_wrapt, by_mock])
def test_theirs_below_and_off_first_takes_ours_along(
    world: World, neighbour: Any
) -> None:
    """The next role entry raises, as their undo has overwritten our wrapper with the original."""
    session = a_world(world, WRAP)
    stop = neighbour(load("up.mod"))
    session.arm(MAIN)
    stop()
    there = load("up.mod").function
    with pytest.raises(ApplyError, match=r"up\.mod:function was overwritten by"):
        session.enter(Role.WORKER)
    assert load("up.mod").function is there


def test_an_instrumentation_below_that_is_to_go_first(world: World) -> None:
    """OpenTelemetry's undo leaves our wrapper alone, as it is no wrapt proxy, and both act on."""
    session = a_world(world, WRAP)
    stop = by_opentelemetry(load("up.mod"))
    session.arm(MAIN)
    stop()
    session.enter(Role.WORKER)
    assert load("up.mod").function() == ("by", ("theirs", "old"))


def test_a_mock_inside_of_an_undo_leaves_nothing_of_ours(world: World) -> None:
    """A mock that ends after the undo puts our wrapper back; the next undo takes it off."""
    session = a_world(world, WRAP)
    original = load("up.mod").function
    session.arm(MAIN)
    stop = by_mock(load("up.mod"))
    with pytest.raises(UndoError):
        undo(session)
    stop()
    assert load("up.mod").function() == ("by", "old")
    apply(session, ["p"])
    undo(session)
    assert load("up.mod").function is original


@pytest.fixture
def instrumented() -> Iterator[ThreadingInstrumentor]:
    """OpenTelemetry's own instrumentation of threads, which is off in the end."""
    instrumentor = ThreadingInstrumentor()
    yield instrumentor
    if instrumentor.is_instrumented_by_opentelemetry:
        instrumentor.uninstrument()


@pytest.mark.parametrize("before", [True, False])
def test_beside_a_real_instrumentation(
    world: World, instrumented: ThreadingInstrumentor, before: bool
) -> None:
    """Both wrap `Thread.start` and act; with the last undone first, the original is back."""
    body = "seen = []\ndef by(w, i, a, k):\n    seen.append(i)\n    return w(*a, **k)\n"
    world.pack(
        row("p", "patch_a", "Wrap('threading:Thread.start', by='by')"), patch_a=body
    )
    original = vars(threading.Thread)["start"]
    session = world.session()
    steps = [instrumented.instrument, lambda: session.arm(MAIN)]
    if not before:
        steps.reverse()
    for step in steps:
        step()
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join(10)
    assert load("pack.patch_a").seen == [thread]
    assert hasattr(thread, "_otel_context")  # theirs has acted
    session.enter(Role.WORKER)
    backwards = [lambda: undo(session), instrumented.uninstrument]
    if not before:
        backwards.reverse()
    for step in backwards:
        step()
    assert vars(threading.Thread)["start"] is original
