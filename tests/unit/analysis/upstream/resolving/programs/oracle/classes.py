"""Code that changes classes, and machinery that makes them."""


# program: alias of a class
class A:
    def m(self, a): ...
    def kept(self): ...


X = A
X.m = lambda self, x, y: 1
X.n = 2


# program: alias deletes
class A:
    def m(self, a): ...


X = Y = A
del Y.m


# program: alias through a tuple
class A:
    def m(self, a): ...


class B:
    def m(self, a): ...


X, Y = A, B
X.m = 1
Y.n = 2


# program: alias with setattr
class A:
    def m(self, a): ...


X = A
setattr(X, "m", 1)
setattr(X, "n", 1)


# program: loop over classes
class A:
    def m(self, a): ...
    def kept(self): ...


class B:
    def m(self, a): ...


for C in (A, B):
    C.m = lambda self, x, y: 1
    C.n = 2


# program: loop over classes in a variable
class A:
    def m(self, a): ...


class B:
    def m(self, a): ...


ALL = [A, B]
for C in ALL:
    C.m = lambda self, x, y: 1
    setattr(C, "n", 2)


# program: loop over pairs
class A:
    def m(self, a): ...


for C, name in [(A, "m"), (A, "n")]:
    setattr(C, name, 1)


# program: loop over subclasses
class A:
    def m(self, a): ...


class B(A):
    def m(self, a): ...


for C in A.__subclasses__():
    C.m = 1
    C.n = 2


# program: loop over globals
class A:
    def m(self, a): ...


for value in list(globals().values()):
    if isinstance(value, type):
        value.m = 1
        value.n = 2


# program: comprehension sets
class A:
    def m(self, a): ...


class B:
    def m(self, a): ...


[setattr(C, "m", 1) for C in (A, B)]
[setattr(C, "n", 1) for C in (A, B)]


# program: map sets
class A:
    def m(self, a): ...


def fix(cls):
    cls.m = 1
    cls.n = 2


list(map(fix, [A]))


# program: function with parameter
class A:
    def m(self, a): ...
    def kept(self): ...


def fix(cls):
    cls.m = lambda self, x, y: 1
    cls.n = 2


fix(A)


# program: function with keyword
class A:
    def m(self, a): ...


def fix(cls):
    cls.m = 1
    cls.n = 2


fix(cls=A)


# program: function passed alias
class A:
    def m(self, a): ...


def fix(cls):
    cls.m = 1
    cls.n = 2


X = A
fix(X)


# program: function passed list
class A:
    def m(self, a): ...


def fix(classes):
    for c in classes:
        c.m = 1
        c.n = 2


fix([A])


# program: function passed dict
class A:
    def m(self, a): ...


def fix(classes):
    for c in classes.values():
        c.m = 1


fix({"a": A})
fix(dict(a=A))


# program: registry decorator
class Registry(dict):
    def __call__(self, cls):
        cls.m = 1
        cls.n = 2
        return cls


register = Registry()


@register
class A:
    def m(self, a): ...


# program: patched below by dict
class A:
    def m(self, a): ...


A.__dict__.get("m")
type.__setattr__(A, "m", 1)
type.__setattr__(A, "n", 1)


# program: patched by delattr
class A:
    def m(self, a): ...
    def n(self): ...


delattr(A, "m")
type.__delattr__(A, "n")

# program: patched by vars of another module
import sys


class A:
    def m(self, a): ...


sys.modules[__name__].A.m = 1
globals()["A"].n = 1

# program: imported class is patched
from up.lib import A

A.m = lambda self, x, y: 1
A.n = 2


# file: lib
class A:
    def m(self, a): ...


# program: subclass of a patched one
from up.lib import A

A.m = lambda self, x, y: 1
A.n = 2


class B(A):
    def k(self): ...


# file: lib
class A:
    def m(self, a): ...


