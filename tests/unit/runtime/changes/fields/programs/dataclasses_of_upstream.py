import dataclasses as dc
import enum
import reprlib
import typing


class Colour(enum.Enum):
    RED = 1


@dc.dataclass
class Output:
    ids: list
    score: float = 0.5

    def total(self):
        return len(self.ids)


@dc.dataclass
class Derived(Output):
    more: int = 1


class Undecorated(Output): ...


@dc.dataclass
class OwnField(Output):
    extra: str = "own"


@dc.dataclass
class OwnInit(Output):
    def __init__(self, ids):
        super().__init__(ids)


@dc.dataclass(frozen=True)
class Frozen:
    number: int = 1


@dc.dataclass
class Recursive:
    @reprlib.recursive_repr()
    def __repr__(self):
        return "by hand"


@dc.dataclass
class HandMade:
    number: int

    def __init__(self, number):
        self.number = number


@dc.dataclass(init=False)
class NoInit:
    number: int = 1


@dc.dataclass(slots=True)
class Slotted:
    number: int = 1


class Tuple(typing.NamedTuple):
    number: int


class Plain: ...


def function(): ...
