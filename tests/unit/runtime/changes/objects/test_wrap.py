from __future__ import annotations

import copy
import functools
import inspect
import pickle
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from support.programs import program

from patchkit import Add, Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.kinds import WATCHED, Bench

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = program(__file__, "callables")


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(UPSTREAM)
    sys.modules["upstream"] = bench.upstream
    yield bench
    del sys.modules["upstream"]


def wrap(bench: Bench, target: str) -> Any:
    """Wrap a target of upstream with the body's `by`; return the undo."""
    return bench.apply(Wrap(f"upstream:{target}", by="by"))


def test_a_wrapped_function(bench: Bench) -> None:
    """The wrapper gets the original, no instance, and the arguments as they were given."""
    wrap(bench, "function")
    assert bench.upstream.function(1, flag=True) == "1 True"
    assert bench.body.calls == [(None, (1,), {"flag": True})]


def test_a_function_stays_a_plain_function(bench: Bench) -> None:
    """torch.compile traces a proxy as the unwrapped original, so there is none."""
    for target in ("function", "Thing.method", "Thing.inherited"):
        wrap(bench, target)
    assert type(bench.upstream.function) is FunctionType
    assert type(vars(bench.upstream.Thing)["method"]) is FunctionType
    assert type(vars(bench.upstream.Thing)["inherited"]) is FunctionType


class _Modifiers:
    UNUSED = "unused"
    IGNORE = "ignore"


@pytest.mark.parametrize(("former", "marked"), [("unused",) * 2, ("export", "ignore")])
def test_what_torch_script_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, former: str, marked: str
) -> None:
    """Where torch is loaded, a wrapper says that it is to be called and cannot be compiled."""
    original = bench.upstream.function
    wrap(bench, "function")()
    assert "__script_unsupported" not in vars(bench.upstream.function)
    torch_jit = ModuleType("torch._jit_internal")
    monkeypatch.setitem(sys.modules, "torch._jit_internal", torch_jit)
    undo = wrap(bench, "function")
    assert "__script_unsupported" not in vars(bench.upstream.function)
    undo()
    torch_jit.FunctionModifiers = _Modifiers  # type: ignore[attr-defined]
    original._torchscript_modifier = getattr(_Modifiers, former.upper(), former)
    undo = wrap(bench, "function")
    attributes = vars(bench.upstream.function)
    assert attributes["__script_unsupported"].startswith("found function with a Wrap")
    assert attributes["_torchscript_modifier"] == marked
    undo()
    assert vars(original) == {"_torchscript_modifier": former}


def test_a_function_looks_the_same(bench: Bench) -> None:
    """Name, docstring, signature and annotations are the original's."""
    original = bench.upstream.function
    wrap(bench, "function")
    wrapped = bench.upstream.function
    for attribute in (
        "__name__",
        "__qualname__",
        "__module__",
        "__doc__",
        "__annotations__",
    ):
        assert getattr(wrapped, attribute) == getattr(original, attribute)
    assert inspect.signature(wrapped) == inspect.signature(original)
    assert inspect.unwrap(wrapped) is original


def test_a_function_pickles_by_reference(bench: Bench) -> None:
    """What crosses to another process is the name, so it is patched there if that is patched."""
    wrap(bench, "function")
    wrapped = bench.upstream.function
    assert pickle.loads(pickle.dumps(wrapped)) is wrapped
    assert copy.deepcopy(wrapped) is wrapped


def test_a_wrapped_method(bench: Bench) -> None:
    """The wrapper gets the instance apart and the bound original."""
    wrap(bench, "Thing.method")
    thing = bench.upstream.Thing(2)
    assert thing.method(3, z=2) == 8
    assert bench.upstream.Thing.method(thing, 3) == 5
    assert bench.body.calls == [(thing, (3,), {"z": 2}), (thing, (3,), {})]


def test_a_bound_method_pickles(bench: Bench) -> None:
    """A Process target or a Ray method may be a bound method of an upstream object."""
    wrap(bench, "Thing.method")
    assert pickle.loads(pickle.dumps(bench.upstream.Thing(2).method))(3) == 5


def test_a_wrapped_inherited_method(bench: Bench) -> None:
    """Only the class that was named is wrapped; undo leaves it inheriting as before."""
    undo = wrap(bench, "Thing.inherited")
    base = bench.upstream.Base()
    sub = bench.upstream.Sub()
    assert (base.inherited(), sub.inherited()) == (base, sub)
    assert bench.body.calls == [(sub, (), {})]
    undo()
    assert "inherited" not in vars(bench.upstream.Thing)


