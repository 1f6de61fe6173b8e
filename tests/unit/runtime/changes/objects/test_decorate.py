"""Decorate: the target becomes what a function of the body makes of it."""

from __future__ import annotations

import abc
import asyncio
import functools
import inspect
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.programs import program

from patchkit import Decorate, Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.kinds import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = program(__file__, "callables")
BODY = """
import dataclasses, functools

asked = []

def noting(target):
    asked.append(target)
    @functools.wraps(target)
    def inner(*args, **kwargs):
        return ("noted", target(*args, **kwargs))
    return inner

remember = functools.lru_cache(maxsize=3)

def deeper(cls):
    class Deeper(cls):
        depth = 1
    Deeper.__name__ = cls.__name__
    Deeper.__qualname__ = cls.__qualname__
    Deeper.__module__ = cls.__module__
    return Deeper

def in_place(target):
    target.marked = True
    return target

def renumbering(cls):
    cls.number = 4
    cls.method = lambda self, y, z=1: "new"
    del cls.partial
    return cls

def doubled(value):
    return value * 2

def by(wrapped, instance, args, kwargs):
    return ("by", wrapped(*args, **kwargs))

def instead(x=0, *, flag=False):
    return "instead"

def nothing(target):
    target

def constant(target):
    return 3

def other_class(target):
    return dict

def narrow(target):
    return lambda: None

def sync(target):
    def inner(*args, **kwargs):
        return 1
    return inner

same = lambda target: target
"""


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(UPSTREAM, BODY)
    sys.modules["upstream"] = bench.upstream
    bench.upstream.__name__ = "upstream"
    yield bench
    del sys.modules["upstream"]


def decorate(bench: Bench, target: str, by: str = "noting") -> Any:
    """Decorate a target of upstream; return the undo."""
    return bench.apply(Decorate(f"upstream:{target}", by=by))


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("function", lambda up: up.function(1)),
        ("Thing.method", lambda up: up.Thing(2).method(3)),
        ("Thing.static", lambda up: up.Thing(2).static(3)),
        ("Thing.static", lambda up: up.Thing.static(3)),
        ("Thing.klass", lambda up: up.Thing.klass(3)),
        ("Thing.klass", lambda up: up.Sub(1).klass(3)),
        ("Thing.size", lambda up: up.Thing(2).size),
        ("Sub.method", lambda up: up.Sub(2).method(3)),
        ("Sub.klass", lambda up: up.Sub.klass(3)),
        ("instance.method", lambda up: up.instance.method(1)),
        ("instance.klass", lambda up: up.instance.klass(1)),
        ("instance.static", lambda up: up.instance.static(1)),
        ("builtin", lambda up: up.builtin(4)),
        ("remembered", lambda up: up.remembered(4)),
    ],
)
def test_what_the_decorator_returns_is_called(
    bench: Bench, target: str, call: Any
) -> None:
    """It is asked once, given what callers reach; the undo gives the original back."""
    before = call(bench.upstream)
    undo = decorate(bench, target)
    assert len(bench.body.asked) == 1
    assert call(bench.upstream) == ("noted", before)
    undo()
    assert call(bench.upstream) == before
    assert len(bench.body.asked) == 1


@pytest.mark.parametrize(
    ("target", "kind"),
    [("static", staticmethod), ("klass", classmethod), ("size", property)],
)
def test_a_descriptor_stays_one_of_its_kind(
    bench: Bench, target: str, kind: type
) -> None:
    """Also for those that look at the class, and the other accessors of a property stay."""
    original = vars(bench.upstream.Thing)[target]
    undo = decorate(bench, f"Thing.{target}")
    assert type(vars(bench.upstream.Thing)[target]) is kind
    thing = bench.upstream.Thing(1)
    if kind is property:
        thing.size = 7
        assert thing.size == ("noted", 7)
    undo()
    assert vars(bench.upstream.Thing)[target] is original


def test_a_cached_property_is_asked_once_for_each_instance(bench: Bench) -> None:
    """Its function is what is decorated."""
    undo = decorate(bench, "Thing.cached")
    thing = bench.upstream.Thing()
    assert thing.cached[0] == "noted"
    assert thing.cached is thing.cached
    undo()
    assert type(bench.upstream.Thing().cached) is object


def test_a_cache_of_the_library(bench: Bench) -> None:
    """What is returned is put there as it is: `lru_cache` gives its own object."""
    undo = decorate(bench, "function", by="remember")
    assert isinstance(bench.upstream.function, functools._lru_cache_wrapper)
    assert bench.upstream.function(1) == "1 False"
    assert bench.upstream.function(1) == "1 False"
    assert bench.upstream.function.cache_info().hits == 1
    undo()
    assert inspect.isfunction(bench.upstream.function)


def test_a_class_may_be_derived_from(bench: Bench) -> None:
    """Its objects pickle by the name that they have."""
    Thing = bench.upstream.Thing
    undo = decorate(bench, "Thing", by="deeper")
    assert bench.upstream.Thing.depth == 1
    assert issubclass(bench.upstream.Thing, Thing)
    made = bench.upstream.Thing(3)
    assert pickle.loads(pickle.dumps(made)).x == 3
    undo()
    assert bench.upstream.Thing is Thing


