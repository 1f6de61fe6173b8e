"""Attributes of one object that cannot be set there, as an import shows."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from support.packages import world

from analysis.check.released import subject
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]

SOURCE = """
import enum, threading
from dataclasses import dataclass
class Color(enum.Enum):
    RED = 1
@dataclass(frozen=True)
class Frozen:
    size: int = 1
    def area(self): ...
class Derived(Frozen):
    label = "a"
class Worker(threading.Thread): ...
frozen = Frozen()
derived = Derived()
worker = Worker()
"""


@pytest.mark.parametrize(
    "target",
    [
        "Color.RED._value_",
        "Color.RED.name",
        "Color.RED.value",
        "frozen.area",
        "frozen.size",
        "derived.area",
        "derived.label",
        "derived.size",
        "worker._target",
        "worker.daemon",
        "worker.join",
    ],
)
def test_what_an_object_lets_nobody_set_is_elsewhere(world: World, target: str) -> None:
    """A frozen base keeps its fields, and a property of the standard library its value."""
    place, _, name = target.rpartition(".")
    world.module("up.mod", SOURCE)
    owner: Any = importlib.import_module("up.mod")
    for step in place.split("."):
        owner = getattr(owner, step)
    try:
        setattr(owner, name, getattr(owner, name))
        is_settable = name in vars(owner)  # a property has stored it elsewhere
    except AttributeError:
        is_settable = False
    facts = subject("1.0", mod=SOURCE).facts(Target("up.mod", target))
    assert facts.state != "absent"
    assert (facts.storage == "") is is_settable


def test_what_nothing_stores_in_objects_is_absent() -> None:
    """Objects of a standard class have what its module mentions; its class has only its own."""
    release = subject("1.0", mod=SOURCE)
    for target in ("worker.nothing", "Worker._target", "derived.nothing"):
        assert release.facts(Target("up.mod", target)).state == "absent"
    open_facts = release.facts(Target("up.mod", "worker._target"))
    assert open_facts.state == "undecidable"
    assert open_facts.reason == "threading.Thread may give it to its objects"
