"""A Wrap of what a class inherits acts as a member of it that calls `super()`."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from patchkit import Replace, Wrap
from runtime.changes.kinds import WATCHED, Bench

UPSTREAM = """
import functools
class B:
    def __new__(cls): return object.__new__(cls)
    def __init__(self): self.log = ["B"]
    def method(self): return ["B", self]
    @classmethod
    def of_class(cls): return ["B", cls]
    @staticmethod
    def static(): return ["B"]
    @functools.lru_cache
    def remembered(self): return ["B", self]
    async def later(self): return ["B", self]
class S(B): pass
class X(B):
    def __new__(cls):
        new = super().__new__(cls)
        new.made = "X"
        return new
    def __init__(self):
        super().__init__()
        self.log = ["X", *self.log]
    def method(self): return ["X", *super().method()]
    @classmethod
    def of_class(cls): return ["X", *super().of_class()]
    @functools.lru_cache
    def remembered(self): return ["X", *super().remembered()]
    async def later(self): return ["X", *await super().later()]
class D(S, X): pass
"""
BODY = (
    WATCHED
    + """
def method(self): return ["replaced", self]
"""
)


def run(coroutine: Any) -> Any:
    """Return what a coroutine returns that waits for nothing."""
    with pytest.raises(StopIteration) as caught:
        coroutine.send(None)
    return caught.value.value


ANSWERS: dict[str, Any] = {
    "method": lambda thing: thing.method(),
    "of_class": lambda thing: thing.of_class(),
    "remembered": lambda thing: thing.remembered(),
    "later": lambda thing: run(thing.later()),
    "__init__": lambda thing: [*thing.log, thing],
    "__new__": lambda thing: [thing.made, "B", thing],
}


@pytest.mark.parametrize(("name", "answer"), ANSWERS.items())
def test_the_next_class_of_the_caller_is_not_skipped(name: str, answer: Any) -> None:
    """What another base of a subclass overrides runs, below the wrapper."""
    bench = Bench(UPSTREAM)
    undo = bench.apply(Wrap(f"upstream:S.{name}", by="by"))
    thing = bench.upstream.D()
    mark, base, subject = answer(thing)
    assert (mark, base) == ("X", "B")
    assert subject is thing or subject is type(thing)
    assert len(bench.body.calls) == 1
    undo()
    assert name not in vars(bench.upstream.S)
    assert answer(bench.upstream.D())[:2] == ["X", "B"]


LATER: dict[str, Any] = {
    "method": lambda self: ["later", self],
    "of_class": classmethod(lambda cls: ["later", cls]),
    "remembered": lambda self: ["later", self],
}


@pytest.mark.parametrize(("name", "later"), LATER.items())
def test_a_base_that_somebody_changes_later_is_followed(name: str, later: Any) -> None:
    """The wrapper runs around what the base has at the call, and afterwards as before."""
    bench = Bench(UPSTREAM)
    bench.apply(Wrap(f"upstream:S.{name}", by="by"))
    thing = bench.upstream.S()
    with mock.patch.object(bench.upstream.B, name, later):
        assert ANSWERS[name](thing)[0] == "later"
    assert ANSWERS[name](thing)[0] == "B"
    assert len(bench.body.calls) == 2


def test_a_static_method_of_the_base_that_changes_later() -> None:
    """It has no class of the call, so what follows the class itself is called."""
    bench = Bench(UPSTREAM)
    bench.apply(Wrap("upstream:S.static", by="by"))
    bench.upstream.B.static = staticmethod(lambda: ["later"])
    assert bench.upstream.S.static() == bench.upstream.D().static() == ["later"]
    assert bench.body.calls == [(None, (), {})] * 2


def test_a_property_stays_that_of_the_base() -> None:
    """torch.compile could not trace it otherwise."""
    bench = Bench("class B:\n    size = property(lambda self: 1)\nclass S(B): pass\n")
    bench.apply(Wrap("upstream:S.size", by="by"))
    assert bench.upstream.S().size == 1
    assert len(bench.body.calls) == 1


def test_a_stranger_that_is_given_to_the_method_by_hand() -> None:
    """Nothing follows the class there, so the wrapper runs around what it was made of."""
    bench = Bench(UPSTREAM)
    bench.apply(Wrap("upstream:S.method", by="by"))
    cls = bench.upstream.S
    assert cls.method(1) == ["B", 1]
    assert cls.method(None) == ["B", None]
    assert cls.method(cls) == ["B", cls]
    assert bench.body.calls == [(1, (), {}), (None, (None,), {}), (cls, (), {})]


def test_a_wrapper_on_a_wrapper_and_on_a_replacement() -> None:
    """Only the lowest one looks further; what replaces the inherited does not."""
    bench = Bench(UPSTREAM, BODY)
    wrap = Wrap("upstream:S.method", by="by")
    thing = bench.upstream.D()
    undos = [bench.apply(wrap), bench.apply(wrap)]
    assert thing.method() == ["X", "B", thing]
    assert len(bench.body.calls) == 2
    undo = bench.apply(Replace("upstream:S.method", by="method"))
    assert thing.method() == ["replaced", thing]
    assert len(bench.body.calls) == 4
    undo()
    undos.pop(0)()
    assert thing.method() == ["X", "B", thing]
    assert len(bench.body.calls) == 5


def test_wrappers_all_along_a_diamond_act_once_each() -> None:
    """In whichever order they come."""
    for order in (("S", "B", "X", "D"), ("D", "X", "B", "S")):
        bench = Bench(UPSTREAM)
        undos = [
            bench.apply(Wrap(f"upstream:{name}.method", by="by")) for name in order
        ]
        thing = bench.upstream.D()
        assert thing.method() == ["X", "B", thing]
        assert len(bench.body.calls) == 4
        for undo in undos:
            undo()
        assert "method" not in {**vars(bench.upstream.S), **vars(bench.upstream.D)}
