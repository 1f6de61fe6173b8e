"""Pydantic dataclasses and models that hold each other, and bodies for their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from runtime.changes.fields.groups import Upstream, upstream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UPSTREAM = """
import dataclasses as dc
from dataclasses import field
from typing import Any, Optional
from pydantic import BaseModel, ConfigDict, Field
from pydantic import field_serializer, field_validator, model_validator
from pydantic.dataclasses import dataclass

@dataclass(config=ConfigDict(extra='forbid'))
class Config:
    size: int = Field(default=1, gt=0)
    name: str = 'a'
    many: list[int] = field(default_factory=list)
    hidden: int = field(default=0, init=False)

    @field_validator('name', mode='after')
    @classmethod
    def check_name(cls, name: str) -> str:
        return name + '!'

    @model_validator(mode='after')
    def check_all(self) -> 'Config':
        self.hidden = self.size
        return self

    def __post_init__(self): self.posted = 'upstream'

    def plain(self): return 'plain'

@dataclass
class Derived(Config):
    more: int = 2

@dataclass
class Outer:
    config: Config = field(default_factory=Config)
    configs: Optional[dict[str, list[Config]]] = None

@dataclass
class Outermost:
    outer: Outer = field(default_factory=Outer)

class Model(BaseModel):
    size: int = 1
    config: Config = Config()
    @field_validator('size', mode='before')
    @classmethod
    def check_size(cls, size: Any) -> Any:
        return int(size) + 1
    @field_serializer('size')
    def show_size(self, size: int) -> str:
        return f'<{size}>'

class Heir(Model):
    more: int = 2

class Holder(BaseModel):
    model: Model = Model()

@dc.dataclass
class Standard:
    limit: int = 8

@dataclass
class HoldsStandard:
    standard: Standard = field(default_factory=Standard)

@dataclass
class Broken:
    number: int = 1
"""
BODY = """
from pydantic import field_serializer, field_validator, model_validator
def check_name(cls, name): return name + '?'
def check_all(self):
    self.hidden = -1
    return self
@field_validator('name', mode='before')
@classmethod
def earlier(cls, name): return str(name).upper()
@field_validator('size')
@classmethod
def elsewhere(cls, size): return size * 10
def by(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) + '*'
calls = []
def noted(wrapped, instance, args, kwargs):
    calls.append(kwargs)
    return wrapped(*args, **kwargs)
@model_validator(mode='after')
def whole(self):
    self.name = 'whole'
    return self
def check_size(cls, size): return 100
def show_size(self, size): return 'shown'
def post_init(self, context, /): self.size = -self.size
def post(self): self.posted = 'body'
SIZE = 5
NUMBERS = [1, 2]
class Stranger: ...
"""
CONFIG = "upstream:Config"
CLASSES = ("Config", "Derived", "Outer", "Outermost", "Model", "Heir", "Holder", "HoldsStandard")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    yield from upstream_of(UPSTREAM, BODY)


def classes_of(upstream: Upstream) -> list[Any]:
    return [getattr(upstream.module, name) for name in CLASSES]


def refused(call: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether pydantic finds the values wrong."""
    try:
        call(*args, **kwargs)
    except pydantic.ValidationError:
        return True
    return False


def execute(upstream: Upstream, source: str) -> None:
    """Execute more of the upstream module."""
    exec(compile(source, "upstream", "exec", dont_inherit=True), vars(upstream.module))
