"""An Edit follows `__wrapped__` to what the decorator calls, and to nothing else."""

from __future__ import annotations

from textwrap import dedent

import pytest

from patchkit.errors import TargetError
from patchkit.runtime.changes import calling
from patchkit.runtime.changes.source.edit import function_at
from runtime.changes.source.edits import Desk

IMPL = "import contextlib, functools\ndef impl(x=0): return 'inner'\n"

CALLS = {
    "a closure": """
        def deco(f):
            @functools.wraps(f)
            def wrapper(*args): return f(*args)
            return wrapper
        target = deco(impl)
    """,
    "a closure of a closure": """
        def deco(f):
            def call(*args): return f(*args)
            @functools.wraps(f)
            def wrapper(*args): return call(*args)
            return wrapper
        target = deco(impl)
    """,
    "a function inside": """
        def deco(f):
            @functools.wraps(f)
            def wrapper(): return [f() for _ in range(1)]
            return wrapper
        target = deco(impl)
    """,
    "a default": """
        @functools.wraps(impl)
        def target(*args, _f=impl): return _f(*args)
    """,
    "a positional default": """
        @functools.wraps(impl)
        def target(_f=impl): return _f()
    """,
    "its name": """
        @functools.wraps(impl)
        def target(*args): return impl(*args)
    """,
    "a global of another name": """
        other = functools.partial(impl)
        @functools.wraps(impl)
        def target(*args): return other(*args)
    """,
    "a table": """
        TABLE = {'run': [impl]}
        @functools.wraps(impl)
        def target(*args): return TABLE['run'][0](*args)
    """,
    "an attribute": """
        @functools.wraps(impl)
        def target(*args): return target.kept(*args)
        target.kept = impl
    """,
    "`__wrapped__` itself": """
        @functools.wraps(impl)
        def target(*args): return target.__wrapped__(*args)
    """,
    "an object of a class": """
        class Call:
            __slots__ = ('f',)
            def __init__(self, f): self.f = f
            def run(self): return self.f()
        def deco(f):
            call = Call(f)
            run = call.run
            @functools.wraps(f)
            def wrapper(): return run()
            return wrapper
        target = deco(impl)
    """,
    "a class that is called": """
        class Deco:
            def __init__(self, f): functools.update_wrapper(self, f)
            def __call__(self): return self.__wrapped__()
        target = Deco(impl)
    """,
    "a context manager": "target = contextlib.contextmanager(impl)",
    "an async one": "target = contextlib.asynccontextmanager(impl)",
    "a dispatcher": "target = functools.singledispatch(impl)",
    "a cache": "target = functools.lru_cache(impl)",
    "a cached dispatcher": "target = functools.lru_cache(functools.singledispatch(impl))",
    "pydantic's": "import pydantic\ntarget = pydantic.validate_call(impl)",
    "a bound method": """
        class A:
            def impl(self): return 'inner'
            @functools.wraps(impl)
            def target(self): return self.impl()
        target = A.target
    """,
}  # fmt: skip

NAMES_ONLY = {
    "a signature": """
        @functools.wraps(impl)
        def target(*args): return 'outer'
    """,
    "a decorator": """
        def like(f):
            return lambda g: functools.update_wrapper(g, f)
        def other(): return 'other'
        @like(impl)
        def target(*args, _other=other): return other()
    """,
    "an object beside": """
        class Registry:
            def run(self): return 'registry'
        REGISTRY = Registry()
        @functools.wraps(impl)
        def target(*args): return REGISTRY.run()
    """,
    "one of the decorators": """
        def deco(f):
            @functools.wraps(f)
            def wrapper(*args): return f(*args)
            return wrapper
        @deco
        @functools.wraps(impl)
        def target(*args): return 'outer'
    """,
}  # fmt: skip


def _desk(source: str) -> Desk:
    return Desk(IMPL + dedent(source))


@pytest.mark.parametrize("source", CALLS.values(), ids=CALLS)
def test_a_decorator_that_calls_what_it_names(source: str) -> None:
    """The function beneath the decorator is edited, by whatever way the decorator has it."""
    desk = _desk(source)
    _, function = function_at(desk.upstream, "target", desk.sites)
    assert "inner" in function.__code__.co_consts


@pytest.mark.parametrize("source", NAMES_ONLY.values(), ids=NAMES_ONLY)
def test_a_function_that_only_names_another(source: str) -> None:
    """An Edit is refused with the names of both, and nobody's function is changed."""
    desk = _desk(source)
    code = desk.upstream.impl.__code__
    with pytest.raises(TargetError) as raised:
        desk.edit("target", "'inner'", "'edited'")
    for words in ("Edit('upstream:target')", "target (", "impl ("):
        assert words in str(raised.value)
    assert desk.upstream.impl.__code__ is code


@pytest.mark.parametrize("original", ["impl", "A().run"])
def test_a_copy_of_what_it_names(original: str) -> None:
    """A function with the same code is no decorator: an edit of the one leaves the other."""
    source = f"""
        import types
        class A:
            def run(self): return 'run'
        original = {original}
        target = types.FunctionType(original.__code__, globals())
        functools.update_wrapper(target, original)
    """
    with pytest.raises(TargetError, match="does not call what its __wrapped__ names"):
        _desk(source).edit("target", "'inner'", "'edited'")


@pytest.mark.parametrize("loaded", ["kept", "f(), kept"])
def test_a_closure_over_half_of_the_program(
    monkeypatch: pytest.MonkeyPatch, loaded: str
) -> None:
    """However much a decorator holds, it is followed if its own code loads what it names."""
    source = f"""
        def deco(f, kept):
            @functools.wraps(f)
            def wrapper(): return {loaded}
            return wrapper
        target = deco(impl, [object() for _ in range(20)])
    """
    desk = _desk(source)
    monkeypatch.setattr(calling, "_MOST", 10)
    if loaded == "kept":
        with pytest.raises(TargetError, match="does not call what"):
            function_at(desk.upstream, "target", desk.sites)
    else:
        _, function = function_at(desk.upstream, "target", desk.sites)
        assert function is desk.upstream.impl
