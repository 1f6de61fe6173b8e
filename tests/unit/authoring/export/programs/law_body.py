from __future__ import annotations

import json
import os
import string as text_tools
from collections import OrderedDict
from dataclasses import dataclass
from os.path import basename
from typing import TYPE_CHECKING, Any

from up import lib
from up.lib import LIMIT as upstream_limit
from up.lib import SIZES as upstream_sizes
from up.lib import Config, Slotted, Worker, deep
from up.lib import plain as upstream_plain
from up.lib import joined as upstream_joined

if TYPE_CHECKING:
    from collections.abc import Sequence

FACTOR = 3
PAIRED = 5
limit: Any = upstream_limit + FACTOR
sizes = {**upstream_sizes, "b": FACTOR}
text = """
  not
    code
"""


def helper(value):
    """Multiply."""
    return value * FACTOR


def plain(a, b=FACTOR):
    return helper(a) + b


def calling_upstream(a, b=1):
    return upstream_plain(a, b) + 1


def typed(a: Sequence[int] | int, b: Config = 1) -> Sequence[int]:
    return [a, b]


def recursive(a, b=1):
    return recursive(a - 1, b) if a > 0 else b


def using_alias(a, b=1):
    return upstream_joined(str(a + b))


def using_module(a, b=1):
    return lib.joined(str(a + b))


def marked() -> Any:
    return json.dumps("body")


def cached(a):
    return [a, FACTOR]


def context():
    yield text


async def later():
    return OrderedDict(a=1)["a"]


def counting():
    yield basename("a/b")


def joined(a, separator=os.sep):
    return separator.join([a, deep(1), text_tools.digits])


def method(self, *args):
    return ("method", args)


def calling_super(self):
    return super(Worker, self).greet() + " body"


def getter(self):
    return 100


def builder(cls, size):
    return cls(size + 1)


def fixed(a):
    return ("body", a)


alias = fixed
short = lambda a: [a, FACTOR]


class Holder:
    @property
    def width(self):
        return 200

    def extra(self):
        return self.size

    @staticmethod
    def still(a):
        return a


class Plain(Worker):
    """`Worker`, patched."""

    SCALE = 4
    NEW = [FACTOR]

    def run(self, x):
        return helper(x) * self.SCALE, isinstance(self, Worker)

    def inherited(self):
        return super().inherited() + " plain"

    @property
    def width(self):
        return 300

    @classmethod
    def made(cls, size) -> Any:
        return Plain(size), cls.__mro__[-1]

    def extra(self, other: Plain | None = None) -> Worker:
        return self.size, other

    async def awaited(self):
        return text


class Calling(Worker):
    def run(self, x):
        return super().run(x) + 1


class Initialized(Worker):
    def __init__(self, size):
        super().__init__(size)
        self.more = FACTOR


class Secretive(Worker):
    __secret = "body"

    def reveal(self):
        return self.__secret


class ByModule(lib.Worker):
    def greet(self):
        return "by module"


class Meta(type):
    pass


class WithMeta(Worker, metaclass=Meta):
    pass


class Undecorated(Config):
    size = 3
    more: int = 1

    def shown(self):
        return "undecorated"


class OnlyMethods(Config):
    def shown(self):
        return f"only methods {self.size}"


@dataclass
class Decorated(Config):
    more: int = FACTOR

    def shown(self):
        return f"decorated {self.more}"


class Roomy(Slotted):
    def get(self):
        self.b = 2
        return self.b


class Unrelated:
    def __init__(self, size):
        self.size = size

    def run(self, x):
        return ("unrelated", x)
