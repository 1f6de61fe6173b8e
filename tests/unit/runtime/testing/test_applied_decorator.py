from __future__ import annotations

import asyncio
import functools
import inspect
import types
from typing import TYPE_CHECKING, Any

import pytest
from support import blocks, packages
from support.one_patch import load

from patchkit import applied
from patchkit.errors import ApplyError, UnknownPatchError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from support.packages import World

world = packages.world
upstream = blocks.upstream


def test_a_decorated_function(world: World) -> None:
    """Each call of a decorated function is a block; its name, docstring and signature stay."""

    @applied("p")
    def work(number: int, *, deep: bool = False) -> Any:
        """Doc."""
        return load("up.mod").function() if not deep else work(number)

    assert work(1, deep=True) == ("by", "old")
    assert load("up.mod").function() == "old"
    assert (work.__name__, work.__doc__) == ("work", "Doc.")
    assert list(inspect.signature(work).parameters) == ["number", "deep"]


def test_a_decorated_coroutine_function(world: World) -> None:
    """A decorated coroutine function is patched until it returns, also after it has waited."""

    @applied("p")
    async def work() -> Any:
        await asyncio.sleep(0)
        return load("up.mod").function()

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(work()) == ("by", "old")
    assert load("up.mod").function() == "old"


def test_a_decorated_generator(world: World) -> None:
    """A decorated generator is patched from its first step to its end, and gets what is sent."""

    @applied("p")
    def work() -> Iterator[Any]:
        sent = yield load("up.mod").function()
        yield sent
        return "end"

    generator: Any = work()
    assert inspect.isgeneratorfunction(work)
    assert load("up.mod").function() == "old"
    assert next(generator) == ("by", "old")
    assert load("up.mod").function() == ("by", "old")
    assert generator.send(3) == 3
    with pytest.raises(StopIteration, match="end"):
        next(generator)
    assert load("up.mod").function() == "old"


def test_a_decorated_asynchronous_generator(world: World) -> None:
    """A decorated asynchronous generator is patched to its end, also where it is closed early."""
    ended = []

    @applied("p")
    async def work() -> AsyncIterator[Any]:
        try:
            yield load("up.mod").function()
            yield 2
        finally:
            ended.append(load("up.mod").function())

    async def use() -> list[Any]:
        closed_early = work()
        results = [await closed_early.__anext__()]
        await closed_early.aclose()  # type: ignore[attr-defined]
        return results + [value async for value in work()]

    assert inspect.isasyncgenfunction(work)
    assert asyncio.run(use()) == [("by", "old"), ("by", "old"), 2]
    assert ended == [("by", "old")] * 2
    assert load("up.mod").function() == "old"


def test_what_is_sent_to_an_asynchronous_generator(world: World) -> None:
    """Values and errors reach the function, and its answers come back, patched all the while."""

    @applied("p")
    async def work() -> AsyncGenerator[Any, Any]:
        sent = yield "first"
        try:
            yield sent, load("up.mod").function()
        except KeyError as error:
            yield "caught", error.args, load("up.mod").function()

    async def use() -> list[Any]:
        generator = work()
        results = [await generator.__anext__(), await generator.asend(3)]
        results.append(await generator.athrow(KeyError("key")))
        with pytest.raises(StopAsyncIteration):
            await generator.__anext__()
        return results

    assert asyncio.run(use()) == [
        "first",
        (3, ("by", "old")),
        ("caught", ("key",), ("by", "old")),
    ]
    assert load("up.mod").function() == "old"


def test_an_asynchronous_generator_that_fails(world: World) -> None:
    """An error of the generator reaches its caller, and its patches are undone."""

    @applied("p")
    async def work() -> AsyncGenerator[Any, Any]:
        yield 1
        raise ValueError("mine")

    async def use() -> None:
        async for _ in work():
            pass

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(use())
    assert load("up.mod").function() == "old"


def test_what_cannot_be_decorated_is_refused() -> None:
    """`@applied` without parentheses, or on a class, is an error at once."""
    with pytest.raises(
        UnknownPatchError, match=r"expected a patch's name: @applied\('name'\)"
    ):

        @applied  # type: ignore[arg-type]
        def work() -> None: ...

    with pytest.raises(UnknownPatchError, match="decorate a class's methods"):

        @applied("p")
        class Tests: ...


# -- what runs later than it looks -----------------------------------------------------------------


async def waits() -> Any:
    await asyncio.sleep(0)
    return load("up.mod").function()


class Waits:
    async def __call__(self) -> Any:
        return await waits()

    @applied("p")
    @staticmethod
    async def static() -> Any:
        return await waits()

    @applied("p")
    @classmethod
    async def of_class(cls) -> Any:
        return await waits()


@pytest.mark.parametrize(
    "function",
    [
        applied("p")(functools.partial(waits)),
        Waits.static,
        Waits().static,
        Waits.of_class,
    ],
)
def test_a_decorated_method_or_partial_of_a_coroutine_function(
    world: World, function: Any
) -> None:
    """A static method, class method or partial of a coroutine function is patched to its end."""
    assert asyncio.run(function()) == ("by", "old")


@pytest.mark.parametrize("later", [waits, Waits(), lambda: (one for one in ())])
def test_what_would_run_after_the_block_is_refused(world: World, later: Any) -> None:
    """A decorated plain function that returns a coroutine or a generator raises an ApplyError."""

    @applied("p")
    def work() -> Any:
        return later()

    with pytest.raises(ApplyError, match="would run unpatched"):
        work()


def test_a_decorated_generator_that_types_makes_awaitable(world: World) -> None:
    """It can still be awaited, and is patched from its first step to its end."""

    @applied("p")
    @types.coroutine
    def work() -> Any:
        sent = yield load("up.mod").function()
        return (sent, load("up.mod").function())

    async def main() -> Any:
        return await work()

    waiting = main()
    assert waiting.send(None) == ("by", "old")
    with pytest.raises(StopIteration) as ended:
        waiting.send("sent")
    assert ended.value.value == ("sent", ("by", "old"))
    assert load("up.mod").function() == "old"
