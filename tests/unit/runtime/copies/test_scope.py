"""Whose an object is, by its own word."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from support.packages import module_of

from patchkit.runtime.copies.scope import maker_of

SOURCE = """
def function(): ...
class Thing: ...
thing = Thing()
function.__module__ = "elsewhere"
"""


class OwnKind(ModuleType):
    """A module of a class of its own, as lazy ones are."""


@pytest.mark.parametrize("name", ["function", "Thing", "thing"])
def test_what_a_modules_code_has_made(name: str) -> None:
    """A function by its globals, whatever it says; a class by its word; an object by its class."""
    module = module_of(SOURCE, "up.mod")
    assert maker_of(vars(module)[name]) == "up.mod"


@pytest.mark.parametrize("kind", [ModuleType, OwnKind])
def test_a_module_is_its_own(kind: Any) -> None:
    """It is named as it calls itself, and not as the code that made its class."""
    assert maker_of(kind("up.mod")) == "up.mod"


def test_an_instance_is_its_classes() -> None:
    """It cannot claim another module; what is written in C claims none."""
    assert maker_of(1) is None
    thing = module_of(SOURCE, "up.mod").Thing()
    thing.__module__ = "elsewhere"
    assert maker_of(thing) == "up.mod"
