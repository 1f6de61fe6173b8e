import enum, functools
from typing import NamedTuple
from up import mod

LIMIT = 4


def by(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)


def function():
    return "new"


def size(self):
    return 2


def loud(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


@functools.lru_cache
def cached():
    return "new"


class Thing(mod.Thing):
    def __init__(self):
        super().__init__()


class Bare(mod.Bare):
    def method(self):
        return "new"


class Pair(NamedTuple):
    one: int = 2

    def total(self):
        return 2


class Mode(enum.Enum):
    FAST = 2

    def __init__(self, number):
        self.number = number

    def speed(self):
        return 2


class Compiled:
    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self):
        return "new"


@Compiled
def compiled():
    return "new"


class Held:
    def __call__(self):
        return "new"


held = Held()


def beside(module):
    return None
