"""Code that gives functions and classes another signature."""

# program: signature set on function
import inspect


def f(a): ...


f.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])


def g(a): ...


# program: signature set on class
import inspect


class A:
    def __init__(self, a): ...

    __signature__ = inspect.Signature([inspect.Parameter("x", 1)])


class B(A):
    def __init__(self, b): ...


class C:
    def __init__(self, a): ...


C.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])

# program: signature set on class by setattr
import inspect


class A:
    def __init__(self, a): ...


setattr(A, "__signature__", inspect.Signature([inspect.Parameter("x", 1)]))


def f(a): ...


setattr(f, "__signature__", inspect.Signature([inspect.Parameter("x", 1)]))

# program: signature set on method
import inspect


class A:
    def m(self, a): ...

    m.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])

    def n(self, a): ...


A.n.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])


# program: wrapped set
def f(a): ...
def g(x, y): ...


f.__wrapped__ = g


# program: code set
def f(a): ...
def g(x, y): ...


f.__code__ = g.__code__


def h(a=1): ...


h.__defaults__ = None


def k(*, a=1): ...


k.__kwdefaults__ = None

# program: signature copied
import functools


def g(x, y): ...
def f(a): ...


functools.update_wrapper(f, g)


def h(a): ...


h.__dict__.update(__wrapped__=g)

# program: decorated by update wrapper in place
import functools


def g(x, y): ...
@functools.wraps(g)
def f(a): ...
@functools.wraps(g, assigned=())
def h(*args, **kwargs): ...


# program: signature set by helper
import inspect


def fix(function):
    function.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])


def f(a): ...


fix(f)

# program: signature set in a loop
import inspect


def f(a): ...
def g(a): ...


for function in (f, g):
    function.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])

# program: signature set through an alias
import inspect


def f(a): ...


h = f
h.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])

# program: decorator sets signature
import inspect


def sig(function):
    function.__signature__ = inspect.Signature([inspect.Parameter("x", 1)])
    return function


def sig2(function):
    setattr(function, "__signature__", inspect.Signature([inspect.Parameter("x", 1)]))
    return function


@sig
def f(a): ...
@sig2
def g(a): ...


@sig
class A:
    def __init__(self, a): ...


# program: decorator sets defaults
def defaults(function):
    function.__defaults__ = (1,)
    return function


def wrapped(function):
    function.__wrapped__ = defaults
    return function


@defaults
def f(a): ...
@wrapped
def g(a): ...


# program: decorators renamed
from functools import wraps as w, lru_cache as cached, cached_property as cp
import functools as ft


def dec(function):
    @w(function)
    def inner(*args, **kwargs): ...

    return inner


d2 = dec
cm = classmethod
sm = staticmethod
pr = property


@d2
def f(a): ...
@cached
def g(a): ...
@ft.cache
def h(a): ...


class A:
    @cm
    def c(cls, a): ...
    @sm
    def s(a): ...
    @pr
    def p(self): ...
    @cp
    def q(self): ...
    @cached(maxsize=None)
    def r(self, a): ...


# program: shadowed builtins
def property(function):
    return function


def staticmethod(function):
    return 1


class A:
    @property
    def p(self, a): ...
    @staticmethod
    def s(a): ...


# program: wraps another
import functools


def other(x, y): ...
def dec(function):
    @functools.wraps(other)
    def inner(*args, **kwargs): ...

    return inner


@dec
def f(a): ...


# program: own wraps
def wraps(function):
    def decorate(inner):
        return inner

    return decorate


def dec(function):
    @wraps(function)
    def inner(*args, **kwargs): ...

    return inner


@dec
def f(a): ...


# program: wraps with arguments
import functools


def dec(function):
    @functools.wraps(function)
    def inner(x, *args, **kwargs): ...

    return inner


def dec2(function):
    @functools.wraps(function, updated=())
    def inner(*args, **kwargs): ...

    return inner


def dec3(function):
    @functools.wraps(function)
    def inner(*args, **kwargs): ...

    del inner.__wrapped__
    return inner


@dec
def f(a): ...
@dec2
def g(a): ...
@dec3
def h(a): ...


# program: decorator returns something by condition
import os


def dec(function):
    if os.environ.get("X"):
        return function
    return 1


@dec
def f(a): ...


# program: decorator loses
def dec(function):
    return None


def dec2(function):
    pass


def dec3(function):
    return function
    return 1


def dec4(function):
    function = 1
    return function


@dec
def f(a): ...
@dec2
def g(a): ...
@dec3
def h(a): ...
@dec4
def k(a): ...


