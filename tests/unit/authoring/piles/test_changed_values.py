"""How a change is described: by what the new value is, and what a row would say."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from patchkit.authoring.piles import changed_values
from patchkit.authoring.piles.snapshots import differences


class Strict(type):
    """A metaclass that refuses questions for classes, as that of a TypedDict does."""

    def __subclasscheck__(cls, other: type) -> bool:
        raise TypeError("no class checks")


def test_a_class_that_refuses_checks_is_described() -> None:
    """Whether another one derives from it is read from its bases."""
    original = Strict("Options", (), {})
    heir = Strict("Heir", (original,), {})
    other = Strict("Other", (), {})
    for value, is_unrelated in ((heir, False), (other, True)):
        before = {("up", "OPTIONS"): original}
        (difference,) = differences(before, {("up", "OPTIONS"): value})
        change = changed_values.described(difference, [])
        assert change["is_unrelated"] is is_unrelated


def plain(self: Any, a: Any, b: Any = 0) -> None:
    """The original."""


def required(self: Any, a: Any, b: Any) -> None:
    """Lacks a default."""


def anything(*args: Any, **words: Any) -> None:
    """Takes any call."""


def rest(instance: Any, *args: Any, **words: Any) -> None:
    """Takes any call of a method."""


def renamed(self: Any, x: Any, b: Any = 0) -> None:
    """Has another name for a parameter."""


def keyword(self: Any, a: Any, b: Any = 0, *, c: Any) -> None:
    """Needs a keyword."""


def more(self: Any, a: Any, b: Any, c: Any, *args: Any, **words: Any) -> None:
    """Needs more arguments."""


@functools.wraps(required)
def wrapped(*args: Any, **words: Any) -> None:
    """Takes what the function in it takes."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (anything, False),
        (rest, False),
        (wrapped, True),
        (required, True),
        (renamed, True),
        (keyword, True),
        (more, True),
    ],
)
def test_a_function_that_takes_the_calls_is_related(
    value: Any, *, expected: bool
) -> None:
    """A row can decorate the original with it; another needs `unrelated`."""
    (difference,) = differences({("up", "f"): plain}, {("up", "f"): value})
    change = changed_values.described(difference, [])
    assert change["is_unrelated"] is expected


async def asynchronous(self: Any, a: Any, b: Any = 0) -> None:
    """Gives a coroutine."""


def yielding(self: Any, a: Any, b: Any = 0) -> Any:
    """Gives a generator."""
    yield a


@pytest.mark.parametrize("original", [asynchronous, yielding])
def test_a_function_that_returns_another_kind_is_unrelated(original: Any) -> None:
    """A row refuses a plain function in place of a coroutine function, without `unrelated`."""
    for value, expected in ((anything, True), (plain, True), (original, False)):
        after = {("up", "f"): value}
        for difference in differences({("up", "f"): original}, after):
            change = changed_values.described(difference, [])
            assert change["is_unrelated"] is expected


class Kinds:
    """Has methods of each kind."""

    @staticmethod
    def static(a: Any) -> None:
        """Gets no instance."""

    @classmethod
    def of_class(cls, a: Any) -> None:
        """Gets the class."""

    @property
    def value(self) -> None:
        """Gets the instance."""


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("static", plain, "kind"),
        ("static", anything, "attribute"),
        ("static", staticmethod(plain), "attribute"),
        ("of_class", plain, "kind"),
        ("of_class", classmethod(plain), "attribute"),
        ("value", plain, "kind"),
        ("value", property(plain), "attribute"),
    ],
)
def test_a_plain_method_in_the_place_of_another_kind(
    name: str, value: Any, form: str
) -> None:
    """A row would make a method of that kind of it, so it is left to the call that sets it."""
    attribute = ("up", f"Kinds.{name}")
    owner = {("up", "Kinds"): Kinds}
    before = {**owner, attribute: vars(Kinds)[name]}
    (difference,) = differences(before, {**owner, attribute: value})
    assert changed_values.described(difference, [])["form"] == form
