from typing import TYPE_CHECKING
import os.path
from json import loads as read, dumps

if TYPE_CHECKING:
    from json import JSONDecoder

LIMIT: int = 3
DECLARED: int
first, (second, third) = 1, (2, 3)
text = [letter for letter in "abc"]


class Plain:
    size = 1

    async def run(self): ...

    class Inner:
        def deep(self): ...

    def start(self):
        self.started = True


class Derived(Plain):
    own = 1


@register
class Decorated:
    own = 1


class Sometimes:
    if os.name == "posix":

        def here(self): ...


class Patched: ...


Patched.extra = 1

try:
    import fast
except ImportError:
    fast = None


class Twice: ...


Twice = wrap(Twice)


def helper():
    global late
    late = 1

    def nested(): ...


gone = 1
del gone