# program: decorator is generator or async
def dec(function):
    yield function


async def dec2(function):
    return function


@dec
def f(a): ...
@dec2
def g(a): ...


# program: decorator replaced
def dec(function):
    return function


def dec(function):
    return 1


@dec
def f(a): ...
def dec(function):
    return function


# program: decorator is a class
class Dec:
    def __init__(self, function):
        self.function = function

    def __call__(self, *args): ...


@Dec
def f(a): ...


class A:
    @Dec
    def m(self, a): ...


# program: decorator is a method
class Registry:
    def add(self, function):
        return function

    def other(self, function):
        return 1

    @classmethod
    def made(cls, function):
        return function

    @staticmethod
    def stat(function):
        return 1


registry = Registry()


@registry.add
def f(a): ...
@registry.other
def g(a): ...
@Registry.made
def h(a): ...
@Registry.stat
def k(a): ...


# program: decorator with a walrus
def dec(function):
    return (function := 1)


def dec2(function):
    (function := 2)
    return function


def dec3(function):
    for function in (1,):
        pass
    return function


def dec4(function):
    with open(__file__) as function:
        pass
    return function


def dec5(function):
    import os as function

    return function


def dec6(function):
    try:
        1 / 0
    except ZeroDivisionError as function:
        return function


def dec7(function):
    def function(): ...

    return function


def dec8(function):
    class function: ...

    return function


def dec9(function):
    del function
    function = 2
    return function


@dec
def a(a): ...
@dec2
def b(a): ...
@dec3
def c(a): ...
@dec4
def d(a): ...
@dec5
def e(a): ...
@dec6
def f(a): ...
@dec7
def g(a): ...
@dec8
def h(a): ...
@dec9
def i(a): ...


# program: decorator in a with or match
def dec(function):
    match function:
        case None:
            return function
        case _:
            return 1


@dec
def f(a): ...


# program: partial method
import functools
from functools import partialmethod as pm


class A:
    def m(self, a, b): ...

    n = functools.partialmethod(m, 1)
    o = pm(m, b=2)
    p = functools.partial(m, 1)


# program: partial
import functools
from functools import partial as p


def f(a, b, c=1): ...


g = functools.partial(f, 1)
h = p(f, b=2)
k = functools.partial(g, c=3)

# program: overload
from typing import overload
import typing as t


@overload
def f(a): ...
@overload
def f(a, b): ...
def f(*args): ...


class A:
    @t.overload
    def m(self, a): ...
    @t.overload
    def m(self, a, b): ...
    def m(self, *args): ...


@overload
def g(a): ...


# program: singledispatch
import functools
from functools import singledispatch, singledispatchmethod


@singledispatch
def f(a, b): ...
@f.register
def _(a: int, b): ...
@f.register(str)
def for_text(x, y): ...


class A:
    @singledispatchmethod
    def m(self, a): ...
    @m.register
    def _(self, a: int): ...


# program: property parts
class A:
    @property
    def p(self): ...
    @p.setter
    def p(self, value): ...
    @p.deleter
    def q(self): ...
    def get(self): ...

    r = property(get)
    s = property(fget=get)
    t = r.setter(get)


class B(A):
    @A.p.getter
    def p(self): ...
    @A.p.setter
    def u(self, v): ...


# program: methods assigned
class A:
    def m(self, a): ...

    n = m
    o = staticmethod(m)
    p = classmethod(m)
    q = lambda self, x: 1


def f(self, a): ...


class B:
    m = f
    n = A.m
    o = A().m
    p = staticmethod(f)
    s = print
    t = dict
    u = A


# program: defaults
def f(a, /, b, *, c, d=1, **e): ...
def g(a=1, *b): ...
async def h(a): ...
async def i(a):
    yield 1


def j(a):
    yield 1


k = lambda a, *b: 1


class A:
    async def m(self, a): ...
    @staticmethod
    async def n(a): ...
    @classmethod
    def o(cls, a): ...
    def __init__(self, __a, *, __b=1): ...


# program: rebinding after alias
def f(a): ...


g = f


def f(x, y): ...


h = f
f = g


# program: alias chain
def f(a): ...


g = h = f
i, j = f, g
k = (f, g)[1]
l = {"a": f}["a"]
m = f if g else h
n = f or 1
o = f and g


# program: class signature by metaclass call inherited
class Meta(type):
    def __call__(cls, x):
        return super().__call__(x, 1)


