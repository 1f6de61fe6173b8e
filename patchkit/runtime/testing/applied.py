"""`applied`: patches for the time of a block or of a function's call, for tests."""

from __future__ import annotations

import functools
from contextlib import aclosing
from inspect import (
    isasyncgen,
    isasyncgenfunction,
    isawaitable,
    iscoroutinefunction,
    isgenerator,
    isgeneratorfunction,
)
from typing import TYPE_CHECKING, Any, cast

from patchkit.errors import ApplyError, UndoError, UnknownPatchError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator
    from types import TracebackType
    from typing import TypeVar

    from patchkit.runtime.process.session import Session

    Function = TypeVar("Function", bound=Callable[..., Any])


def applied(*names: str, packs: str | tuple[str, ...] | list[str] = ()) -> Applied:
    """Apply patches in this process for the time of a `with` block, or of a decorated function.

    The patches apply whatever the roles of the process, so that a worker's can be tried in a test.
    Their targets' modules are imported; a change that comes before an import waits for it. What was
    applied before stays applied afterwards, everything else is the very object that it was.

    Without names all that are for here apply; `packs` names modules of packs that are neither
    installed nor in `PATCHKIT_PATCHES`. The decorator is for functions, coroutine functions and
    generators of both kinds; what is returned may be used again, also within itself.

    The block raises UnknownPatchError for a name that no row has, DeclarationError where a patch of
    `packs` has the name of another, and ApplyError where one is not for here, or fails.
    """
    wrong: list[object] = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise UnknownPatchError(f"found {wrong[0]!r}, expected a patch's name: @applied('name')")
    return Applied(names, (packs,) if isinstance(packs, str) else tuple(packs))


class Applied:
    """What `applied` returns."""

    def __init__(self, names: tuple[str, ...], packs: tuple[str, ...]) -> None:
        self._names = names
        self._packs = packs
        self._held: list[tuple[Session, tuple[str, ...]]] = []

    def __enter__(self) -> Applied:
        # Late: whoever imports the vocabulary does not need it.
        from patchkit.runtime.reach.arming import give_back, lend  # noqa: PLC0415

        session = lend(self._names, self._packs)
        try:
            self._held.append((session, session.blocks.hold(self._names)))
        except BaseException:
            give_back(session, self._packs)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        from patchkit.runtime.reach.arming import give_back  # noqa: PLC0415

        session, names = self._held.pop()
        try:
            session.blocks.let_go(names)
        except UndoError:
            if error is None:  # else that matters more, and this has been said on stderr
                raise
        finally:
            give_back(session, self._packs)

    def __call__(self, function: Function) -> Function:
        """Decorate a function; each call has a block of its own."""
        if isinstance(function, (staticmethod, classmethod)):
            return cast("Function", type(function)(self(function.__func__)))
        if not callable(function) or isinstance(function, type):
            raise UnknownPatchError(
                f"found {function!r} to decorate, expected a function; decorate a class's methods"
            )
        return cast("Function", functools.wraps(function)(self._around(function)))

    def _around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        again = functools.partial(Applied, self._names, self._packs)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with again():
                return await function(*args, **kwargs)

        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with again():
                return (yield from function(*args, **kwargs))

        async def async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with again():
                async with aclosing(function(*args, **kwargs)) as values:
                    async for value in values:
                        yield value

        def plain(*args: Any, **kwargs: Any) -> Any:
            with again():
                return _refuse_unfinished(function(*args, **kwargs), function)

        if iscoroutinefunction(function):
            return coroutine
        if isasyncgenfunction(function):
            return async_generator
        return generator if isgeneratorfunction(function) else plain


def _refuse_unfinished(value: Any, function: object) -> Any:
    """Return what a function returned, unless that does its work after the block."""
    if isawaitable(value) or isgenerator(value) or isasyncgen(value):
        getattr(value, "close", bool)()  # no warning that it was never awaited
        raise ApplyError(
            f"{function!r} returned {type(value).__name__} {value!r}, which would run unpatched, "
            "expected it to be done; decorate the function that has the `async` or the `yield`"
        )
    return value
