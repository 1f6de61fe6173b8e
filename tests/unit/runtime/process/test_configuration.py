from __future__ import annotations

import multiprocessing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import pytest
from support import packages
from support.one_patch import WRAP, a_world

from patchkit.core.rows.declaration import Role
from patchkit.errors import AgreementError
from patchkit.runtime.process import configuration

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


class Shared:
    """A configuration whose dict belongs to the class."""

    additional_config: ClassVar[dict[str, Any]] = {"theirs": 1}


def test_a_dict_of_the_class_is_not_written_to(world: World) -> None:
    """The digest goes into a dict of this very configuration, with what the class's has."""
    a_world(world, WRAP)
    config = Shared()
    world.session().exchange_digests([Role.MAIN], [config])
    assert Shared.additional_config == {"theirs": 1}
    assert set(vars(config)["additional_config"]) == {"theirs", "patchkit"}


@pytest.mark.parametrize("name", ["Process-1", "ApiServer_0"])
def test_only_a_child_that_an_engine_started_compares_as_main(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A user's own child may make an engine of the arguments that its parent's engine had."""
    config = SimpleNamespace(additional_config={})
    a_world(world, WRAP)
    world.session().exchange_digests([Role.MAIN], [config])
    child = multiprocessing.Process(name=name)
    monkeypatch.setattr(configuration, "running_here", lambda: [child])
    in_child = world.session(disabled=("p",))
    if name == "Process-1":
        in_child.exchange_digests([Role.MAIN], [config])
        assert config.additional_config["patchkit"]["main"] == {}
    else:
        with pytest.raises(AgreementError, match="p only in the main process"):
            in_child.exchange_digests([Role.MAIN], [config])
