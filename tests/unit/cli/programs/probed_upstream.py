"""One target of every kind that a probe can count, and some that it cannot."""

import dataclasses
import enum
import functools

LIMIT = 3
absolute = abs


def plain(number):
    return number + 1


def never():
    return None


def twice(function):
    @functools.wraps(function)
    def both(*args):
        function(*args)
        return function(*args)

    return both


@twice
def decorated(number):
    return number


@twice
def also_decorated(number):
    return number


@functools.lru_cache
def cached(number):
    return number


async def coroutine():
    return 1


def generator():
    yield 1
    yield 2


class Base:
    def inherited(self):
        return type(self).__name__

    def overridden(self):
        return "base"


class Child(Base):
    def __init__(self, number):
        self.number = number

    def method(self):
        return self.number

    def overridden(self):
        return "child of " + super().overridden()

    @classmethod
    def made(cls):
        return cls(1)

    @staticmethod
    def helper():
        return 1

    @property
    def size(self):
        return 1

    @functools.cached_property
    def weight(self):
        return 1


class Sibling(Base):
    pass


@dataclasses.dataclass
class Point:
    x: int


def built(cls):
    """Gives a class a constructor as pydantic does: all share its code, under names of their own."""

    def __init__(self, *args):
        pass

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__
    return cls


@built
class First:
    pass


@built
class Second:
    pass


class Plain:
    pass


class Color(enum.Enum):
    RED = 1


re_exported = plain
