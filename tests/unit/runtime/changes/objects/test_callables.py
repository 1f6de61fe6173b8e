from __future__ import annotations

import inspect
import pickle
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from patchkit import Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.kinds import WATCHED, Bench

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
    @functools.cached_property
    def once(self): return object()
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
@contextlib.contextmanager
def around(wrapped, instance, args, kwargs):
    with wrapped(*args, **kwargs) as value:
        yield ('around', value)
"""
)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(UPSTREAM, BODY)
    sys.modules["upstream"] = bench.upstream
    sys.modules["body"] = bench.body
    yield bench
    del sys.modules["upstream"], sys.modules["body"]


def wrap(bench: Bench, target: str, by: str = "by") -> Any:
    """Wrap a target of upstream; return the undo."""
    return bench.apply(Wrap(f"upstream:{target}", by=by))


def replace(bench: Bench, target: str, by: str, **options: Any) -> Any:
    """Replace a target of upstream; return the undo."""
    return bench.apply(Replace(f"upstream:{target}", by=by, **options))


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


def test_a_cache_may_be_replaced_by_another_or_by_none(bench: Bench) -> None:
    """A cache of the body's stays what it is, and `unrelated` leaves the cache out."""
    replace(bench, "cached", "cached_here")()
    replace(bench, "cached", "cached", unrelated=True)
    assert bench.upstream.cached is bench.body.cached


def test_a_replaced_cached_property_still_caches(bench: Bench) -> None:
    """A plain function becomes a cached property under its own name."""
    replace(bench, "Thing.once", "once")
    assert bench.upstream.thing.once[0] == "new"
    assert bench.upstream.thing.once is bench.upstream.thing.once


# -- bound methods ----------------------------------------------------------------------------


def test_a_bound_method_in_a_module(bench: Bench) -> None:
    """A method that a module has bound to an instance stays bound to it."""
    wrap(bench, "bound")
    thing = bench.upstream.thing
    assert bench.upstream.bound(3) == (thing, 3, 0)
    assert bench.upstream.bound.__self__ is thing
    assert bench.body.calls == [(thing, (3,), {})]


# -- context managers -------------------------------------------------------------------------


def test_a_replaced_and_a_wrapped_context_manager(bench: Bench) -> None:
    """A generator function of the body becomes a context manager; a wrapper may be one itself."""
    undo = replace(bench, "scope", "scope")
    with bench.upstream.scope(1) as value:
        assert value == ("new", 1)
    undo()
    wrap(bench, "scope", "around")
    with bench.upstream.scope(1) as value:
        assert value == ("around", ("old", 1))


def test_a_replaced_async_context_manager(bench: Bench) -> None:
    """An async generator function of the body becomes an async context manager."""
    replace(bench, "async_scope", "async_scope")
    manager = bench.upstream.async_scope(1)
    step = manager.__aenter__()
    with pytest.raises(StopIteration) as caught:
        step.send(None)
    assert caught.value.value == ("new", 1)


def test_a_cache_replaced_by_what_cannot_be_called_is_refused(bench: Bench) -> None:
    """Replace refuses a list in the place of a cached function."""
    with pytest.raises(TargetError, match="expected something to call"):
        replace(bench, "cached", "calls")


def test_the_way_past_a_wrapped_cache(bench: Bench) -> None:
    """`__wrapped__` is the function that is cached, below one wrapper or several."""
    original = bench.upstream.cached
    undos = [bench.apply(Wrap("upstream:cached", by="by")) for _ in range(2)]
    cached = bench.upstream.cached
    assert cached.__wrapped__ is original.__wrapped__
    assert cached(1) is cached(1) is not cached.__wrapped__(1)
    assert inspect.signature(cached) == inspect.signature(original)
    cached.calls = 1
    for undo in undos:
        undo()
    assert bench.upstream.cached is original
    assert original.calls == 1
    assert type(original.__wrapped__) is FunctionType


SUBCLASSES = """
import functools
class Expiring(functools.cached_property):
    age = 0
    def __get__(self, instance, owner=None): return (self.age, self.func(instance))
class Hybrid(classmethod):
    def __get__(self, instance, owner=None): return self.__func__.__get__(instance or owner)
class Static(staticmethod):
    def __get__(self, instance, owner=None): return functools.partial(self.__func__, 'static')
class Decorator(classmethod):
    def __init__(self, function, option): super().__init__(function)
class C:
    value = Expiring(lambda self: 'old')
    value.age = 5
    value.__set_name__(None, 'value')
    who = Hybrid(lambda self: (type(self), 'old'))
    static = Static(lambda first: (first, 'old'))
    decorated = Decorator(lambda cls: 'old', 1)
"""
NEW = (
    WATCHED
    + """
def value(self): return 'new'
def who(self): return (type(self), 'new')
def static(first): return (first, 'new')
"""
)


@pytest.mark.parametrize("is_wrap", [True, False])
def test_a_descriptor_of_a_subclass_stays_one(is_wrap: bool) -> None:
    """What it does when it is read, and what was set on it, is upstream's."""
    bench = Bench(SUBCLASSES, NEW)
    cls = bench.upstream.C
    for name in ("value", "who", "static"):
        target = f"upstream:C.{name}"
        bench.apply(Wrap(target, by="by") if is_wrap else Replace(target, by=name))
    thing = cls()
    answer = "old" if is_wrap else "new"
    assert thing.value == (5, answer)
    assert (thing.who(), cls.who()) == ((cls, answer), (type, answer))
    assert thing.static() == ("static", answer)
    assert len(bench.body.calls) == (4 if is_wrap else 0)


def test_a_descriptor_that_cannot_be_made_anew_is_refused() -> None:
    """Its class takes more than the function."""
    bench = Bench(SUBCLASSES, NEW)
    with pytest.raises(TargetError, match="missing 1 required positional argument"):
        bench.apply(Wrap("upstream:C.decorated", by="by"))
    assert bench.upstream.C.decorated() == "old"
