"""What hard piles patch, and a program that tells what it answers afterwards."""

from __future__ import annotations

LIB = '''\
"""What hard piles patch."""

LIMIT = 10
TABLE = {"a": 1}


def f(a, b=0):
    return ("f", a, b)


def g():
    return "g"


def use_g():
    return g(), LIMIT


def with_default(a=1, *, b=2):
    return a, b


class C:
    size = 1

    def m(self, a, b=0):
        return ("m", a, b)

    @staticmethod
    def s(a):
        return ("s", a)

    @property
    def p(self):
        return "p"


class D(C):
    size = 2


class Call:
    def __call__(self, a):
        return ("call", a)

    @classmethod
    def made(cls, a=1):
        return (cls.__name__, a)

    def many(self, *args):
        return ("many", *args)
'''
KINDS = '''\
"""What is more than functions and classes."""

import abc
import dataclasses
import enum

NAMES = ["a"]
KINDS = {"a"}
HOOKS = []


def limit(*_):
    return "limit"


def run_hooks():
    return [hook() for hook in HOOKS]


class Color(enum.Enum):
    RED = 1
    GREEN = 2


@dataclasses.dataclass
class Config:
    size: int = 1
    name: str = "x"


class Meta(type):
    limit = 1

    def made(cls):
        return cls.__name__


class Made(metaclass=Meta):
    pass


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        return 1


class Plugin:
    found = []

    def __init_subclass__(cls, **words):
        Plugin.found.append(cls.__name__)


class Registry:
    def __init__(self):
        self.items = {}
        self.mode = "plain"

    def register(self, name, value):
        self.items[name] = value

    def get(self, name):
        return self.items.get(name)


REGISTRY = Registry()
'''
USER = """\
from up.lib import C, f, g


def use():
    return f(1), g(), C().m(2)
"""
UPSTREAM = {"lib": LIB, "kinds": KINDS, "user": USER}

PROBE = '''
import inspect
import json
import sys
import types

ARGUMENTS = [(), (1,), (1, 2)]


def answer(value):
    """Tell what a value is, and, of what can be called, what it answers to two calls each."""
    if isinstance(value, type):
        return "class " + value.__name__ + str([base.__name__ for base in value.__mro__])
    if callable(value):
        told = []
        for arguments in ARGUMENTS * 2:
            try:
                told.append(plain(value(*arguments)))
            except Exception as error:
                told.append(type(error).__name__)
        return told
    return plain(value)


def plain(value):
    """Tell what data hold; of any other object its class."""
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, dict):
        return {str(key): plain(held) for key, held in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, type):
        return "class " + value.__name__
    if isinstance(value, types.FunctionType):
        return ["called", answer(value)]
    return "a " + type(value).__name__


def instance(owner):
    try:
        return owner()
    except Exception:
        return None


def stored(value):
    """Tell what a class itself has, if it is data: its instances may have something else."""
    return plain(value) if type(value) in (int, str, list, dict) else None


def told(module, name, value):
    yield name, answer(value)
    if isinstance(value, type):
        made = instance(value)
        for key in list(vars(value)):
            if key.startswith("__") and key not in ("__call__", "__init__"):
                continue
            owner = value if made is None else made
            try:
                held = getattr(owner, key)
            except Exception as error:
                held = type(error).__name__
            yield name + "." + key, [answer(held), stored(vars(value)[key])]
    elif isinstance(getattr(value, "items", None), dict):
        for key, held in list(vars(value).items()):
            yield name + "." + key, answer(held)


answers = {}
for module in ("up.lib", "up.kinds", "up.user"):
    __import__(module)
for module in ("up.lib", "up.kinds", "up.user"):
    for name, value in list(vars(sys.modules[module]).items()):
        if name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        for qualname, text in told(module, name, value):
            answers[module + ":" + qualname] = text
print(json.dumps(answers))
'''
"""Prints, by target, what upstream answers; it knows nothing of patchkit."""
