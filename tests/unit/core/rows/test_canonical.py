from __future__ import annotations

import collections
import enum
import threading
import typing
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.rows.canonical import canonical
from patchkit.errors import CanonicalError


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: Any


def function() -> None: ...


class Named(set[int]):
    """A set with an attribute of its own."""

    def __init__(self, values: set[int], name: str) -> None:
        super().__init__(values)
        self.name = name


LITERALS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
)
VALUES = st.recursive(
    LITERALS | st.sampled_from([Colour.RED, Colour.BLUE, function, Point, list[int]]),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.builds(Point, inner)
    ),
)


@given(
    st.sets(st.text() | st.integers()), st.dictionaries(st.text(), VALUES), st.randoms()
)
def test_order_says_nothing_where_it_is_none(
    names: set[Any], table: dict[str, Any], r: Any
) -> None:
    """Sets and dicts are written in one order, however they were filled."""
    shuffled = list(names), list(table.items())
    for one in shuffled:
        r.shuffle(one)
    assert canonical([names, table]) == canonical([set(shuffled[0]), dict(shuffled[1])])


@given(VALUES, VALUES)
def test_other_values_are_other_texts(one: Any, other: Any) -> None:
    """Equal texts, equal values; `1`, `1.0` and `True` are three."""
    if canonical(one) == canonical(other):
        assert repr(one) == repr(other) or one == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], (1, 2)),
        ({1, 2}, frozenset({1, 2})),
        (1, True),
        (0, 0.0),
        ("1", 1),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1)),
        (collections.defaultdict(int), collections.defaultdict(list)),
        (Named({1}, "a"), Named({1}, "b")),
        (list[int], list[str]),
        (typing.List["int"], typing.List[int]),  # noqa: UP006
        (PurePosixPath("a"), PurePosixPath("b")),
        (Point({1, 2}), Point({1, 3})),
        (len, abs),
    ],
)
def test_likenesses(one: Any, other: Any) -> None:
    """What is nearly the same is not."""
    assert canonical(one) != canonical(other)


def loop() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (lambda: 1, "<lambda>, which has no name of its own"),
        ([{"a": (lambda: 1,)}], "<lambda>"),
        (threading.Lock(), "lock"),
        ((number for number in ()), "generator"),
        (loop(), "a list that holds itself"),
    ],
)
def test_what_has_no_form_is_refused(value: Any, says: str) -> None:
    """With what it is; a text of it would be another in every process, or stand for many."""
    with pytest.raises(CanonicalError, match=says):
        canonical(value)