# program: method patches own class
class A:
    def m(self, a): ...
    @classmethod
    def fix(cls):
        cls.m = 1
        cls.n = 2


A.fix()


# program: init patches class
class A:
    count = 0

    def __init__(self):
        A.n = 2
        type(self).k = 3


a = A()


# program: class decorator returns another
def other(cls):
    class Other:
        def n(self): ...

    return Other


@other
class A:
    def m(self, a): ...


# program: class decorator returns a subclass
def sub(cls):
    class Sub(cls):
        def n(self): ...

    return Sub


@sub
class A:
    def m(self, a): ...


# program: class decorator by type
def made(cls):
    return type(cls.__name__, (cls,), {"n": 1, "m": 2})


@made
class A:
    def m(self, a): ...


# program: class decorator returns instance
def single(cls):
    return cls()


@single
class A:
    def m(self, a): ...


# program: class decorator returns function
def func(cls):
    def make(x, y):
        return cls()

    return make


@func
class A:
    def m(self, a): ...


# program: class decorator lambda
@(lambda cls: type("B", (), {"n": 1}))
class A:
    def m(self, a): ...


# program: class decorator assigned
def add(cls):
    cls.n = 1
    return cls


dec = add


@dec
class A:
    def m(self, a): ...


# program: class decorator deletes
def drop(cls):
    del cls.m
    delattr(cls, "n")
    return cls


@drop
class A:
    def m(self, a): ...
    def n(self, a): ...
    def kept(self): ...


# program: init subclass
class Base:
    def __init_subclass__(cls, **options):
        cls.n = 1
        for name in options:
            setattr(cls, name, options[name])


class A(Base, k=1):
    def m(self, a): ...
    def n(self): ...


# program: init subclass deletes
class Base:
    def __init_subclass__(cls):
        del cls.m


class A(Base):
    def m(self, a): ...


# program: init subclass assigned
def hook(cls):
    cls.n = 1


class Base:
    __init_subclass__ = classmethod(hook)


class A(Base):
    def m(self, a): ...


# program: init subclass in a branch
class Base:
    if True:

        def __init_subclass__(cls):
            cls.n = 1
            cls.m = 2


class A(Base):
    def m(self, a): ...


# program: init subclass by mixin of another module
from up.lib import Base


class A(Base):
    def m(self, a): ...


# file: lib
class Base:
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        wrap(cls)


def wrap(cls):
    cls.m = lambda self, x, y: 1
    cls.n = 2


# program: init subclass changes base
class Base:
    def b(self, a): ...
    def __init_subclass__(cls):
        Base.b = 1
        Base.n = 2


class A(Base):
    def m(self, a): ...


# program: set name of decorator class
class method:
    def __init__(self, f):
        self.f = f

    def __set_name__(self, owner, name):
        setattr(owner, name, self.f)
        owner.n = 1


class A:
    @method
    def m(self, a): ...


# program: set name inherited
from up.lib import Field


class A:
    x = Field()


# file: lib
class Base:
    def __set_name__(self, owner, name):
        owner.n = 2


class Field(Base): ...


# program: class getitem
class A:
    def __class_getitem__(cls, item):
        cls.n = 1
        return B


class B:
    def k(self): ...


X = A[int]


class C(A[int]):
    def m(self): ...


# program: base by subscript
class Maker:
    def __getitem__(self, item):
        return Real


class Real:
    def r(self): ...


make = Maker()


class C(make[int]):
    def m(self): ...


# program: mro entries
class Real:
    def r(self): ...


class Entry:
    def __mro_entries__(self, bases):
        return (Real,)


entry = Entry()


class C(entry):
    def m(self): ...


# program: metaclass getattr
class Meta(type):
    def __getattr__(cls, name):
        if name == "n":
            return 1
        raise AttributeError(name)


class A(metaclass=Meta):
    def m(self): ...


# program: metaclass getattribute hides
class Meta(type):
    def __getattribute__(cls, name):
        if name == "m":
            raise AttributeError(name)
        return super().__getattribute__(name)


