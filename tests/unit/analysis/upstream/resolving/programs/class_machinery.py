import abc, ctypes, dataclasses, enum, typing
from typing import Generic, NamedTuple, Protocol, TypedDict, TypeVar, runtime_checkable
import typing_extensions
import msgspec, pydantic, pydantic.dataclasses
from abc import ABC, ABCMeta, abstractmethod

T = TypeVar("T")


class Plain:
    def f(self):
        pass


class Sub(Plain):
    pass


class WithSlots:
    __slots__ = ("a",)


class Abstract(ABC):
    @abstractmethod
    def f(self): ...


class ByMeta(metaclass=ABCMeta):
    pass


class Concrete(Abstract):
    def f(self):
        pass


class Typed(TypedDict):
    a: int


class TypedLess(TypedDict, total=False):
    a: int


class Typed2(Typed):
    b: int


class TypedExt(typing_extensions.TypedDict):
    a: int


class Shape(Protocol):
    def f(self): ...


@runtime_checkable
class Shape2(Protocol):
    x: int

    def f(self): ...


class OfShape(Shape):
    pass


class ShapeExt(typing_extensions.Protocol):
    def f(self): ...


class Tup(NamedTuple):
    a: int


class Tup2(Tup):
    pass


class Gen(Generic[T]):
    pass


class GenSub(Gen[int]):
    pass


class Colour(enum.Enum):
    RED = 1


class Flags(enum.Flag):
    RED = 1


class IntE(enum.IntEnum):
    RED = 1


class IntF(enum.IntFlag):
    RED = 1


class StrE(str, enum.Enum):
    RED = "a"


class Model(pydantic.BaseModel):
    x: int


class Model2(Model):
    y: int = 1


class GenModel(pydantic.BaseModel, Generic[T]):
    x: T


class Root(pydantic.RootModel[int]):
    pass


class Abs(pydantic.BaseModel, ABC):
    pass


class Struct(msgspec.Struct):
    x: int


class Struct2(Struct, frozen=True):
    y: int = 1


class CS(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int)]


@dataclasses.dataclass
class Data:
    x: int


@dataclasses.dataclass(frozen=True, slots=True)
class Data2:
    x: int
    y: int = 1


@dataclasses.dataclass(frozen=True)
class Data3:
    x: int


@dataclasses.dataclass(order=True)
class Data4:
    x: int


@dataclasses.dataclass(eq=False, slots=True, weakref_slot=True)
class Data5:
    x: int


class DataSub(Data):
    pass


@pydantic.dataclasses.dataclass
class PData:
    x: int


@pydantic.dataclasses.dataclass(frozen=True)
class PData2:
    x: int


class Error(Exception):
    pass


class Err2(Error, ValueError):
    pass


class D(dict):
    pass


class L(list):
    pass


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    pass
