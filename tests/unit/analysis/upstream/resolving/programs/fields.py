import dataclasses, enum, msgspec, pydantic
from collections import namedtuple
from dataclasses import dataclass, field, KW_ONLY
from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as checked
from typing import ClassVar, NamedTuple, TypedDict, Protocol


@dataclass
class Data:
    a: int
    b: int = 2
    c: list = field(default_factory=list)
    d: int = field(default=3)
    e: ClassVar[int] = 4
    f = 5
    _: KW_ONLY
    g: int = 6
    h: int = field(init=False, default=0)
    i: int = made_by_code()


@dataclass
class Sub(Data):
    b: int
    z: int = 9


@dataclass(slots=True, kw_only=True)
class Slots:
    a: int
    b: list = field(default_factory=list)


@checked(config={"extra": "forbid"})
class Checked:
    a: int
    b: list = Field(default_factory=list)
    c: list = field(default_factory=list)
    d: int = Field(4, gt=0)


class Model(BaseModel):
    a: int
    b: int = 2
    _p: int = 3
    k: ClassVar[int] = 3

    def method(self): ...


class Message(msgspec.Struct, kw_only=True):
    a: int
    b: int = 1


class Row(NamedTuple):
    a: int
    b: int = 1


class Keys(TypedDict):
    a: int
    b: int = 1


class MoreKeys(Keys):
    b: int


class Colour(enum.Enum):
    RED = 1
    note: str

    def shout(self): ...


class Manual:
    __slots__ = ("a", "b")


class Duck(Protocol):
    a: int

    def quack(self): ...


Pair = namedtuple("Pair", "a b")
Level = enum.Enum("Level", ["LOW", "HIGH"])