class Base(metaclass=Meta):
    def __init__(self, a, b): ...


class A(Base): ...


# program: class signature text
class A:
    def __init__(self, a): ...

    __text_signature__ = "(x, y)"


class B:
    __new__ = None

    def __init__(self, a): ...


# program: init replaced
class A:
    def __init__(self, a): ...

    __init__ = lambda self, x, y: None


class B:
    def init(self, a, b): ...

    __init__ = init


class C:
    import json

    __init__ = json.dumps


# program: init decorated
import functools


def dec(function):
    @functools.wraps(function)
    def inner(*args, **kwargs): ...

    return inner


def unknown(function):
    return lambda x: 1


class A:
    @dec
    def __init__(self, a): ...


class B:
    @unknown
    def __init__(self, a): ...


# program: wraps async
import functools


def dec(function):
    @functools.wraps(function)
    async def inner(*args, **kwargs): ...

    return inner


@dec
def f(a): ...
@dec
async def g(a): ...


class A:
    @dec
    def m(self, a): ...
    @staticmethod
    @dec
    def s(a): ...
    @dec
    @staticmethod
    def t(a): ...


# program: stacked
import functools


def dec(function):
    @functools.wraps(function)
    def inner(*args, **kwargs): ...

    return inner


def same(function):
    return function


class A:
    @property
    @functools.lru_cache
    def p(self): ...
    @functools.lru_cache
    @dec
    def q(self, a): ...
    @classmethod
    @property
    def r(cls): ...
    @same
    @property
    def s(self): ...
    @dec
    @functools.lru_cache
    def t(self, a): ...


# program: redefinition by import
def f(a): ...


from up.lib import f


def g(a): ...


from up.lib import *


# file: lib
def f(x, y): ...
def g(x, y): ...


# program: function attribute
def f(a): ...


f.x = 1
f.y = lambda: 1


class A:
    def m(self): ...

    m.z = 1


A.m.w = 2


# program: a hook gives init another signature
# sure: Child.run
from inspect import Signature


class Base:
    def __init_subclass__(cls):
        cls.__init__.__signature__ = Signature()

    def __init__(self, *args): ...


class Child(Base):
    def __init__(self, *args): ...

    def run(self, x): ...


# program: a hook gives what is inherited another signature
from inspect import Signature


class Base:
    def __init_subclass__(cls):
        cls.run.__signature__ = Signature()

    def run(self, x): ...


class Child(Base): ...


# program: a hook gives every method another signature
from inspect import Signature


class Base:
    def __init_subclass__(cls):
        for name, method in vars(cls).items():
            if name.startswith("run"):
                method.__signature__ = Signature()


class Child(Base):
    def run(self, x): ...

    def run_more(self, x, y): ...


# program: a function that a hook calls gives another signature
from inspect import Signature


def resign(cls):
    setattr(cls.run, "__signature__", Signature())


class Base:
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        resign(cls)


class Child(Base):
    def run(self, x): ...


# program: a decorator gives a method another signature
def decorate(cls):
    cls.run.__defaults__ = (1,)
    return cls


@decorate
class A:
    def run(self, x): ...

    def walk(self, y): ...


# program: a metaclass gives a method another signature
from inspect import Signature


class Meta(type):
    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        cls.run.__signature__ = Signature()


class A(metaclass=Meta):
    def run(self, x): ...


# program: a metaclass gives methods of the namespace another signature
from inspect import Signature


class Meta(type):
    def __new__(mcs, name, bases, namespace):
        for value in namespace.values():
            if callable(value):
                value.__signature__ = Signature()
        return super().__new__(mcs, name, bases, namespace)


class A(metaclass=Meta):
    def run(self, x): ...


# program: a call below the class gives a method another signature
from inspect import Signature


def resign(cls):
    cls.run.__signature__ = Signature()


class A:
    def run(self, x): ...


resign(A)


# program: a hook that makes a function of its own
# sure: Child.run, Child.walk
from inspect import Signature


class Base:
    def __init_subclass__(cls):
        def made(self): ...

        made.__signature__ = Signature()
        cls.made = made
        cls.__signature__ = Signature()


class Child(Base):
    def run(self, x): ...

    def walk(self, x, y): ...


# program: an inner function passes what it decorates to one that sets its signature
from .b import keep


def of(model):
    def decorate(function):
        keep(model, function)
        return function

    return decorate


def noted(function):
    print(function)
    return function


class Model:
    def __init__(self, a, b): ...


@of(Model)
def run(x): ...


@noted
def walk(x): ...


