import dataclasses as dc
import typing
from typing import Annotated, Any, Generic, NamedTuple, NewType, Optional, TypeVar
from pydantic import BaseModel
from pydantic.dataclasses import dataclass
from typing_extensions import TypeAliasType, TypedDict


@dataclass
class Part: ...


@dataclass
class Derived(Part): ...


@dc.dataclass
class Standard:
    part: Part


class Typed(TypedDict):
    part: Part


class Tuple(NamedTuple):
    part: Part


Alias = TypeAliasType("Alias", list[Part])
New = NewType("New", Part)
T = TypeVar("T", bound=Part)


@dataclass
class Plain:
    part: Part


@dataclass
class Union:
    part: Optional[Part] = None


@dataclass
class Containers:
    parts: dict[str, list[tuple[Part, ...]]]


@dataclass
class Noted:
    part: Annotated[list[Part], "note"]


@dataclass
class ThroughStandard:
    part: Standard


@dataclass
class ThroughTyped:
    part: Typed


@dataclass
class ThroughTuple:
    part: Tuple


@dataclass
class ThroughAlias:
    part: Alias


@dataclass
class ThroughNew:
    part: New


class Model(BaseModel):
    part: Part


class Variable(BaseModel, Generic[T]):
    part: T


@dataclass
class AsText:
    part: "Part"


@dataclass
class Outer:
    @dataclass
    class Inner:
        part: Part


@dataclass
class Further:
    plain: Plain


@dataclass
class OfDerived:
    part: Derived


@dataclass
class Ring:
    ring: Optional["Ring"] = None


@dataclass
class Stranger:
    number: int = 1
