"""What kinds of functions and objects fit each other, in Replace and in Wrap."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, subject

if TYPE_CHECKING:
    from support.packages import World

PLAIN = "def f(a): return a\n"
COROUTINE = "async def f(a): return a\n"
GENERATOR = "def f(a): yield a\n"
CACHED = "import functools\n@functools.lru_cache(maxsize=8)\ndef f(a): return a\n"
DELEGATING = "def w(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)\n"
AWAITING = (
    "async def w(wrapped, instance, args, kwargs): "
    "return await wrapped(*args, **kwargs)\n"
)
YIELDING = (
    "def w(wrapped, instance, args, kwargs):\n    yield from wrapped(*args, **kwargs)\n"
)


def result_of(source: str, wrapper: str) -> str:
    """Say what a wrapped function really returns."""
    space: dict[str, object] = {}
    exec(source + wrapper, space)
    result = space["w"](space["f"], None, (1,), {})  # type: ignore[operator]
    if inspect.iscoroutine(result):
        result.close()
        return "a coroutine"
    if inspect.isgenerator(result):
        return "a generator"
    return "its result"


@pytest.mark.parametrize("source", [PLAIN, COROUTINE, GENERATOR, CACHED])
@pytest.mark.parametrize("wrapper", [DELEGATING, AWAITING, YIELDING])
def test_a_wrapper_returns_what_upstream_returns(
    world: World, source: str, wrapper: str
) -> None:
    """A coroutine for a coroutine, a generator for a generator; a plain one may do either."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a=wrapper)
    report = checked([subject("1.0", mod=source)])
    plain = result_of(source, DELEGATING)
    is_alike = result_of(source, wrapper) == plain
    assert codes(report) == ([] if is_alike else ["PK102"])


@pytest.mark.parametrize("source", [PLAIN, COROUTINE, GENERATOR, CACHED])
@pytest.mark.parametrize("body", [PLAIN, COROUTINE, GENERATOR])
def test_a_function_is_replaced_by_one_of_its_kind(
    world: World, source: str, body: str
) -> None:
    """Async in the place of sync, and sync in the place of async, are findings."""
    other = body.replace("return a", "return [a]").replace("yield a", "yield [a]")
    world.pack(row("p", "patch_a", "Replace('up.mod:f', by='f')"), patch_a=other)
    report = checked([subject("1.0", mod=source)])
    is_alike = result_of(source, DELEGATING) == result_of(body, DELEGATING)
    assert codes(report) == ([] if is_alike else ["PK102"])


CALLABLES = """
import enum
import functools
import threading

def f(a, b): return a

class Calling:
    def __call__(self, x): return x

class Derived(Calling): pass

class Silent: pass

class Color(enum.Enum):
    RED = 1

class Operation(enum.Enum):
    ADD = 1
    def __call__(self, x): return x

class K:
    def m(self, a, b): return a
    part = functools.partialmethod(m, 1)

partial = functools.partial(f, 1)
calling = Calling()
derived = Derived()
silent = Silent()
red = Color.RED
add = Operation.ADD
event = threading.Event()
number = 3
text = "x"
table = {}
"""


@pytest.mark.parametrize(
    "name",
    [
        "partial",
        "calling",
        "derived",
        "silent",
        "red",
        "add",
        "event",
        "number",
        "text",
        "table",
        "K.part",
    ],
)
def test_what_can_be_called_can_be_wrapped(world: World, name: str) -> None:
    """An object that Python can call is no finding, any other one, as Wrap finds it, is."""
    world.pack(
        row("p", "patch_a", f"Wrap('up.mod:{name}', by='w')"), patch_a=DELEGATING
    )
    space: dict[str, object] = {}
    exec(CALLABLES, space)
    owner, _, attribute = name.rpartition(".")
    # As the class has it: a `partialmethod` is called only once it is read.
    value = vars(space[owner])[attribute] if owner else space[name]
    expected = [] if callable(value) else ["PK102"]
    assert codes(checked([subject("1.0", mod=CALLABLES)])) == expected


CLASS = "class C:\n    def __init__(self, a): self.a = a\n"


@pytest.mark.parametrize(
    ("source", "body", "expected"),
    [
        (CLASS, "import up.mod\nclass D(up.mod.C): pass\n", []),
        ("def C(a): return a\n", "import up.mod\nclass D(up.mod.C): pass\n", ["PK102"]),
        ("def C(a): return a\n", CLASS.replace("class C", "class D"), ["PK102"]),
        (CLASS, "def D(a): return a\n", ["PK102"]),
    ],
)
def test_a_class_that_became_a_function_is_a_finding(
    world: World, source: str, body: str, expected: list[str]
) -> None:
    """Nobody can derive from it, or ask whether an object is an instance of it."""
    world.pack(row("p", "patch_a", "Replace('up.mod:C', by='D')"), patch_a=body)
    assert codes(checked([subject("1.0", mod=source)])) == expected


def test_the_wrapper_of_a_coroutine_function_runs() -> None:
    """The truth that the tests above compare with is what an event loop gets."""
    space: dict[str, object] = {}
    exec(COROUTINE + AWAITING, space)
    wrapped = space["w"](space["f"], None, (1,), {})  # type: ignore[operator]
    assert asyncio.run(wrapped) == 1