class A(metaclass=Meta):
    def m(self): ...


# program: metaclass new
class Meta(type):
    def __new__(mcs, name, bases, ns):
        ns["n"] = 1
        ns.pop("m", None)
        return super().__new__(mcs, name, bases, ns)


class A(metaclass=Meta):
    def m(self): ...
    def kept(self): ...


# program: metaclass is a function
def meta(name, bases, ns):
    ns["n"] = 1
    del ns["m"]
    return type(name, bases, ns)


class A(metaclass=meta):
    def m(self): ...


# program: metaclass prepare
class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases):
        return {"n": 1}


class A(metaclass=Meta):
    def m(self): ...


# program: metaclass with members
class Meta(type):
    @property
    def n(cls):
        return 1

    def k(cls): ...


class A(metaclass=Meta):
    def m(self): ...


# program: metaclass call
class Meta(type):
    def __call__(cls, x, y):
        return 1


class A(metaclass=Meta):
    def __init__(self, a): ...


# program: six with metaclass
class Meta(type):
    def __new__(mcs, name, bases, ns):
        return super().__new__(mcs, name, bases, {**ns, "n": 1})


def with_metaclass(meta, *bases):
    return meta("temporary", bases, {})


class A(with_metaclass(Meta, object)):
    def m(self): ...


# program: body with locals
class A:
    locals()["n"] = 1
    for name in ("k", "l"):
        vars()[name] = 1

    def m(self): ...

    exec("j = 1")
    del m


# program: body deletes
class A:
    def m(self): ...
    def n(self): ...

    for x in (1, 2):
        pass
    del m, x


# program: body loops
class A:
    for name in ("a", "b"):

        def m(self, x): ...

    if True:

        def n(self): ...
    else:

        def k(self): ...

    try:
        import no_such_module

        def p(self, a): ...
    except ImportError:

        def p(self, x, y): ...

    with open(__file__) as handle:

        def q(self): ...


# program: body imports
class A:
    from json import dumps, loads as reads
    import os.path


# program: body star
class A:
    x = 1
    x += 2
    a, (b, *c) = 1, (2, 3)
    d: int
    e: int = 1
    [i for i in range(3)]
    f = g = 1

    def h(self):
        self.made = 1

    lambda_ = lambda self, a: 1


# program: body private
class A:
    __x = 1

    def __m(self, __a): ...

    __dunder__ = 1


class _B:
    __x = 1


# program: body global
class A:
    global f

    def f(a): ...
    def m(self): ...


# program: nested class
class A:
    class B:
        def m(self): ...

    B.n = 1

    class C(B):
        def k(self): ...

    m = B.m

    def f(self): ...

    g = f
    h = staticmethod(f)


# program: nested patched later
class A:
    class B:
        def m(self): ...


A.B.m = 1
A.B.n = 2
X = A.B
X.k = 3

# program: dynamic bases
bases = (dict,)


class A(*bases):
    def m(self): ...


class B(type("T", (), {"n": 1})):
    def m(self): ...


# program: bases set later
class Base:
    def b(self): ...


class Old:
    def o(self): ...


class A(Old):
    def m(self): ...


A.__bases__ = (Base,)


# program: class getattr
class A:
    def __getattr__(self, name):
        return 1

    def __getattribute__(self, name):
        return 1


a = A()

# program: abstract
import abc


class A(abc.ABC):
    @abc.abstractmethod
    def m(self): ...
    @abc.abstractproperty
    def p(self): ...


class B(A):
    register = 1


# program: class replaced below
class A:
    def m(self, a): ...


class A(A):
    def n(self, x): ...


# program: class rebound conditionally
import sys


class A:
    def m(self, a): ...


if sys.argv:

    class A:
        def n(self): ...


# program: class rebound by a call
def change(cls):
    return type("X", (), {"n": 1})


class A:
    def m(self, a): ...


