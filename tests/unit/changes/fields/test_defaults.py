from __future__ import annotations

import pickle

import pytest

from patchkit.changes.fields.dataclass_fields import LateDefault, options


class Thing:
    late = LateDefault("late", [1])


@pytest.mark.parametrize("default", [None, 0, "text", (1, 2), frozenset({1})])
def test_what_has_a_hash_is_shared(default: object) -> None:
    """Every instance may hold the very default."""
    assert options(default) == {"default": default}


@pytest.mark.parametrize("default", [[1], {"a": []}, {1}, ([],)])
def test_what_has_none_is_copied_whole(default: object) -> None:
    """Each call makes a deep copy; the factory survives pickle."""
    factory = pickle.loads(pickle.dumps(options(default)["default_factory"]))
    first, second = factory(), factory()
    assert first == second == default
    assert first is not second
    assert options(default).keys() == {"default_factory"}


def test_an_instance_keeps_its_own_copy() -> None:
    """The copy is made at the first look, and stays the instance's."""
    one, other = Thing(), Thing()
    one.late.append(2)
    assert (one.late, other.late) == ([1, 2], [1])
    assert vars(one) == {"late": [1, 2]}


def test_the_class_has_no_such_attribute() -> None:
    """Like with any default_factory, reading it from the class is an AttributeError."""
    assert not hasattr(Thing, "late")