def test_a_wrapped_static_method(bench: Bench) -> None:
    """It stays static, and the wrapper gets no instance."""
    wrap(bench, "Thing.static")
    assert bench.upstream.Thing.static(1) == bench.upstream.Thing().static(1) == 1
    assert bench.body.calls == [(None, (1,), {})] * 2


def test_a_wrapped_class_method(bench: Bench) -> None:
    """It stays a class method; the wrapper gets the class it was called on, also a subclass."""
    wrap(bench, "Thing.klass")
    sub = bench.upstream.Sub
    assert sub.klass(1) == sub().klass(1) == (sub, 1)
    assert bench.body.calls == [(sub, (1,), {})] * 2


def test_a_wrapped_property(bench: Bench) -> None:
    """The getter is wrapped, the setter stays."""
    wrap(bench, "Thing.size")
    thing = bench.upstream.Thing(2)
    thing.size = 7
    assert thing.size == 7
    assert bench.body.calls == [(thing, (), {})]


def test_a_wrapped_cached_property_still_caches(bench: Bench) -> None:
    """The wrapper runs once for each instance, and the value is kept."""
    wrap(bench, "Thing.cached")
    thing = bench.upstream.Thing()
    assert thing.cached is thing.cached
    assert bench.upstream.Thing().cached is not thing.cached
    assert len(bench.body.calls) == 2


def test_wrapped_construction(bench: Bench) -> None:
    """Wrapped `__init__`, `__new__` and `__init_subclass__` are called as Python calls them."""
    for name in ("__init__", "__new__", "__init_subclass__"):
        wrap(bench, f"Thing.{name}")
    assert bench.upstream.Sub(4).x == 4
    subclass = type("Later", (bench.upstream.Thing,), {})
    first_instance, _, _ = bench.body.calls[0]
    assert first_instance is None
    assert bench.body.calls[-1] == (subclass, (), {})


def test_a_wrapped_special_method(bench: Bench) -> None:
    """A wrapped `__call__` runs the wrapper when the instance is called."""
    wrap(bench, "Thing.__call__")
    thing = bench.upstream.Thing(1)
    assert thing(2) == 3
    assert bench.body.calls == [(thing, (2,), {})]


def test_a_wrapped_method_of_one_instance(bench: Bench) -> None:
    """A method that a module-level instance inherits is wrapped on it alone, and still bound."""
    undo = wrap(bench, "instance.method")
    thing = bench.upstream.instance
    assert thing.method(3) == 8
    assert bench.body.calls == [(thing, (3,), {})]
    assert bench.upstream.Thing(5).method(3) == 8
    assert len(bench.body.calls) == 1
    undo()
    assert vars(thing) == {"x": 5}


def test_two_wrappers_on_one_instance(bench: Bench) -> None:
    """The outer one gets the inner one, which is bound already."""
    undo_inner = wrap(bench, "instance.method")
    undo_outer = wrap(bench, "instance.method")
    assert bench.upstream.instance.method(3) == 8
    assert len(bench.body.calls) == 2
    undo_inner()
    undo_outer()
    assert vars(bench.upstream.instance) == {"x": 5}


def test_a_property_of_one_instance_is_refused(bench: Bench) -> None:
    """An instance cannot have a property of its own."""
    with pytest.raises(TargetError, match="cannot have for itself; name the class"):
        wrap(bench, "instance.size")


def test_a_wrapped_static_and_class_method_of_one_instance(bench: Bench) -> None:
    """Through the instance, the static method gets no instance, the class method its class."""
    wrap(bench, "instance.static")
    wrap(bench, "instance.klass")
    assert bench.upstream.instance.static(1) == 1
    assert bench.upstream.instance.klass(1) == (bench.upstream.Thing, 1)


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("builtin", lambda upstream: upstream.builtin(4.0)),
        ("remembered", lambda upstream: upstream.remembered(1)),
        ("calling", lambda upstream: upstream.calling(1)),
    ],
)
def test_what_is_no_function_gets_wrapts_proxy(
    bench: Bench, target: str, call: Any
) -> None:
    """A builtin, a cached function and a callable instance work, and come back as they were."""
    original = getattr(bench.upstream, target)
    expected = call(bench.upstream)
    undo = wrap(bench, target)
    assert call(bench.upstream) == expected
    assert len(bench.body.calls) == 1
    undo()
    assert getattr(bench.upstream, target) is original


def test_a_proxy_keeps_what_the_object_can(bench: Bench) -> None:
    """A cached function is still one: `cache_clear` and `cache_info` are there."""
    wrap(bench, "remembered")
    assert bench.upstream.remembered(1) is bench.upstream.remembered(1)
    assert bench.upstream.remembered.cache_info().hits == 1


