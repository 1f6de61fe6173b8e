"""A module of every form that exported changes may meet."""

import contextlib
import functools
import os.path
from dataclasses import dataclass
from up.other import deep

LIMIT = 1  # of something
SIZES: dict[str, int] = {"a": 1}
HERE, THERE = 1, 2
TABLE = {
    "a": 1,  # first
    "b": [1, 2],  # last
}
SHORT = {"a": 1}
EMPTY = {}
ROWS = [1, 2]
FILLED = {"a": 1}
FILLED["b"] = 2
MADE = dict(a=1)
if os.sep:
    CHOSEN = 1


def named(function):
    """Mark a function."""
    function.mark = "named"
    return function


def plain(a, b=1):
    """Add."""
    return a + b


@named
def marked():
    return "marked"


@functools.lru_cache(maxsize=None)
def cached(a):
    return [a]


@contextlib.contextmanager
def context():
    yield "upstream"


async def later():
    return "upstream"


def counting():
    yield from range(2)


def joined(a):
    return os.path.join("up", a)


def caller():
    return plain(1), LIMIT, SIZES, HERE, THERE, Worker(3).run(1)


class Base:
    def inherited(self):
        return "base"

    def greet(self):
        return "base"


# What works.
class Worker(Base):
    """A worker."""

    SCALE = 2
    __secret = "upstream"

    def __init__(self, size):
        self.size = size

    def run(self, x):
        return x * self.SCALE

    def greet(self):
        return super().greet() + " worker"

    @property
    def width(self):
        return self.size

    @width.setter
    def width(self, value):
        self.size = value

    @staticmethod
    def fixed(a):
        return ("upstream", a)

    @classmethod
    def made(cls, size):
        return cls(size)

    @functools.cached_property
    def kept(self):
        return [self.size]

    def secret(self):
        return self.__secret

    class Inner:
        DEPTH = 1

        def depth(self):
            return self.DEPTH


@dataclass
class Config:
    """Settings."""

    size: int = 1
    """How large."""

    name: str = "upstream"

    def shown(self):
        return f"{self.name} {self.size}"


class Slotted:
    __slots__ = ("a",)

    def get(self):
        return 1