A = change(A)


# program: class bound as another
class _A:
    def m(self, a): ...


A = _A
A.__name__ = "A"
A.n = 1
del _A

# program: functools on class
import functools


@functools.total_ordering
class A:
    def __lt__(self, other):
        return True

    def __eq__(self, other):
        return True


@functools.singledispatch
class B:
    def __init__(self, a): ...


@functools.lru_cache
class C:
    def m(self, a): ...


# program: weakly known decorator
import dataclasses, functools

wrapper = functools.partial(dataclasses.dataclass, frozen=True)


@wrapper
class A:
    x: int
    y: int = 1


# program: enum
import enum


class E(enum.Enum):
    A = 1
    B = "b"
    _ignore_ = ["C"]
    C = 3

    def m(self): ...
    @property
    def p(self): ...


class F(enum.Enum):
    A = 1
    _private = 2
    __mangled = 3
    x: int
    D = enum.auto()

    def fn(self): ...

    alias = A
    nm = enum.nonmember(5)
    mem = enum.member(lambda: 1)

    class Inner:
        pass


class G(enum.IntFlag):
    A = 1
    B = 2
    AB = A | B


H = enum.Enum("H", "X Y")


class I(E if False else enum.Enum):
    Z = 1
    value_ = 2


# program: enum with new
import enum


class E(str, enum.Enum):
    A = "a"

    def __new__(cls, value):
        obj = str.__new__(cls, value)
        obj._value_ = value
        return obj

    @classmethod
    def _missing_(cls, value):
        return cls.A


@enum.unique
class U(enum.Enum):
    A = 1


@enum.global_enum
class V(enum.IntFlag):
    AA = 1


# program: named tuple
import typing
from typing import NamedTuple
from collections import namedtuple


class N(NamedTuple):
    x: int
    y: int = 1

    def m(self): ...


class M(N):
    z: int

    def __new__(cls, a):
        return super().__new__(cls, a, 1)


P = namedtuple("P", "x y", defaults=(1,))
Q = NamedTuple("Q", [("a", int)])


class R(namedtuple("R", ["a", "b"])):
    __slots__ = ()


class S(typing.NamedTuple, typing.Generic[typing.TypeVar("T")]):
    a: int


# program: typed dict
from typing import TypedDict, Required


class D(TypedDict, total=False):
    x: int
    y: Required[str]


class E(D):
    z: int


F = TypedDict("F", {"a": int})


# program: slots
class A:
    __slots__ = ("x", "__y")


class B:
    __slots__ = "single"


class C:
    __slots__ = "a", "b"


class D:
    __slots__ = ["a"] + ["b"]


class E:
    __slots__ = {"a": "doc"}


class F(A):
    __slots__ = A.__slots__ + ("z",)


class G:
    __slots__ = "one two".split()


class H:
    names = ("p", "q")
    __slots__ = names


class I:
    __slots__ = tuple(n for n in ("r",))


NAMES = ("s",)


class J:
    __slots__ = NAMES


class K:
    __slots__ = (*NAMES, "t")


class L:
    __slots__ = iter(("u",))


class M:
    __slots__ = ("v",)
    __slots__ += ("w",)


class O:
    __slots__ = ["x1"]
    __slots__.append("x2")


# program: slots string then removed
class A:
    __slots__ = "abc"
    a: int


class B:
    __slots__ = ("a",)
    b = 1


del B.a

# program: protocol and generic
from typing import Protocol, Generic, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class P(Protocol[T]):
    x: int
    y: int = 1

    def m(self, a): ...


class G(Generic[T]):
    def m(self): ...


class H(G[int], P[int]): ...


Alias = G[int]


# program: super init signature
class A:
    def __init__(self, a): ...


class B(A): ...


class C(B):
    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)


class D(A):
    def __new__(cls, x, y):
        return super().__new__(cls)


class E:
    def __new__(cls, a):
        return super().__new__(cls)


