from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from support import packages
from support.one_patch import WRAP, a_world

from patchkit.core.rows.declaration import Role

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


class Frozen:
    """A configuration that refuses to be changed, in the way of some library."""

    additional_config = None

    def __init__(self, refusal: type[Exception]) -> None:
        vars(self)["refusal"] = refusal

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise vars(self)["refusal"](name)


class Failing:
    """An argument with a property that fails."""

    @property
    def additional_config(self) -> NoReturn:
        """Fail."""
        raise RuntimeError


@pytest.mark.parametrize("refusal", [AttributeError, TypeError, ValueError])
def test_a_frozen_configuration_is_left_alone(
    world: World, refusal: type[Exception]
) -> None:
    """An engine whose configuration cannot be stamped goes on, with a warning."""
    a_world(world, WRAP)
    session = world.session()
    session.exchange_digests([Role.MAIN], [Frozen(refusal)])
    session.exchange_digests([Role.WORKER], [Frozen(refusal)])


@pytest.mark.parametrize("around", [list, tuple, lambda values: {"a": {"b": values}}])
def test_a_configuration_is_found_among_others(world: World, around: Any) -> None:
    """In lists, tuples and dicts, beside a list that holds itself and what fails when asked."""
    config = SimpleNamespace(additional_config={})
    circle: list[Any] = [Failing()]
    circle.append(circle)
    a_world(world, WRAP)
    session = world.session()
    session.exchange_digests([Role.MAIN], [circle, around([1, config])])
    assert set(config.additional_config) == {"patchkit"}
