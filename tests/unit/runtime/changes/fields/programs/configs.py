import dataclasses as dc
from dataclasses import field
from typing import Any, Optional
from pydantic import BaseModel, ConfigDict, Field
from pydantic import field_serializer, field_validator, model_validator
from pydantic.dataclasses import dataclass


@dataclass(config=ConfigDict(extra="forbid"))
class Config:
    size: int = Field(default=1, gt=0)
    name: str = "a"
    many: list[int] = field(default_factory=list)
    hidden: int = field(default=0, init=False)

    @field_validator("name", mode="after")
    @classmethod
    def check_name(cls, name: str) -> str:
        return name + "!"

    @model_validator(mode="after")
    def check_all(self) -> "Config":
        self.hidden = self.size
        return self

    def __post_init__(self):
        self.posted = "upstream"

    def plain(self):
        return "plain"


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

    @field_validator("size", mode="before")
    @classmethod
    def check_size(cls, size: Any) -> Any:
        return int(size) + 1

    @field_serializer("size")
    def show_size(self, size: int) -> str:
        return f"<{size}>"


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
