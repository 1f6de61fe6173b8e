from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import types
from typing import Any

import pytest

from patchkit.runtime.changes.objects.wrap import around_function, around_method


def through(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """A wrapper that changes nothing."""
    return wrapped(*args, **kwargs)


def around(function: Any, by: Any = through) -> Any:
    """The function with a wrapper around it, as Wrap makes it."""
    return around_function(function, by)


def echo(log: list[Any]) -> Any:
    """A generator that notes what it is sent, thrown and closed by."""
    try:
        received = yield "first"
        while True:
            log.append(received)
            try:
                received = yield received
            except ValueError as error:
                received = yield ("caught", str(error))
    finally:
        log.append("closed")


async def async_echo(log: list[Any]) -> Any:
    """An async generator that does as `echo` does."""
    try:
        received = yield "first"
        while True:
            log.append(received)
            try:
                received = yield received
            except (ValueError, asyncio.CancelledError) as error:
                received = yield ("caught", type(error).__name__)
    finally:
        await asyncio.sleep(0)
        log.append("closed")


async def add(a: int, b: int = 1) -> int:
    await asyncio.sleep(0)
    return a + b


@pytest.mark.parametrize(
    ("function", "is_of_its_kind"),
    [
        (add, inspect.iscoroutinefunction),
        (add, asyncio.iscoroutinefunction),
        (echo, inspect.isgeneratorfunction),
        (async_echo, inspect.isasyncgenfunction),
        (through, inspect.isfunction),
    ],
)
def test_a_function_stays_of_its_kind(function: Any, is_of_its_kind: Any) -> None:
    """`inspect` sees in the wrapper what it saw in the function, and the same signature."""
    for wrapped in (around(function), around_method(function, through)):
        assert is_of_its_kind(wrapped)
        assert inspect.signature(wrapped) == inspect.signature(function)


def test_a_wrapped_plain_function_is_no_coroutine_or_generator() -> None:
    """A wrapped plain function is neither a coroutine function nor a generator function."""
    wrapped = around(through)
    assert not inspect.iscoroutinefunction(wrapped)
    assert not inspect.isgeneratorfunction(wrapped)


def test_a_wrapped_coroutine_function_is_awaited() -> None:
    """Its result comes through a plain wrapper that passes the coroutine on."""
    assert asyncio.run(around(add)(1, b=2)) == 3


def test_an_async_wrapper_may_await() -> None:
    """The body's wrapper may be a coroutine function itself."""

    async def by(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return 10 * await wrapped(*args, **kwargs)

    assert asyncio.run(around(add, by)(1)) == 20


def test_a_plain_wrapper_may_answer_itself() -> None:
    """A wrapper around a coroutine function may return a value without awaiting anything."""
    assert asyncio.run(around(add, lambda *_: "answer")(1)) == "answer"


def test_a_generator_is_sent_to_thrown_into_and_closed() -> None:
    """All of a generator's protocol reaches the original."""
    log: list[Any] = []
    generator = around(echo)(log)
    assert next(generator) == "first"
    assert generator.send("a") == "a"
    assert generator.throw(ValueError("b")) == ("caught", "b")
    generator.close()
    assert log == ["a", "closed"]


def test_a_generators_return_value_comes_through() -> None:
    """`yield from` a wrapped generator gives what the original returned."""

    def counting() -> Any:
        yield 1
        return "result"

    def outer() -> Any:
        return (yield from around(counting)())

    generator = outer()
    next(generator)
    with pytest.raises(StopIteration) as caught:
        next(generator)
    assert caught.value.value == "result"


def test_an_async_generator_is_sent_to_thrown_into_and_closed() -> None:
    """`asend`, `athrow` and `aclose` reach the original."""
    log: list[Any] = []

    async def main() -> None:
        generator = around(async_echo)(log)
        assert await generator.asend(None) == "first"
        assert await generator.asend("a") == "a"
        assert await generator.athrow(ValueError("b")) == ("caught", "ValueError")
        await generator.aclose()

    asyncio.run(main())
    assert log == ["a", "closed"]


def test_an_async_generator_sees_a_cancellation() -> None:
    """What is thrown in reaches the original, also where it is no Exception.

    `asynccontextmanager` throws a cancelled block's CancelledError into its generator.
    """

    async def main() -> Any:
        generator = around(async_echo)([])
        await generator.asend(None)
        await generator.asend("a")
        return await generator.athrow(asyncio.CancelledError())

    assert asyncio.run(main()) == ("caught", "CancelledError")


def test_an_async_generator_that_ends_with_an_error() -> None:
    """All values of the original come through, and then the error that it raises."""

    async def three() -> Any:
        for number in range(3):
            yield number
        raise LookupError("the end")

    received: list[Any] = []

    async def main() -> None:
        async for value in around(three)():
            received.append(value)  # noqa: PERF401 - a comprehension would lose what it has

    with pytest.raises(LookupError, match="the end"):
        asyncio.run(main())
    assert received == [0, 1, 2]


def test_an_async_generator_left_early_is_closed() -> None:
    """Who breaks out of the loop and closes has the original's cleanup run."""
    log: list[Any] = []

    async def main() -> None:
        async with contextlib.aclosing(around(async_echo)(log)) as values:
            async for _ in values:
                break

    asyncio.run(main())
    assert log == ["closed"]


def test_an_async_generator_wrapper_may_filter() -> None:
    """The body's wrapper may be an async generator itself."""

    async def numbers() -> Any:
        for number in range(4):
            yield number

    async def by(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        async for value in wrapped(*args, **kwargs):
            if value % 2:
                yield value

    async def main() -> list[int]:
        return [value async for value in around(numbers, by)()]

    assert asyncio.run(main()) == [1, 3]


def test_an_async_generator_wrapper_may_return_any_async_iterator() -> None:
    """What has no `asend` is gone through, as `yield from` goes through any iterable."""

    class Countdown:
        def __init__(self) -> None:
            self.left = 2

        def __aiter__(self) -> Countdown:
            return self

        async def __anext__(self) -> int:
            if not self.left:
                raise StopAsyncIteration
            self.left -= 1
            return self.left

    async def main() -> list[int]:
        generator = around(async_echo, lambda *_: Countdown())
        return [value async for value in generator([])]

    assert asyncio.run(main()) == [1, 0]


def test_a_method_is_bound_for_the_wrapper() -> None:
    """The wrapper gets the instance, and the original bound to it."""
    received: list[Any] = []

    def by(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        received.append((instance, args, kwargs))
        return wrapped(*args, **kwargs)

    class Thing:
        def method(self, x: int, self_: int = 0) -> Any:
            return self, x

    Thing.method = around_method(Thing.method, by)  # type: ignore[method-assign, arg-type]
    thing = Thing()
    assert thing.method(1, self_=2) == (thing, 1)
    assert received == [(thing, (1,), {"self_": 2})]


def test_an_argument_may_be_called_self() -> None:
    """Keyword arguments named like the wrapper's own parameters get through."""

    def method(this: Any, /, **kwargs: Any) -> Any:
        return kwargs

    wrapped = around_method(method, through)  # type: ignore[arg-type]
    assert wrapped("instance", self=1, args=2) == {"self": 1, "args": 2}


@types.coroutine
def awaitable(log: list[Any]) -> Any:
    log.append((yield "step"))
    return "result"


def test_a_generator_that_types_makes_awaitable_stays_so() -> None:
    """It is awaited, sent to and iterated as the original is."""

    async def main(function: Any, log: list[Any]) -> Any:
        return await function(log)

    def outer(function: Any, log: list[Any]) -> Any:
        return (yield from function(log))

    for caller in (main, outer):
        results = []
        for function in (
            awaitable,
            around(awaitable),
            around_method(awaitable, through),
        ):
            log: list[Any] = []
            waiting = caller(function, log)
            step = waiting.send(None)
            with pytest.raises(StopIteration) as ended:
                waiting.send("sent")
            results.append((step, ended.value.value, log))
        assert results == [("step", "result", ["sent"])] * 3
    assert not inspect.iscoroutinefunction(around(echo))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="inspect marks none before")
def test_a_function_that_is_marked_as_a_coroutine_function_stays_so() -> None:
    """`inspect.markcoroutinefunction` marks a plain function that returns a coroutine."""
    marked = inspect.markcoroutinefunction(lambda: add(1))  # type: ignore[attr-defined, unused-ignore]
    assert inspect.iscoroutinefunction(around(marked))
    assert asyncio.run(around(marked)()) == 2
