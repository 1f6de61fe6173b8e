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
    return lambda: [function]


def default(function: Any) -> Any:
    return lambda function=function: function()


def looking_like_it(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper() -> Any: ...

    return wrapper


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "closure": closure,
    "default": default,
    "wraps": looking_like_it,
    "partial": functools.partial,
    "lru_cache": functools.lru_cache,
    "partial argument": lambda one: functools.partial(print, one),
    "object": Calling,
    "bound method": lambda one: MethodType(one, 1),
    "method of an object": lambda one: Calling(one).method,
    "static method": staticmethod,
    "class method": classmethod,
    "property": property,
    "cached property": functools.cached_property,
    "wrapt": lambda one: wrapt.FunctionWrapper(one, theirs),
    "mock": lambda one: mock.Mock(wraps=one),
    "list in a closure": lambda one: closure([one]),
}


@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_wrapper_leads_to_what_it_wraps(kind: str) -> None:
    """Whatever it is made of, also where it is wrapped once more; and to nothing else."""
    wrapper = WRAPPERS[kind](ours)
    assert leads_to(wrapper, ours)
    assert leads_to(closure(wrapper), ours)
    assert not leads_to(wrapper, Ours)


def test_a_class_leads_to_its_bases() -> None:
    """One that derives from ours lets ours act."""
    assert leads_to(Theirs, Ours)
    assert not leads_to(Ours, Theirs)


def test_a_circle_ends() -> None:
    """What holds itself is no way down."""
    circle: list[Any] = []
    circle.append(circle)
    assert not leads_to(closure(circle), ours)


def test_something_huge_ends() -> None:
    """The search is bounded."""
    assert not leads_to(closure([*([number] for number in range(10_000)), ours]), ours)


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
def test_it_is_described(value: Any, words: str) -> None:
    """Module, name, file and line, of the function that somebody wrote for it."""
    assert described(value).startswith(words)


def test_what_poses_as_ours_is_described_as_what_it_is() -> None:
    """functools.wraps has the wrapper call itself by our name; its code knows better."""
    words = described(looking_like_it(ours))
    assert __file__ in words
    assert f"{looking_like_it.__code__.co_firstlineno + 1})" in words
