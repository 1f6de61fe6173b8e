"""Applies patches for the time of a block or of a function's call, for tests."""

from __future__ import annotations

import functools
import types
from contextlib import aclosing
from inspect import (
    CO_ITERABLE_COROUTINE,
    isasyncgen,
    isasyncgenfunction,
    isawaitable,
    iscoroutinefunction,
    isgenerator,
    isgeneratorfunction,
)
from typing import TYPE_CHECKING, Any, cast

from patchkit.errors import ApplyError, UndoError, UnknownPatchError
from patchkit.runtime.tracebacks import leave_out_own_frames

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from types import TracebackType
    from typing import TypeVar

    from patchkit.runtime.process.session import Session

    Function = TypeVar("Function", bound=Callable[..., Any])


def applied(*names: str, packs: str | tuple[str, ...] | list[str] = ()) -> Applied:
    """Apply patches in this process for the time of a `with` block, or of a decorated function.

    The patches apply whatever the roles of the process, so that a test can try those of a worker.
    The modules of their targets are imported; a change that is made before an import waits for it.
    What was applied before the block stays applied. Everything else is undone: the original objects
    are back.

    The decorator is for functions, coroutine functions and generators of both kinds. The result of
    a call may be used several times, also inside of its own block.

    Args:
        *names: The patches; without names, all that fit the environment and the versions here.
        packs: The names of modules of packs that are neither installed nor in `PATCHKIT_PATCHES`.

    Returns:
        A context manager that is a decorator, too.

    Raises:
        UnknownPatchError: A name is no text; as the block is entered, if no row has the name.
        DeclarationError: As the block is entered, if a patch of `packs` has the name of another.
        ApplyError: As the block is entered, if a patch does not apply here, or fails.
    """
    wrong: list[object] = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise UnknownPatchError(
            f"found {wrong[0]!r}, expected a patch's name: @applied('name')"
        )
    if isinstance(packs, str):
        packs = (packs,)
    return Applied(names, tuple(packs))


class Applied:
    """The context manager and decorator that `applied` returns.

    Args:
        names: The patches; none for all that apply here.
        packs: The modules of packs that are read beside those of the process.
    """

    def __init__(self, names: tuple[str, ...], packs: tuple[str, ...]) -> None:
        self._names = names
        self._packs = packs
        # For each block that is entered and not left: the session, and the patches it has applied
        # for that block. A list, as the same `Applied` may be used again inside of its own block.
        self._blocks: list[tuple[Session, tuple[str, ...]]] = []

    def __enter__(self) -> Applied:
        """Borrow the session of this process, and apply the patches."""
        # Imported here, so that `from patchkit import applied` does not load the session's modules.
        from patchkit.runtime.reach.arming import give_back, lend  # noqa: PLC0415

        session = lend(self._names, self._packs)
        try:
            # Without names, `hold` applies all patches that are for this process. It returns the
            # names of those that it has applied, which the end of the block undoes.
            names = session.blocks.hold(self._names)
            self._blocks.append((session, names))
        except BaseException as error:
            give_back(session, self._packs)
            leave_out_own_frames(error)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """Undo what was applied, and give the session back."""
        from patchkit.runtime.reach.arming import give_back  # noqa: PLC0415

        session, names = self._blocks.pop()
        try:
            session.blocks.let_go(names)
        except UndoError:
            # An error of the block itself matters more; this one was written to stderr already.
            if error is None:
                raise
        finally:
            give_back(session, self._packs)

    def __call__(self, function: Function) -> Function:
        """Decorate a function; each call has a block of its own.

        Args:
            function: A function, or a static or class method of one.

        Returns:
            A function of the same kind.

        Raises:
            UnknownPatchError: It is a class, or cannot be called.
        """
        if isinstance(function, (staticmethod, classmethod)):
            return cast("Function", type(function)(self(function.__func__)))
        if not callable(function) or isinstance(function, type):
            raise UnknownPatchError(
                f"found {function!r} to decorate, expected a function; decorate a class's methods"
            )
        return cast("Function", functools.wraps(function)(self._in_block(function)))

    def _in_block(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the same kind that runs a function in a block."""
        # Each call makes an `Applied` of its own: calls may overlap, and end in any order.
        block = functools.partial(Applied, self._names, self._packs)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with block():
                return await function(*args, **kwargs)

        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with block():
                return (yield from function(*args, **kwargs))

        def plain(*args: Any, **kwargs: Any) -> Any:
            with block():
                result = function(*args, **kwargs)
                return _refuse_unfinished(result, function)

        if iscoroutinefunction(function):
            return coroutine
        if isasyncgenfunction(function):
            return _async_generator(function, block)
        if isgeneratorfunction(function):
            code = getattr(function, "__code__", None)
            # A generator that `types.coroutine` has decorated can be awaited, and must stay so.
            if getattr(code, "co_flags", 0) & CO_ITERABLE_COROUTINE:
                return types.coroutine(generator)
            return generator
        return plain


def _async_generator(
    function: Callable[..., Any], block: Callable[[], Applied]
) -> Callable[..., Any]:
    """Return an asynchronous generator function that runs another one in a block.

    Such a generator cannot `yield from` another, so what is sent or thrown in is passed on by hand.
    """

    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with block():
            async with aclosing(function(*args, **kwargs)) as values:
                step = values.asend(None)
                while True:
                    try:
                        value = await step
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise  # this one is being closed: `aclosing` closes the function's, too
                    except BaseException as error:  # noqa: BLE001 - it is for the function to see
                        step = values.athrow(error)
                    else:
                        step = values.asend(sent)

    return async_generator


def _refuse_unfinished(value: Any, function: object) -> Any:
    """Return what a plain function returned, if that is done as the block ends.

    Raises:
        ApplyError: It is a coroutine or a generator, whose code would run after the block.
    """
    if isawaitable(value) or isgenerator(value) or isasyncgen(value):
        close = getattr(value, "close", None)
        if close is not None:
            close()  # or Python would warn that a coroutine was never awaited
        raise ApplyError(
            f"{function!r} returned {type(value).__name__} {value!r}, which would run unpatched, "
            "expected it to be done; decorate the function that has the `async` or the `yield`"
        )
    return value
