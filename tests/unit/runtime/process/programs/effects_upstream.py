import functools, dataclasses

LIMIT = 3


def function():
    return "old"


def other():
    return "old"


async def coroutine():
    return "old"


class Thing:
    def __init__(self):
        self.made = True

    def method(self):
        return "old"

    @property
    def size(self):
        return 1

    @staticmethod
    def plain():
        return "old"


class Bare:
    def method(self):
        return "old"


@dataclasses.dataclass
class Options:
    one: int = 1
