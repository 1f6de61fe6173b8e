"""Annotations that make fields of dataclasses, or do not."""

# program: class var renamed
from dataclasses import dataclass
from typing import ClassVar as CV
import typing as t
import typing


@dataclass
class A:
    x: int
    a: CV[int] = 1
    b: t.ClassVar[int] = 2
    c: typing.ClassVar = 3
    d: CV[int]
    e: int = 4


# program: class var quoted
from dataclasses import dataclass
from typing import ClassVar, Annotated


@dataclass
class A:
    x: int
    a: "ClassVar[int]" = 1
    b: "ClassVar" = 2
    e: int = 4


# program: class var quoted with module
from dataclasses import dataclass
import typing
import typing as t


@dataclass
class A:
    x: int
    a: "typing.ClassVar[int]" = 1
    b: "t.ClassVar[int]" = 2
    e: int = 4


# program: class var quoted renamed
from dataclasses import dataclass
from typing import ClassVar as CV


@dataclass
class A:
    x: int
    a: "CV[int]" = 1
    e: int = 4


# program: class var quoted strangely
from dataclasses import dataclass
import typing
from typing import ClassVar


@dataclass
class A:
    x: int
    a: " ClassVar[int]" = 1
    b: "typing . ClassVar[int]" = 1
    c: "'ClassVar[int]'" = 1
    d: "ClassVarious" = 1


# program: class var with future annotations
from __future__ import annotations
from dataclasses import dataclass, KW_ONLY, InitVar
from typing import ClassVar as CV
import typing as t


@dataclass
class A:
    x: int
    a: CV[int] = 1
    b: t.ClassVar[int] = 2
    c: InitVar[int] = 3
    _: KW_ONLY
    e: int = 4


# program: class var optional
from dataclasses import dataclass
from typing import ClassVar, Annotated, Optional, Final


@dataclass
class A:
    x: int
    b: Final[int] = 2
    c: Annotated[int, ClassVar] = 3


# program: class var annotated
from dataclasses import dataclass
from typing import ClassVar, Annotated


@dataclass
class A:
    x: int
    a: Annotated[ClassVar[int], 1] = 2


# program: class var of its own
from dataclasses import dataclass


class ClassVar:
    def __class_getitem__(cls, item):
        return item


@dataclass
class A:
    x: int
    a: ClassVar[int] = 1


# program: class var by alias
from dataclasses import dataclass
from typing import ClassVar

Shared = ClassVar[int]
Other = ClassVar


@dataclass
class A:
    x: int
    a: Shared = 1
    b: Other[int] = 2
    e: int = 4


# program: keyword only renamed
from dataclasses import dataclass
from dataclasses import KW_ONLY as KO
import dataclasses as dc


@dataclass
class A:
    x: int
    _: KO
    y: int


@dc.dataclass
class B:
    x: int
    _: dc.KW_ONLY
    y: int = 1


# program: keyword only quoted
from dataclasses import dataclass
import dataclasses
from dataclasses import KW_ONLY, KW_ONLY as KO


@dataclass
class A:
    x: int
    _: "KW_ONLY"
    y: int


@dataclass
class B:
    x: int
    _: "KO"
    y: int


@dataclass
class C:
    x: int
    _: "dataclasses.KW_ONLY"
    y: int


# program: init var
from dataclasses import dataclass, InitVar, field
import dataclasses
from dataclasses import InitVar as IV


@dataclass
class A:
    x: int
    y: InitVar[int]
    z: InitVar[int] = 3
    w: IV[int] = 4
    v: dataclasses.InitVar = 5
    u: "InitVar[int]" = 6
    s: InitVar[int] = field(default=7)

    def __post_init__(self, y, z, w, v, u, s): ...


# program: init var in slots
from dataclasses import dataclass, InitVar, field


@dataclass(slots=True)
class A:
    x: int
    y: InitVar[int]
    z: InitVar[int] = 3
    f: list = field(default_factory=list)

    def __post_init__(self, y, z): ...


