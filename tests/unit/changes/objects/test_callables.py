from __future__ import annotations

import functools
import inspect
import pickle
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from changes.kinds import WATCHED, Bench
from patchkit import Replace, Wrap
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """
import contextlib, functools
@functools.lru_cache(maxsize=7, typed=True)
def cached(x): return [x]
@functools.cache
def kept(x): return [x]
class Thing:
    @functools.lru_cache
    def method(self, x): return [self, x]
    @staticmethod
    @functools.lru_cache
    def static(x): return [x]
    def plain(self, x, y=0): return (self, x, y)
    half = functools.partialmethod(plain, 1)
    stored = functools.partial(divmod, 7)
    @functools.singledispatchmethod
    def show(self, x): return ('any', x)
    @show.register
    def show_int(self, x: int): return ('int', x)
    @functools.cached_property
    def once(self): return object()
def divide(x, y): return x / y
halve = functools.partial(divide, y=2)
@functools.singledispatch
def show(x): return ('any', x)
@show.register
def show_int(x: int): return ('int', x)
@contextlib.contextmanager
def scope(x): yield ('old', x)
@contextlib.asynccontextmanager
async def async_scope(x): yield ('old', x)
thing = Thing()
bound = thing.plain
"""
BODY = (
    WATCHED
    + """
import contextlib, functools
def cached(x): return ('new', x)
def other(self, x): return ('new', x)
def once(self): return ('new', object())
def scope(x): yield ('new', x)
async def async_scope(x): yield ('new', x)
@functools.cache
def cached_here(x): return ('here', x)
@functools.singledispatch
def dispatched(x): return ('body', x)
@contextlib.contextmanager
def around(wrapped, instance, args, kwargs):
    with wrapped(*args, **kwargs) as value:
        yield ('around', value)
"""
)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(UPSTREAM, BODY)
    sys.modules["upstream"], sys.modules["body"] = made.upstream, made.body
    yield made
    del sys.modules["upstream"], sys.modules["body"]


def wrap(bench: Bench, target: str, by: str = "by") -> Any:
    return bench.apply(Wrap(f"upstream:{target}", by=by))


def replace(bench: Bench, target: str, by: str, **more: Any) -> Any:
    return bench.apply(Replace(f"upstream:{target}", by=by, **more))


# -- caches -----------------------------------------------------------------------------------


def test_a_wrapped_cache_is_still_one(bench: Bench) -> None:
    """The wrapper runs at each call around the cache, which is asked and cleared as before."""
    original = bench.upstream.cached
    undo = wrap(bench, "cached")
    cached = bench.upstream.cached
    assert type(cached) is FunctionType
    assert cached(1) is cached(1)
    assert len(bench.body.calls) == 2
    assert cached.cache_info().hits == 1
    assert cached.cache_parameters() == {"maxsize": 7, "typed": True}
    cached.cache_clear()
    assert original.cache_info().currsize == 0
    assert inspect.signature(cached) == inspect.signature(original)
    assert pickle.loads(pickle.dumps(cached)) is cached
    undo()
    assert bench.upstream.cached is original


def test_wrapped_caches_in_a_class(bench: Bench) -> None:
    """A cached method binds and a cached static method does not."""
    wrap(bench, "Thing.method")
    wrap(bench, "Thing.static")
    thing = bench.upstream.thing
    assert thing.method(1) is thing.method(1)
    assert thing.static(1) is bench.upstream.Thing.static(1)
    assert bench.body.calls == [(thing, (1,), {})] * 2 + [(None, (1,), {})] * 2
    assert bench.upstream.Thing.method.cache_info().hits == 1


@pytest.mark.parametrize("target", ["cached", "kept"])
def test_a_replaced_cache_caches_alike(bench: Bench, target: str) -> None:
    """A plain function of the body is cached with the parameters of upstream's."""
    original = getattr(bench.upstream, target)
    undo = replace(bench, target, "cached")
    cached = getattr(bench.upstream, target)
    assert cached(1) == ("new", 1)
    assert cached(1) is cached(1)
    assert cached.cache_parameters() == original.cache_parameters()
    cached.cache_clear()
    undo()
    assert getattr(bench.upstream, target) is original


def test_replaced_caches_in_a_class(bench: Bench) -> None:
    """The new function takes on the cache below the static method, and the method's."""
    replace(bench, "Thing.method", "other")
    replace(bench, "Thing.static", "cached")
    thing = bench.upstream.thing
    assert thing.method(1) == ("new", 1)
    assert thing.static(1) is bench.upstream.Thing.static(1)
    assert bench.upstream.Thing.method.cache_info().currsize == 1


def test_a_cache_may_go(bench: Bench) -> None:
    """A cache of the body's stays what it is, and `unrelated` leaves the cache out."""
    replace(bench, "cached", "cached_here")()
    replace(bench, "cached", "cached", unrelated=True)
    assert bench.upstream.cached is bench.body.cached


def test_a_replaced_cached_property_still_caches(bench: Bench) -> None:
    """A plain function becomes a cached property under its own name."""
    replace(bench, "Thing.once", "once")
    assert bench.upstream.thing.once[0] == "new"
    assert bench.upstream.thing.once is bench.upstream.thing.once


# -- partials ---------------------------------------------------------------------------------


