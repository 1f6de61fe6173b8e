from __future__ import annotations

import functools
from types import MethodType
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
import wrapt

from patchkit.runtime.changes.foreign import described, leads_to
from patchkit.runtime.changes.owners import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable


def ours(*args: Any) -> None: ...


def theirs(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any: ...


class Ours: ...


class Theirs(Ours): ...


class Calling:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self) -> Any:
        return self.function()

    def method(self) -> None: ...


def closure(function: Any) -> Any:
    """A function that holds another one in its closure."""
    return lambda: [function]


def default(function: Any) -> Any:
    return lambda function=function: function()


# It only looks as if it called the function.
def looks_like(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper() -> Any: ...

    return wrapper


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "closure": closure,
    "default": default,
    "wraps": looks_like,
    "partial": functools.partial,
    "lru_cache": functools.lru_cache,
    "partial argument": lambda function: functools.partial(print, function),
    "object": Calling,
    "bound method": lambda function: MethodType(function, 1),
    "method of an object": lambda function: Calling(function).method,
    "static method": staticmethod,
    "class method": classmethod,
    "property": property,
    "cached property": functools.cached_property,
    "wrapt": lambda function: wrapt.FunctionWrapper(function, theirs),
    "mock": lambda function: mock.Mock(wraps=function),
    "list in a closure": lambda function: closure([function]),
}


@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_wrapper_leads_to_what_it_wraps(kind: str) -> None:
    """`leads_to` finds the function in any wrapper, also a wrapped one, and finds no other."""
    wrapper = WRAPPERS[kind](ours)
    assert leads_to(wrapper, ours)
    assert leads_to(closure(wrapper), ours)
    assert not leads_to(wrapper, Ours)


def test_a_class_leads_to_its_bases() -> None:
    """A subclass leads to its base, and the base not to the subclass."""
    assert leads_to(Theirs, Ours)
    assert not leads_to(Ours, Theirs)


def test_a_list_that_holds_itself_leads_nowhere() -> None:
    """The search ends in a list that holds itself, and finds nothing."""
    circle: list[Any] = []
    circle.append(circle)
    assert not leads_to(closure(circle), ours)


def test_the_search_for_a_function_is_bounded() -> None:
    """A function behind ten thousand lists is not found: the search stops earlier."""
    items: list[Any] = [[number] for number in range(10_000)]
    items.append(ours)
    assert not leads_to(closure(items), ours)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (theirs, f"{__name__}.theirs ({__file__}:{theirs.__code__.co_firstlineno})"),
        (staticmethod(theirs), f"{__name__}.theirs ("),
        (functools.partial(theirs), f"{__name__}.theirs ("),
        (wrapt.FunctionWrapper(ours, theirs), f"{__name__}.theirs ("),
        (Theirs, f"the class {__name__}.Theirs"),
        (mock.Mock(), "an object of unittest.mock.Mock"),
        (MISSING, "nothing: it was removed"),
        ("text", "'text'"),
        ("x" * 1000, "'" + "x" * 59),
        (7, "7"),
    ],
)
def test_a_stranger_is_described(value: Any, words: str) -> None:
    """`described` gives a function's name, file and line, a class's name, or a short repr."""
    assert described(value).startswith(words)


def test_a_function_that_poses_as_ours_is_described_by_its_code() -> None:
    """A wrapper that `functools.wraps` has renamed is described by its own file and line."""
    description = described(looks_like(ours))
    assert __file__ in description
    assert f"{looks_like.__code__.co_firstlineno + 1})" in description
