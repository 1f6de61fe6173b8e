"""What somebody writes on a wrapper is where it would be without the patch, also after undo."""

from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampling import examples

from patchkit import Wrap
from runtime.changes.kinds import WATCHED, Bench

if TYPE_CHECKING:
    from collections.abc import Callable

UPSTREAM = """
import functools
def f(): return 1
f.kept = f.gone = 'before'
@functools.lru_cache
def cached(): return 1
class C:
    def method(self): ...
    @staticmethod
    def static(): ...
    @classmethod
    def of_class(cls): ...
    @property
    def size(self): ...
"""
GETTERS: dict[str, Callable[[Any], Any]] = {
    "f": lambda up: up.f,
    "cached": lambda up: up.cached,
    "C.method": lambda up: up.C.method,
    "C.static": lambda up: up.C.static,
    "C.of_class": lambda up: up.C.of_class.__func__,
    "C.size": lambda up: up.C.size.fget,
}


@pytest.mark.parametrize(("target", "get"), GETTERS.items())
def test_an_attribute_that_is_written_on_a_wrapper(
    target: str, get: Callable[[Any], Any]
) -> None:
    """The original has it after undo, whatever kind of method it is in."""
    bench = Bench(UPSTREAM)
    original = get(bench.upstream)
    undo = bench.apply(Wrap(f"upstream:{target}", by="by"))
    get(bench.upstream).calls = 1
    undo()
    assert get(bench.upstream) is original
    assert original.calls == 1
    assert not hasattr(original, "__wrapped__") or target == "cached"


def test_a_function_that_counts_its_own_calls() -> None:
    """It finds its count on its own name, which is the wrapper's meanwhile."""
    bench = Bench("def f():\n    f.calls += 1\n    return f.calls\nf.calls = 0\n")
    f = bench.upstream.f
    f()
    undo = bench.apply(Wrap("upstream:f", by="by"))
    assert [bench.upstream.f(), bench.upstream.f()] == [2, 3]
    undo()
    assert (f(), f is bench.upstream.f) == (4, True)


def test_what_was_written_on_the_original_meanwhile_stays() -> None:
    """Only what was changed on the wrapper is carried; the rest of it may be outdated."""
    bench = Bench(UPSTREAM)
    f = bench.upstream.f
    undo = bench.apply(Wrap("upstream:f", by="by"))
    f.kept = "meanwhile"
    del bench.upstream.f.gone
    undo()
    assert vars(f) == {"kept": "meanwhile"}


def test_a_wrapper_with_attributes_pickles_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As before: what somebody has written on it does not travel."""
    bench = Bench(UPSTREAM)
    monkeypatch.setitem(sys.modules, "upstream", bench.upstream)
    bench.apply(Wrap("upstream:f", by="by"))
    wrapped = bench.upstream.f
    wrapped.calls = 1
    assert pickle.loads(pickle.dumps(wrapped)) is wrapped


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from("abc"), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.just("patch"), st.integers(0, 2).map(str), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=examples(few=50, many=400))
@given(steps=STEPS)
def test_attributes_do_not_depend_on_patches(steps: list[tuple[str, str, int]]) -> None:
    """Whatever is written while patches come and go, reading gives what a plain function would."""
    bench = Bench("def f(): ...\nf.a = 0\n", WATCHED)
    original = bench.upstream.f
    expected: dict[str, Any] = {"a": 0}
    undos: dict[str, Callable[[], None]] = {}
    for kind, name, value in steps:
        if kind == "set":
            setattr(bench.upstream.f, name, value)
            expected[name] = value
        elif kind == "patch" and name in undos:
            undos.pop(name)()
        elif kind == "patch":
            undos[name] = bench.apply(Wrap("upstream:f", by="by"))
        elif name in expected:
            delattr(bench.upstream.f, name)
            del expected[name]
        present = dict(vars(bench.upstream.f))
        present.pop("__wrapped__", None)
        assert present == expected
    for undo in undos.values():
        undo()
    assert bench.upstream.f is original
    assert vars(original) == expected
