"""Targets: `module:qualname`, in which items of containers can be named."""

import re
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from patchkit.core.record import Record

_STEP = r"\.?(?P<name>[^\W\d]\w*)|\[(?P<item>[^\]]+)\]"


class Item(NamedTuple):
    """A key of a mapping, or an index of a list, as the last or a middle step of a qualname."""

    key: object

    def __str__(self) -> str:
        return f"[{self.key!r}]"


TargetStep = str | Item


class Target(Record):
    """A module and a dotted name in it ('' for itself), with items: `pkg.table:ROWS['key'][0]`."""

    module: str
    qualname: str = ""

    @classmethod
    @lru_cache(maxsize=4096)  # a change asks for its place again and again
    def parse(cls, text: str) -> "Target":
        """Read `module:qualname` or `module`; raise ValueError for anything else."""
        module, colon, qualname = text.partition(":")
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(text)
        if colon:
            steps_of(qualname)
        return cls(module, qualname)

    def __hash__(self) -> int:  # a `fit` asks for it a hundred thousand times
        return hash((self.module, self.qualname))

    @property
    def steps(self) -> tuple[TargetStep, ...]:
        """The qualname, taken apart; () for a module."""
        return steps_of(self.qualname) if self.qualname else ()

    @property
    def holder(self) -> "Target":
        """What holds it: a class, a container, its module."""
        *around, last = self.steps
        size = len(str(last)) if isinstance(last, Item) else len(last) + 1
        return Target(self.module, self.qualname[:-size] if around else "")

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}" if self.qualname else self.module


@lru_cache(maxsize=4096)
def steps_of(qualname: str) -> tuple[TargetStep, ...]:
    """Take a qualname apart: names, and items of containers; raise ValueError if it is none."""
    if "[" not in qualname:
        names = tuple(map(intern, qualname.split(".")))  # one string each, however often it is set
        if not all(name.isidentifier() for name in names):
            raise ValueError(qualname)
        return names
    return tuple(_parse_items(qualname))


def _parse_items(qualname: str) -> list[TargetStep]:
    from ast import literal_eval  # noqa: PLC0415 - few rows name an item, and it takes 5 ms

    step, steps = re.compile(_STEP), list[TargetStep]()
    at = 0
    while at < len(qualname):
        match = step.match(qualname, at)
        if match is None or match[0].startswith(("[", ".")) is (at == 0):
            raise ValueError(qualname)
        name, item = match["name"], match["item"]
        try:
            steps.append(name if item is None else Item(literal_eval(item)))
        except SyntaxError as error:
            raise ValueError(qualname) from error
        at = match.end()
    return steps
