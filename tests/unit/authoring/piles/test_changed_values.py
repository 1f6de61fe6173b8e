"""How a change is described: by what the new value is, and what a row would say."""

from __future__ import annotations

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