# program: dataclass renamed
from dataclasses import dataclass as dc, field as fd
import dataclasses as d


@dc
class A:
    x: int
    y: list = fd(default_factory=list)
    z: int = fd(init=False, default=1)
    w: int = fd(kw_only=True)


@d.dataclass(kw_only=True)
class B:
    x: int
    y: int = d.field(kw_only=False, default=1)


# program: dataclass assigned
from dataclasses import dataclass
import dataclasses, functools

dc = dataclass
frozen = dataclass(frozen=True)
kw = functools.partial(dataclass, kw_only=True)


@dc
class A:
    x: int


@frozen
class B:
    x: int
    y: int = 1


@kw
class C:
    x: int
    y: int = 1


# program: dataclass called
from dataclasses import dataclass


class A:
    x: int
    y: int = 1


A = dataclass(A)


class B:
    x: int
    y: int = 1


dataclass(B)


class C:
    x: int


dataclass(kw_only=True)(C)

# program: dataclass of a helper
import dataclasses


def make(cls):
    return dataclasses.dataclass(cls, kw_only=True)


@make
class A:
    x: int
    y: int = 1


def make2(**options):
    def wrap(cls):
        return dataclasses.dataclass(**options)(cls)

    return wrap


@make2(kw_only=True)
class B:
    x: int


# program: dataclass inherits
from dataclasses import dataclass, field


@dataclass
class A:
    x: int
    y: int = 1


class Plain(A):
    z: int = 2


@dataclass
class B(A):
    x: int = 5
    w: int = 3


@dataclass
class C(Plain):
    v: int = 1


@dataclass(init=False)
class D(A):
    u: int = 1

    def __init__(self, q): ...


@dataclass
class E(D):
    t: int = 1


class Mixin:
    m = 3
    n: int


@dataclass
class F(Mixin):
    m: int
    k: int = 2


# program: dataclass with own init
from dataclasses import dataclass


@dataclass
class A:
    x: int

    def __init__(self, q, r): ...


@dataclass
class B:
    x: int

    def __new__(cls, *args):
        return super().__new__(cls)


@dataclass(repr=False, eq=False)
class C:
    x: int
    __repr__ = None


@dataclass
class D(A):
    y: int = 1


# program: dataclass init set later
from dataclasses import dataclass


@dataclass
class A:
    x: int
    y: int = 1


def init(self, q): ...


A.__init__ = init


@dataclass
class B:
    x: int = 1


del B.x


@dataclass
class C:
    x: int = 1


C.__init__.__defaults__ = ()

# program: dataclass fields conditional
from dataclasses import dataclass
import sys


@dataclass
class A:
    x: int
    if sys.version_info >= (3, 8):
        y: int = 1
    else:
        z: int = 1


# program: dataclass annotation removed
from dataclasses import dataclass


@dataclass
class A:
    x: int
    y: int = 1
    __annotations__.pop("y")


@dataclass
class B:
    x: int
    __annotations__["z"] = int
    z = 3


# program: dataclass redefined as method
from dataclasses import dataclass, field


@dataclass
class A:
    x: int
    y: property = None

    @property
    def y(self): ...
    def x2(self): ...


# program: dataclass default shapes
from dataclasses import dataclass, field, MISSING


def make():
    return field(default=1)


def plain():
    return 1


F = field
SHARED = field(default=3)
OPTS = {"default": 1}


@dataclass
class A:
    a: int = make()
    b: int = plain()
    c: int = F(default=2)
    d: int = SHARED
    e: int = field(**OPTS)
    g: int = field(default=MISSING, default_factory=int)


# program: dataclass field without default after
from dataclasses import dataclass, field, MISSING


@dataclass
class A:
    a: int = field()
    b: int = field(repr=False)
    c: int = field(default=MISSING)
    d: int = field(init=False)
    e: int = field(init=0, default=3)
    h: int = field(kw_only=1)


# program: dataclass descriptor default
from dataclasses import dataclass