def test_without_wrapt_the_error_says_what_to_install(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing wrapt stops only what needs it, with the way out."""
    monkeypatch.setitem(sys.modules, "wrapt", None)
    wrap(bench, "function")
    with pytest.raises(
        TargetError, match=r"no Python function.*install vllm-patchkit\[wrapt\]"
    ):
        wrap(bench, "builtin")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("Thing", "found the class Thing"),
        ("Thing.writable", "cannot wrap a property that has no getter"),
        ("Thing.number", "found 3, expected something to call"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(
    bench: Bench, target: str, words: str
) -> None:
    """The error names the target and what stands there, and nothing is changed."""
    before = dict(vars(bench.upstream.Thing))
    with pytest.raises(TargetError, match=words) as caught:
        wrap(bench, target)
    assert f"upstream:{target}" in str(caught.value)
    assert dict(vars(bench.upstream.Thing)) == before


def test_by_must_be_callable() -> None:
    """A body's constant cannot run around anything."""
    bench = Bench(UPSTREAM, "by = 1")
    with pytest.raises(TargetError, match="found 1, expected a function"):
        wrap(bench, "function")


def test_two_wrappers_nest_and_come_off_in_any_order(bench: Bench) -> None:
    """The later one is the outer one; either can be undone first."""
    undo_inner = wrap(bench, "function")
    bench.body.by = functools.partial(
        lambda mark, wrapped, _, args, kw: (mark, wrapped(*args)), 2
    )
    undo_outer = wrap(bench, "function")
    assert bench.upstream.function(1) == (2, "1 False")
    undo_inner()
    assert bench.upstream.function(1) == (2, "1 False")
    assert len(bench.body.calls) == 1
    undo_outer()
    assert bench.upstream.function(1) == "1 False"


def test_attributes_of_the_function_are_kept(bench: Bench) -> None:
    """What upstream has hung on the function is found on the wrapped one."""
    bench.upstream.function.marked = "yes"
    wrap(bench, "function")
    assert bench.upstream.function.marked == "yes"


def test_an_abstract_method_stays_abstract_until_it_is_replaced() -> None:
    """A wrapper is as abstract as what it is around: the original, or what takes its place."""
    bench = Bench(
        """
        import abc
        class Abstract(abc.ABC):
            @abc.abstractmethod
            def method(self): ...
        """,
        WATCHED + "def method(self): return 'new'",
    )
    cls = bench.upstream.Abstract
    wrap(bench, "Abstract.method")
    assert vars(cls)["method"].__isabstractmethod__
    with pytest.raises(TypeError, match="abstract"):
        cls()
    undo = bench.apply(Replace("upstream:Abstract.method", by="method"))
    assert cls().method() == "new"
    assert len(bench.body.calls) == 1
    undo()
    with pytest.raises(TypeError, match="abstract"):
        cls()


def test_a_function_that_is_called_through_its_class() -> None:
    """The wrapper gets no instance, and all arguments as the caller gave them."""
    source = """
class Ops:
    def add(a, b): return (a, b)
    def none(): return 'none'
    async def later(a=0): return a
"""
    bench = Bench(source)
    for name in ("add", "none", "later"):
        bench.apply(Wrap(f"upstream:Ops.{name}", by="by"))
    ops = bench.upstream.Ops
    assert ops.add(a=1, b=2) == (1, 2)
    assert ops.add(None, 2) == (None, 2)
    assert ops.none() == "none"
    assert bench.body.calls == [
        (None, (), {"a": 1, "b": 2}),
        (None, (None, 2), {}),
        (None, (), {}),
    ]
    for coroutine, result in ((ops.later(), 0), (ops.later(None), None)):
        with pytest.raises(StopIteration) as caught:
            coroutine.send(None)
        assert caught.value.value is result
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        ops.add(None)


@pytest.mark.parametrize("kind", [Wrap, Replace, Add])
def test_construction_that_undo_could_not_give_back_is_refused(kind: Any) -> None:
    """`__new__` of a class without one is refused: undo could not make Python forget it."""
    bench = Bench(
        "class Thing:\n    def __init__(self, x): self.x = x\nclass Own(dict): ...",
        WATCHED + "def new(cls, *args, **kwargs): return dict.__new__(cls)",
    )
    by = "by" if kind is Wrap else "new"
    with pytest.raises(
        TargetError, match=r"found no __new__ of Thing; .* Change its __init__"
    ):
        bench.apply(kind("upstream:Thing.__new__", by=by))
    assert bench.upstream.Thing(1).x == 1
    if kind is not Add:
        bench.apply(kind("upstream:Own.__new__", by=by))()
    assert bench.upstream.Own(a=1) == {"a": 1}