def test_a_wrapped_partial(bench: Bench) -> None:
    """It is a plain function that pickle finds, and says what it is a partial of."""
    original = bench.upstream.halve
    undo = wrap(bench, "halve")
    halve = bench.upstream.halve
    assert type(halve) is FunctionType
    assert halve(4) == 2
    assert (halve.func, halve.args, halve.keywords) == (bench.upstream.divide, (), {"y": 2})
    assert inspect.signature(halve) == inspect.signature(original)
    assert pickle.loads(pickle.dumps(halve)) is halve
    assert bench.body.calls == [(None, (4,), {})]
    undo()
    assert bench.upstream.halve is original


def test_a_wrapped_partial_in_a_class(bench: Bench) -> None:
    """It binds nothing, as it did not before."""
    wrap(bench, "Thing.stored")
    expected = bench.upstream.Thing().stored(2)
    assert expected == bench.upstream.Thing.stored(2) == (3, 1)
    assert [instance for instance, _, _ in bench.body.calls] == [None, None]


def test_a_wrapped_partialmethod(bench: Bench) -> None:
    """It binds, fills in its arguments, and shows the signature that is left."""
    before = inspect.signature(bench.upstream.thing.half)
    undo = wrap(bench, "Thing.half")
    thing = bench.upstream.thing
    assert thing.half(2) == (thing, 1, 2)
    assert bench.body.calls == [(thing, (2,), {})]
    assert inspect.signature(thing.half) == before
    undo()
    assert isinstance(vars(bench.upstream.Thing)["half"], functools.partialmethod)


def test_a_bound_method_in_a_module(bench: Bench) -> None:
    """A method that a module has bound to an instance stays bound to it."""
    wrap(bench, "bound")
    thing = bench.upstream.thing
    assert bench.upstream.bound(3) == (thing, 3, 0)
    assert bench.upstream.bound.__self__ is thing
    assert bench.body.calls == [(thing, (3,), {})]


# -- dispatchers ------------------------------------------------------------------------------


def test_a_wrapped_dispatcher(bench: Bench) -> None:
    """It still takes registrations, before and after undo."""
    undo = wrap(bench, "show")
    show = bench.upstream.show
    assert show(1) == ("int", 1)
    show.register(str, lambda x: ("str", x))
    assert show("a") == ("str", "a")
    assert len(bench.body.calls) == 2
    undo()
    assert bench.upstream.show("a") == ("str", "a")


@pytest.mark.parametrize("target", ["show", "Thing.show"])
def test_a_dispatcher_by_a_plain_function_is_refused(bench: Bench, target: str) -> None:
    """It would lose its registrations; the error says what keeps them."""
    with pytest.raises(TargetError, match=r"let an AfterImport call show\.register"):
        replace(bench, target, "cached")
    assert bench.upstream.show(1) == bench.upstream.thing.show(1) == ("int", 1)


def test_a_dispatcher_by_another(bench: Bench) -> None:
    """A dispatcher of the body takes the whole place, and so does anything with `unrelated`."""
    replace(bench, "show", "dispatched")()
    replace(bench, "show", "cached", unrelated=True)
    assert bench.upstream.show is bench.body.cached


@pytest.mark.parametrize("wrapped_before", [False, True])
def test_a_registered_implementation_is_refused(bench: Bench, wrapped_before: bool) -> None:
    """The dispatcher would go on calling the original, whatever the name holds."""
    if wrapped_before:
        wrap(bench, "show")
    for change in (lambda: wrap(bench, "show_int"), lambda: replace(bench, "show_int", "cached")):
        with pytest.raises(TargetError, match="show dispatches to, and goes on calling"):
            change()
    assert bench.upstream.show(1) == bench.upstream.show_int(1) == ("int", 1)


def test_a_dispatcher_among_methods(bench: Bench) -> None:
    """`singledispatchmethod` is wrapped as a method."""
    undo = wrap(bench, "Thing.show")
    thing = bench.upstream.thing
    assert (thing.show(1), thing.show("a")) == (("int", 1), ("any", "a"))
    assert [instance for instance, _, _ in bench.body.calls] == [thing, thing]
    bench.upstream.Thing.show.register(float, lambda self, x: ("float", x))
    assert thing.show(1.0) == ("float", 1.0)
    undo()
    assert thing.show("a") == ("any", "a")


# -- context managers -------------------------------------------------------------------------


def test_a_context_manager(bench: Bench) -> None:
    """A generator function of the body becomes one, and a wrapper may be one itself."""
    undo = replace(bench, "scope", "scope")
    with bench.upstream.scope(1) as value:
        assert value == ("new", 1)
    undo()
    wrap(bench, "scope", "around")
    with bench.upstream.scope(1) as value:
        assert value == ("around", ("old", 1))


def test_an_async_context_manager(bench: Bench) -> None:
    """An async generator function of the body becomes an async one."""
    replace(bench, "async_scope", "async_scope")
    manager = bench.upstream.async_scope(1)
    step = manager.__aenter__()
    with pytest.raises(StopIteration) as caught:
        step.send(None)
    assert caught.value.value == ("new", 1)


def test_what_can_be_called_is_not_replaced_by_what_cannot(bench: Bench) -> None:
    """A cache and a partial are code, too."""
    for target in ("cached", "halve"):
        with pytest.raises(TargetError, match="expected something to call"):
            replace(bench, target, "calls")
