"""Attributes of classes that a call of `namedtuple` makes, compared with Python's own."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.upstream.memory import resolve

NAMES = ("x", "y", "z", "_fields", "_asdict", "_replace", "count", "mro", "missing")


@pytest.mark.parametrize(
    "call",
    [
        "namedtuple('P', 'x y')",
        "namedtuple('P', 'x, y')",
        "namedtuple('P', ['x', 'y'])",
        "namedtuple('P', ('x', 'y', 'z'), defaults=(1,))",
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_members_are_pythons(call: str, name: str) -> None:
    """Fields and methods that the call spells out are there, and no others; the rest is open."""
    source = f"from collections import namedtuple\nP = {call}"
    space: dict[str, Any] = {}
    exec(source, space)
    state = resolve(source, f"P.{name}").state
    assert state in (
        "undecidable",
        "present" if hasattr(space["P"], name) else "absent",
    )
    assert state != "undecidable" or name == "mro"


def test_fields_that_are_computed_are_open() -> None:
    """Nothing is said of fields that the call does not spell out, or may rename."""
    for call in ("namedtuple('P', names())", "namedtuple('P', 'x 1', rename=True)"):
        source = f"from collections import namedtuple\nP = {call}"
        assert resolve(source, "P.x").state == "undecidable"


def test_an_instance_is_no_class() -> None:
    """A call of the class makes a tuple."""
    source = "from collections import namedtuple\nP = namedtuple('P', 'x')\np = P(1)"
    assert str(resolve(source, "p").kind) != "class"