class Desc:
    def __get__(self, obj, owner=None):
        if obj is None:
            return 5
        return 1

    def __set__(self, obj, value): ...


class Missing:
    def __get__(self, obj, owner=None):
        if obj is None:
            raise AttributeError
        return 1

    def __set__(self, obj, value): ...


@dataclass
class A:
    b: int = Missing()
    a: int = Desc()


# program: make dataclass
from dataclasses import make_dataclass

A = make_dataclass("A", [("x", int), "y"])


class B(make_dataclass("Base", ["x"])):
    def m(self): ...


# program: dataclass transform
from typing import dataclass_transform


@dataclass_transform()
def model(cls):
    return cls


@model
class A:
    x: int
    y: int = 1


@dataclass_transform()
class Base:
    def __init_subclass__(cls): ...


class B(Base):
    x: int
    y: int = 1


# program: own dataclass
def dataclass(cls):
    return cls


@dataclass
class A:
    x: int
    y: int = 1


# program: dataclass of own module
from up.dataclasses import dataclass


@dataclass
class A:
    x: int
    y: int = 1


# file: dataclasses
import dataclasses as real


def dataclass(cls):
    return real.dataclass(kw_only=True)(cls)


# program: dataclass option by variable
from dataclasses import dataclass

KW = True
SLOTS = {"slots": True}


@dataclass(kw_only=KW)
class A:
    x: int


@dataclass(init=not KW)
class B:
    x: int


@dataclass(**SLOTS)
class C:
    x: int


@dataclass(init=False)
class D:
    x: int


@dataclass(slots=True, frozen=True)
class E:
    x: int
    y: int = 1


@dataclass(order=True, unsafe_hash=True, match_args=False)
class G:
    x: int


# program: dataclass twice
from dataclasses import dataclass


@dataclass
@dataclass(kw_only=True)
class A:
    x: int


@dataclass(kw_only=True)
@dataclass
class B:
    x: int


# program: named tuple quirks
from typing import NamedTuple, ClassVar
import typing as t
import collections as c


class A(NamedTuple):
    x: int
    y: "ClassVar[int]" = 1

    def __repr__(self):
        return ""

    _doc = 3
    z = 1


class B(t.NamedTuple):
    x: int
    y: int = 1


D = c.namedtuple("D", "x, y")
E = c.namedtuple("E", ["class", "x"], rename=True)
G = c.namedtuple("G", D._fields + ("z",))

# program: ctypes
import ctypes


class S(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]
    z = 1


# program: string annotation of a field
from dataclasses import dataclass


@dataclass
class A:
    x: "int"
    y: "list[int]" = None
    z: "dataclasses.InitVar" = 1
    w: "Classvar" = 1


# program: what properties of objects compute
# sure: Mode.ONE, A.value
import enum
import functools


class A:
    @property
    def value(self):
        return 3

    @functools.cached_property
    def cached(self):
        return 4

    def method(self, x): ...


a = A()
value = a.value
cached = a.cached
method = a.method
made = A().value


class Mode(enum.Enum):
    ONE = "x"


text = Mode.ONE.value
name = Mode.ONE.name


# program: tables that are passed to a function
# sure: kept
kept = {"a": 1}
table = {"a": 1}
named = {"a": 1}
print(len(kept), sorted(kept))


def fill(rows, more):
    rows["b"] = 2
    more["c"] = 3


fill(table, more=named)


# program: a decorator that makes a dataclass by a function in it
# sure: A.run, B.run
import dataclasses
from dataclasses import dataclass
from typing_extensions import dataclass_transform


@dataclass_transform()
def config(cls=None, *, frozen=False, **options):
    def decorator(cls):
        return dataclass(cls, frozen=frozen, **options)

    if cls is None:
        return decorator
    return decorator(cls)


@config
class A:
    n: int = 0

    def run(self, x): ...


@config(frozen=True)
class B:
    n: int = 0

    def run(self, x): ...