class F(E):
    def __init__(self, *args): ...


class G: ...


class H(Exception): ...


class I(dict):
    def m(self): ...


# program: a method replaces a method by an instance
# sure: A.kept
class A:
    def m(self, a): ...
    def n(self, a): ...
    def kept(self, a): ...
    def fix(self):
        type(self).m = 1
        self.__class__.n = 2


A().fix()


# program: an object replaces a method of its class
# sure: A.kept
class Field:
    def __set_name__(self, owner, name):
        owner.m = 3


class A:
    x = Field()

    def m(self, a): ...
    def kept(self, a): ...


# program: instances set computed names on their class
# sure: B.kept
class A:
    def __setattr__(self, name, value):
        setattr(self.__class__, name, value)


class B(A):
    def kept(self, a): ...


B().n = 1


# program: Generic beside a base that has it
# sure: Option.default, Listed.default, Plain.default, Named.close
from typing import Generic, Iterable, List, Protocol, TypeVar

T = TypeVar("T")


class Base(Generic[T]):
    def default(self): ...


class Option(Generic[T], Base[T]):
    def other(self): ...


class Listed(Generic[T], Option[List[T]]): ...


class Plain(Listed, Generic[T]): ...


class Items(Generic[T], Iterable[T]):
    def __iter__(self): ...


class Named(Generic[T], Protocol):
    def close(self): ...


# program: a subscript makes a class with attributes of its own
from typing import Generic, TypeVar

T = TypeVar("T")


class Config: ...


class Option(Generic[T]):
    def __init__(self):
        self.config = None

    def __class_getitem__(cls, config):
        return type("Made", (cls,), {"config": config})


class Child(Option[Config]): ...


# program: methods that types only see, which other code sets
from typing import TYPE_CHECKING


class Operations:
    if TYPE_CHECKING:

        def create(self, name): ...

    @classmethod
    def register(cls, name):
        def decorate(function):
            setattr(cls, name, function)
            return function

        return decorate


@Operations.register("create")
def _create(self, name): ...


# program: what classes of typing stand for
# sure: Items.append
from typing import Dict, List


class Items(List[int]):
    def own(self): ...


class Table(Dict[str, int]):
    def own(self): ...


# program: what decorators of typing set on classes
import typing
from typing import Protocol, final, no_type_check, runtime_checkable

import typing_extensions


@typing_extensions.dataclass_transform()
class Transformed: ...


class Derived(Transformed):
    __dataclass_transform__: dict

    def run(self, x): ...


@final
@no_type_check
class Final:
    __final__: bool
    __no_type_check__: bool


@runtime_checkable
class Shape(Protocol):
    def run(self, x): ...


class Square(Shape):
    _is_runtime_protocol: bool


@typing_extensions.deprecated("no")
class Old:
    def __init__(self, a): ...


# program: a hook that calls a method of what comes next
class Meta(type):
    made = None
    marked = None


class Base(metaclass=Meta):
    def __init_subclass__(cls):
        above = super(cls, cls)
        above.configure()

    @classmethod
    def configure(cls): ...

    @classmethod
    def mark(cls): ...


class Middle(Base):
    @classmethod
    def configure(cls):
        cls.made = object()
        cls.added = 1


class Child(Middle): ...


class Marking(Base):
    @classmethod
    def mark(cls):
        cls.marked = cls.set_by_itself = 3


class Other(Base):
    def __init_subclass__(cls):
        super().mark()


class Last(Other, Marking): ...


class VeryLast(Last): ...


# program: object among the bases
# sure: C, D, E, F
from typing import TYPE_CHECKING


class B:
    def __init__(self, a): ...

    def run(self, a): ...


if TYPE_CHECKING:
    X = B
else:
    X = object
Y = object


class M(X): ...


class N(object): ...


class O(Y): ...


class C(M, B): ...


class D(N, B): ...


class E(O, B): ...


class F(B, object): ...