class A:
    @of(Model)
    def __init__(self, *args): ...


# file: b
from .c import wrapped_as


def keep(model, function):
    wrapped_as(model.__init__, function)


# file: c
def wrapped_as(model, function):
    function.__wrapped__ = model


# program: how named tuples are called
# called: A, B, F, G, A.__new__
import random
import typing
from typing import NamedTuple, Generic, TypeVar


class A(NamedTuple):
    a: int
    b: "str" = "x"

    def method(self): ...


class B(typing.NamedTuple, Generic[TypeVar("T")]):
    """No defaults."""

    a: int
    b: int


class C(A):
    c: int = 2


class D(A):
    def __new__(cls, x):
        return super().__new__(cls, x)


class E(A):
    def __init__(self, x, *more): ...


class F(NamedTuple):
    a: int
    a = 1
    b: int = 2
    c = 3


class G(NamedTuple):
    pass


class H(NamedTuple):
    a: int
    if random:
        b: int = 1


class I(NamedTuple):
    a: int
    if len("a") == 1:
        a = 3


class J(NamedTuple):
    a: int
    b: int
    __annotations__["c"] = int


class K(NamedTuple):
    a: int
    b: int


K.__new__.__defaults__ = (None, None)


class L(NamedTuple):
    a: int


L.__new__ = lambda cls, x, y: None


def changed(cls):
    cls.__new__ = lambda cls, x: None
    return cls


@changed
class M(NamedTuple):
    a: int


class N(NamedTuple):
    a: int


setattr(N, "__new__", lambda cls, *all: None)


class P(NamedTuple("P", [("a", int)])):
    b: int = 2


class Q(NamedTuple("Q", [("a", int)])):
    pass


class O(NamedTuple):
    a: int
    b: int


O.__new__.__kwdefaults__ = {}


# program: options of fields that are not spelled out
# called: Plain
import random
from dataclasses import dataclass, field

FLAG = bool(random)
OPTIONS = {"init": False}


@dataclass
class Plain:
    x: int
    y: int = field(init=False)
    z: int = field(default=1, kw_only=True)


@dataclass
class A:
    x: int = field(init=not FLAG)


@dataclass
class B:
    x: int
    y: int = field(kw_only=FLAG)


@dataclass
class C:
    x: int
    y: int = field(**OPTIONS)


# program: fields of pydantic whose default is not spelled out
# called: S, T, U
import random
from dataclasses import field
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(config=ConfigDict(extra="forbid"))
class S:
    a: int
    b: int = Field(init=False)
    c: int = Field(default=3)
    d: list = Field(default_factory=list)
    e: int = Field(gt=3, default=4)
    f: int = field(init=False)
    g: int = Field(3, kw_only=True)


@dataclass(kw_only=True)
class T:
    b: int = Field()
    c: int = Field(...)


@dataclass
class U(S):
    b: int = 2
    z: int = Field(init=False, default=3)


@dataclass
class V:
    b: int = Field(init=not random)
    c: int = 2


# program: a dataclass of pydantic whose decorator forbids others
# called: A
from up.b import config


@config
class A:
    x: int


# file: b
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass
from typing_extensions import dataclass_transform


@dataclass_transform()
def config(cls):
    return dataclass(cls, config=ConfigDict(extra="forbid"))


# program: a dataclass of pydantic that ignores others
# not called: A
from pydantic.dataclasses import dataclass


@dataclass
class A:
    x: int


# program: dataclasses with defaults that are not known
# at most: A, B, D, E
import dataclasses
import random
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import ClassVar

FLAG = bool(random)


def default(name):
    if name == "b":
        return dataclasses.field(init=False, default=1)
    return dataclasses.field(default=len(name))


@dataclass
class A:
    a: int = default("a")
    b: int = default("b")
    c: "ClassVar[int]" = default("c")
    d: InitVar[int] = 3


@dataclass
class B(A):
    e: int = default("e")
    a: int = 3
    _: KW_ONLY
    f: int = default("f")


@dataclass
class C(A):
    g: int = 1

    def __init__(self, x): ...


class D(A):
    h: int = 1


@dataclass
class E:
    x: int = dataclasses.field(init=not FLAG, default=1)


@dataclass(init=False)
class F(A):
    i: int = 2


@dataclass
class G(A):
    j: int = 1


G.__init__ = lambda self, k: None


@dataclass
class H(A):
    l: int = 1

    def __new__(cls, *all, m=1):
        return super().__new__(cls)