def test_what_is_changed_in_a_class_goes_with_the_undo(bench: Bench) -> None:
    """A class decorator returns the very class that it has changed."""
    Thing = bench.upstream.Thing
    before = dict(vars(Thing))
    undo = decorate(bench, "Thing", by="renumbering")
    assert bench.upstream.Thing is Thing
    assert (Thing.number, Thing(1).method(1)) == (4, "new")
    assert not hasattr(Thing, "partial")
    undo()
    assert dict(vars(Thing)) == before


def test_what_is_changed_in_a_function_goes_with_the_undo(bench: Bench) -> None:
    """Such as a mark that another library looks for."""
    undo = decorate(bench, "function", by="in_place")
    assert bench.upstream.function.marked
    undo()
    assert vars(bench.upstream.function) == {}


def test_a_value_that_the_decorator_leaves(bench: Bench) -> None:
    """It cannot have been changed, so there is nothing to give back."""
    undo = decorate(bench, "Thing.number", by="same")
    assert bench.upstream.Thing.number == 3
    undo()


def test_a_value(bench: Bench) -> None:
    """A constant becomes another."""
    undo = decorate(bench, "Thing.number", by="doubled")
    assert bench.upstream.Thing.number == 6
    undo()
    assert bench.upstream.Thing.number == 3


@pytest.mark.parametrize(
    ("target", "by", "words"),
    [
        (
            "function",
            "nothing",
            "the decorator returned None, expected what the target becomes",
        ),
        ("function", "constant", "found 3, expected something to call"),
        ("function", "narrow", "expected to take what callers"),
        ("Thing", "other_class", "expected a class that derives from upstream.Thing"),
        ("instance", "same", "returned the very Thing that it was given"),
        ("function", "asked", "found [], expected a function"),
        ("lost", "noting", "has no 'lost'"),
        ("function", "lost", "has no 'lost'"),
    ],
)
def test_what_cannot_serve_is_refused(
    bench: Bench, target: str, by: str, words: str
) -> None:
    """Nothing is changed then."""
    function = bench.upstream.function
    with pytest.raises(TargetError) as caught:
        decorate(bench, target, by=by)
    assert words in str(caught.value)
    assert bench.upstream.function is function
    assert "unrelated=True" not in str(caught.value) or "Replace with" in str(
        caught.value
    )


def test_a_coroutine_function_stays_one() -> None:
    """What is not one is refused, as callers await it."""
    bench = Bench("async def f(x): return x\n", BODY)
    with pytest.raises(TargetError, match="returns its result, expected a coroutine"):
        bench.apply(Decorate("upstream:f", by="sync"))
    body = "def by(f):\n    async def inner(x): return (await f(x)) + 1\n    return inner\n"
    bench = Bench("async def f(x): return x\n", body)
    bench.apply(Decorate("upstream:f", by="by"))
    assert asyncio.run(bench.upstream.f(1)) == 2


def test_layers_come_and_go_in_any_order(bench: Bench) -> None:
    """A Wrap lies on what a Decorate made; a Replace below has the decorator asked again."""
    undo_decorate = decorate(bench, "function")
    undo_wrap = bench.apply(Wrap("upstream:function", by="by"))
    assert bench.upstream.function(1) == ("by", ("noted", "1 False"))
    undo_replace = bench.apply(Replace("upstream:function", by="instead"))
    assert bench.upstream.function(1) == ("by", ("noted", "instead"))
    assert len(bench.body.asked) == 2
    undo_decorate()
    assert bench.upstream.function(1) == ("by", "instead")
    undo_replace()
    assert bench.upstream.function(1) == ("by", "1 False")
    undo_wrap()
    assert bench.upstream.function(1) == "1 False"


def test_two_decorators_of_one_target(bench: Bench) -> None:
    """The second is given what the first has made, and each is asked once."""
    undo = bench.apply(
        Decorate("upstream:function", by="noting"),
        Decorate("upstream:function", by="noting"),
    )
    assert bench.upstream.function(1) == ("noted", ("noted", "1 False"))
    assert len(bench.body.asked) == 2
    undo()
    assert bench.upstream.function(1) == ("noted", "1 False")


def test_an_abstract_method_that_is_decorated() -> None:
    """The list of abstract methods goes with what the decorator made."""
    upstream = (
        "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def m(self): ...\n"
    )
    bench = Bench(upstream, "def by(f):\n    return lambda self: 'done'\n")
    undo = bench.apply(Decorate("upstream:A.m", by="by"))
    assert bench.upstream.A().m() == "done"
    undo()
    with pytest.raises(TypeError):
        bench.upstream.A()
    assert abc.ABC in bench.upstream.A.__mro__


def test_an_error_of_the_decorator_is_the_cause(bench: Bench) -> None:
    """It fails the patch as it is, and leaves the target as it was."""
    vars(bench.body)["breaks"] = lambda _: 1 / 0
    function = bench.upstream.function
    with pytest.raises(ZeroDivisionError):
        decorate(bench, "function", by="breaks")
    assert bench.upstream.function is function
