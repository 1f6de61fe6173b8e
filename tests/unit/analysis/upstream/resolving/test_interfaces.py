"""Classes and interfaces of zope."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import resolve

SOURCE = """
from zope.interface import Interface, implementer
class IDoor(Interface):
    def open(key): ...
class IGate(IDoor): ...
class Item: ...
@implementer(IGate)
class Gate:
    def open(self, key): ...
class Plain(Item): ...
"""


@pytest.mark.parametrize(
    ("name", "is_sure"),
    [("IDoor", False), ("IGate", False), ("Gate", True), ("Plain", True)],
)
def test_an_interface_is_no_class(name: str, is_sure: bool) -> None:
    """A `class` statement that derives from an interface makes another one."""
    assert resolve(SOURCE, name).is_sure is is_sure


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("Gate.open", "present"),
        ("Gate.close", "absent"),
        ("Gate.__implemented__", "undecidable"),
        ("Plain.__provides__", "undecidable"),
    ],
)
def test_implementer_leaves_the_class_as_it_is(name: str, state: str) -> None:
    """It sets attributes of its own, which any class may get."""
    assert resolve(SOURCE, name).state == state