@dataclass
class I(A):
    if FLAG:
        n: int = 1


@dataclass
class J(A):
    p: int = 2
    __annotations__["o"] = int
    o = 2


# program: structs
# at most: A, B, E
import msgspec
from typing import ClassVar, Generic, TypeVar


class Mixin:
    z: int = 1

    def method(self): ...


class A(Mixin, msgspec.Struct, dict=True, omit_defaults=True):
    a: int
    _b: int = 0
    c: list = msgspec.field(default_factory=list, name="other")
    d: ClassVar[int] = 2


class B(A, kw_only=True, rename="camel"):
    long_name: int
    a: int = 3


class C(msgspec.Struct):
    x: int

    def __post_init__(self, *more): ...


class E(msgspec.Struct, Generic[TypeVar("T")]):
    x: int


F = msgspec.defstruct("F", ["x", "y"])


class G(F):
    z: int = 1


class H(msgspec.Struct):
    x: int
    __annotations__["q"] = int


# program: decorators that pass options on to a dataclass decorator
# called: A, B, C, D, E, H, I
import dataclasses
import random
from typing_extensions import dataclass_transform


@dataclass_transform()
def keyword_only(cls=None, /, *, frozen=True):
    def wrap(cls):
        return dataclasses.dataclass(cls, kw_only=True, frozen=frozen)

    if cls is None:
        return wrap
    return wrap(cls)


@dataclass_transform()
def passing(cls=None, *, kw_only=False, **others):
    def wrap(cls):
        return dataclasses.dataclass(cls, kw_only=kw_only, **others)

    return wrap if cls is None else wrap(cls)


@dataclass_transform()
def changing(cls=None, **others):
    others.setdefault("kw_only", True)

    def wrap(cls):
        return dataclasses.dataclass(cls, **others)

    return wrap if cls is None else wrap(cls)


@dataclass_transform()
def rebinding(cls=None, *, kw_only=False):
    kw_only = not kw_only

    def wrap(cls):
        return dataclasses.dataclass(cls, kw_only=kw_only)

    return wrap if cls is None else wrap(cls)


@dataclass_transform()
def choosing(cls):
    if random:
        return dataclasses.dataclass(cls, kw_only=True)
    return dataclasses.dataclass(cls)


@dataclass_transform()
def ignoring(cls=None, *, kw_only=False, **others):
    def wrap(cls):
        return dataclasses.dataclass(cls)

    return wrap if cls is None else wrap(cls)


@dataclass_transform()
def making_init(cls=None, *, init=True):
    def wrap(cls):
        return dataclasses.dataclass(cls, init=init)

    return wrap if cls is None else wrap(cls)


@keyword_only
class A:
    a: int
    b: int = 1


@keyword_only(frozen=False)
class B:
    a: int


@passing
class C:
    a: int


@passing(kw_only=True)
class D:
    a: int


@passing(repr=False, kw_only=False)
class E:
    a: int


@changing
class F:
    a: int


@rebinding
class G:
    a: int


@choosing
class J:
    a: int


@ignoring(kw_only=True, slots=True)
class H:
    a: int


@making_init
class I:
    a: int


@making_init(init=False)
class K:
    a: int


# program: fields of names that each class has
# at most: A, B
from dataclasses import dataclass


@dataclass
class A:
    __name__: str


@dataclass
class B:
    mro: str


# program: dataclasses that are protocols
# called: C
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable


@runtime_checkable
@dataclass
class A(Protocol):
    a: int


@dataclass
class B(Protocol[TypeVar("T")]):
    a: int


@dataclass
class C(A):
    b: int


# program: dataclasses of pydantic with names and defaults elsewhere
# not called: A, B, D, E, F, G
from typing import Annotated
from dataclasses import field
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

FORBID = ConfigDict(extra="forbid", validate_by_name=True)


@dataclass(config=FORBID)
class A:
    a: int

    def __init__(self, other, a):
        self.a = a


class B(A):
    pass


@dataclass(config=FORBID)
class D:
    a: int = Field(alias="b")


@dataclass(config=FORBID)
class E:
    a: Annotated[int, Field(alias="b", default=1)]


@dataclass(config=FORBID)
class F:
    a: Annotated[int, Field(default=1)]


@dataclass(config=FORBID)
class G:
    _a: Annotated[int, Field(alias="b", default=1)] = field(default=2)


# program: a dataclass of pydantic with names that are generated
# not called: A
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass


@dataclass(config=ConfigDict(extra="forbid", alias_generator=str.upper))
class A:
    a: int
