from __future__ import annotations

import dataclasses
import importlib.util
import sys
from typing import TYPE_CHECKING

import pydantic
import pydantic.dataclasses
import pytest
from support.packages import module_of

from patchkit.errors import TargetError
from patchkit.runtime.changes.owners import (
    MISSING,
    is_built,
    is_decorated,
    is_pydantic,
    locate,
    namespace,
    read,
)

if TYPE_CHECKING:
    from pathlib import Path


UPSTREAM = """
def function(): ...
class Base:
    def inherited(self): ...
class Child(Base):
    slot = 1
    @staticmethod
    def static(): ...
    @property
    def broken(self): raise AssertionError('a descriptor ran')
    class Inner:
        def deep(self): ...
instance = Child()
def __getattr__(name):
    if name == 'lazy':
        return 'made on demand'
    raise AttributeError(name)
"""


def test_finds_a_function_of_a_module() -> None:
    """A plain name is the module's own attribute."""
    module = module_of(UPSTREAM)
    location = locate(module, "function")
    assert location == (module, "function", module.function, True, False)


def test_walks_nested_classes() -> None:
    """A dotted name goes through classes to the innermost owner."""
    module = module_of(UPSTREAM)
    location = locate(module, "Child.Inner.deep")
    assert location.owner is module.Child.Inner
    assert location.own


def test_a_descriptor_stays_what_is_stored() -> None:
    """A staticmethod is found as one, and a property's getter does not run."""
    module = module_of(UPSTREAM)
    assert isinstance(locate(module, "Child.static").value, staticmethod)
    assert isinstance(locate(module, "Child.broken").value, property)


def test_an_inherited_attribute_is_not_the_owners_own() -> None:
    """What a class inherits is found at the class that was named, and marked as not its own."""
    module = module_of(UPSTREAM)
    location = locate(module, "Child.inherited")
    assert location == (
        module.Child,
        "inherited",
        vars(module.Base)["inherited"],
        False,
        True,
    )


def test_an_instance_owns_what_lies_in_its_own_dict() -> None:
    """An attribute of a module-level instance is looked up in the instance, then in its class."""
    module = module_of(UPSTREAM)
    assert locate(module, "instance.slot") == (module.instance, "slot", 1, False, True)
    module.instance.slot = 2
    assert locate(module, "instance.slot") == (module.instance, "slot", 2, True, True)


def test_a_module_may_make_a_name_on_demand() -> None:
    """A module's `__getattr__` is asked, and the name is not its own."""
    module = module_of(UPSTREAM)
    assert locate(module, "lazy")[2:] == ("made on demand", False, True)


@pytest.mark.parametrize(
    ("qualname", "words"),
    [
        (
            "functoin",
            ("upstream:functoin", "has no 'functoin'", "did you mean function"),
        ),
        ("Child.Iner.deep", ("Child has no 'Iner'", "did you mean Inner")),
        (
            "Child.Inner.nothing",
            ("upstream:Child.Inner.nothing", "Inner has no 'nothing'"),
        ),
        ("function.deeper.still", ("function has no 'deeper'",)),
    ],
)
def test_a_missing_name_is_named(qualname: str, words: tuple[str, ...]) -> None:
    """The error says which step of the way is missing, and what is near it."""
    with pytest.raises(TargetError) as caught:
        locate(module_of(UPSTREAM), qualname)
    for word in words:
        assert word in str(caught.value)


def test_a_name_that_is_nowhere_reads_as_missing() -> None:
    """`read` of an unknown name returns MISSING, whose repr says so."""
    value = read(module_of(UPSTREAM), "nowhere")
    assert value is MISSING
    assert repr(value) == "<missing>"


def test_namespace_does_not_load_a_lazy_module(tmp_path: Path) -> None:
    """Looking into a module that importlib will load lazily leaves it unloaded."""
    (tmp_path / "sleeper.py").write_text("raise AssertionError('it was loaded')\n")
    spec = importlib.util.spec_from_file_location("sleeper", tmp_path / "sleeper.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert namespace(module)["__name__"] == "sleeper"


def test_namespace_of_what_has_none_is_empty() -> None:
    """`sys.modules` may hold None or an object without a `__dict__`."""
    assert namespace(None) == {}
    assert namespace(object()) == {}
    assert namespace(sys) is vars(sys)


@dataclasses.dataclass
class Standard: ...


@pydantic.dataclasses.dataclass
class Config:
    number: int = 1


class Model(pydantic.BaseModel): ...


class Undecorated(Config): ...


def test_is_pydantic_knows_pydantics_own_classes() -> None:
    """`is_pydantic` is true of dataclasses and models that pydantic built, not of subclasses."""
    marked = [
        cls
        for cls in (Standard, Config, Model, Undecorated, object)
        if is_pydantic(cls)
    ]
    assert marked == [Config, Model]


def test_is_built_knows_classes_built_from_their_members() -> None:
    """`is_built` is true of dataclasses and models, not of plain subclasses, instances, dicts."""
    owners = (Standard, Config, Model, Undecorated, Standard(), {})
    assert [is_built(owner) for owner in owners] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_is_decorated_knows_a_validator() -> None:
    """`is_decorated` is true of what `@field_validator` returns, not of a function or a class."""
    decorator = pydantic.field_validator("number")
    assert is_decorated(decorator(classmethod(lambda cls, value: value)))
    assert not is_decorated(lambda cls, value: value)
    assert not is_decorated(Config)
