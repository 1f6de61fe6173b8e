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
def test_sets_and_dicts_are_written_in_one_order(
    names: set[Any], table: dict[str, Any], random: Any
) -> None:
    """The text of a set or a dict is the same in whatever order it was filled."""
    shuffled_names = list(names)
    random.shuffle(shuffled_names)
    shuffled_items = list(table.items())
    random.shuffle(shuffled_items)
    shuffled = [set(shuffled_names), dict(shuffled_items)]
    assert canonical([names, table]) == canonical(shuffled)


@given(VALUES, VALUES)
def test_different_values_have_different_texts(one: Any, other: Any) -> None:
    """Two values have the same text only if they are equal."""
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
def test_nearly_equal_values_have_different_texts(one: Any, other: Any) -> None:
    """Values that differ in a type, an order or an attribute have different texts."""
    assert canonical(one) != canonical(other)


def loop() -> Any:
    """A list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: 1, "<lambda>, which has no name of its own"),
        ([{"a": (lambda: 1,)}], "<lambda>"),
        (threading.Lock(), "lock"),
        ((number for number in ()), "generator"),
        (loop(), "a list that holds itself"),
    ],
)
def test_what_has_no_form_is_refused(value: Any, message: str) -> None:
    """A value whose text would differ in every process, or stand for many, is an error."""
    with pytest.raises(CanonicalError, match=message):
        canonical(value)
