from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import pytest
import wrapt

from patchkit.runtime.changes.foreign import described
from patchkit.runtime.changes.owners import MISSING


def ours(*args: Any) -> None: ...


def theirs(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any: ...


class Theirs: ...


# It only looks as if it called the function.
def looks_like(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper() -> Any: ...

    return wrapper


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(
            theirs,
            f"{__name__}.theirs ({__file__}:{theirs.__code__.co_firstlineno})",
            id="a function",  # a test's name is the same in every folder
        ),
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
