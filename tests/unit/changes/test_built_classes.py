from __future__ import annotations

import dataclasses

import pydantic
import pydantic.dataclasses

from patchkit.changes.owners import is_built, is_decorated, is_pydantic


@dataclasses.dataclass
class Standard: ...


@pydantic.dataclasses.dataclass
class Config:
    number: int = 1


class Model(pydantic.BaseModel): ...


class Undecorated(Config): ...


def test_pydantics_own_classes() -> None:
    """Dataclasses and models that it built itself, not what only derives from them."""
    marked = [cls for cls in (Standard, Config, Model, Undecorated, object) if is_pydantic(cls)]
    assert marked == [Config, Model]


def test_classes_that_were_built_from_their_members() -> None:
    """Standard dataclasses are, instances and plain classes are not."""
    owners = (Standard, Config, Model, Undecorated, Standard(), {})
    assert [is_built(owner) for owner in owners] == [True, True, True, False, False, False]


def test_a_decorated_method() -> None:
    """What `@field_validator` returns, before pydantic has made a class of it."""
    mark = pydantic.field_validator("number")
    assert is_decorated(mark(classmethod(lambda cls, value: value)))
    assert not is_decorated(lambda cls, value: value)
    assert not is_decorated(Config)
