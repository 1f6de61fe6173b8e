"""Which module made an object, as far as the object itself tells."""

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
def test_the_maker_of_what_a_modules_code_has_made(name: str) -> None:
    """A function tells its maker by its globals, a class by its `__module__`, an instance by its
    class.
    """
    module = module_of(SOURCE, "up.mod")
    assert maker_of(vars(module)[name]) == "up.mod"


@pytest.mark.parametrize("kind", [ModuleType, OwnKind])
def test_a_module_is_its_own_maker(kind: Any) -> None:
    """A module's maker is its own name, and not the module that defines its class."""
    assert maker_of(kind("up.mod")) == "up.mod"


def test_the_maker_of_an_instance_is_that_of_its_class() -> None:
    """An instance's own `__module__` does not count; an instance of a class in C has no maker."""
    assert maker_of(1) is None
    instance = module_of(SOURCE, "up.mod").Thing()
    instance.__module__ = "elsewhere"
    assert maker_of(instance) == "up.mod"
