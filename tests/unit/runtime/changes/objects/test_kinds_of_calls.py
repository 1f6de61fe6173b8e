"""A function whose calls return another kind of thing than the original's is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from analysis.check.released import checked, codes, no_own_packs, subject
from support.packages import row, world

from patchkit import Replace
from patchkit.errors import TargetError
from runtime.changes.kinds import Bench

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]

KINDS = {
    "def {name}(*args): return 1": "its result",
    "async def {name}(*args): return 1": "a coroutine",
    "def {name}(*args): yield 1": "a generator",
    "async def {name}(*args): yield 1": "an asynchronous generator",
}
OPEN = (
    "from typing import Awaitable\ndef {name}(*args) -> Awaitable[int]: return 1",
    "def {name}(*args) -> 'Iterator[int]': return 1",
    "import abc\n@abc.abstractmethod\ndef {name}(*args): ...",
    "def {name}(*args): raise NotImplementedError",
    "def inner(*args): ...\n"
    "import functools\n@functools.wraps(inner)\ndef {name}(*args): return 1",
)
"""Plain functions that may return any of these."""

PLACES = {
    "function": ("{source}", "up.mod:f"),
    "method": ("class C:\n{indented}", "up.mod:C.f"),
    "static": ("class C:\n    @staticmethod\n{indented}", "up.mod:C.f"),
    "class": ("class C:\n    @classmethod\n{indented}", "up.mod:C.f"),
}


def verdicts(
    world: World, upstream: str, body: str, target: str, more: str = ""
) -> list[bool]:
    """Whether `check` finds a change broken, and whether it is refused at run time."""
    change = f"Replace({target!r}, by='g'{more})"
    world.pack(row("p", "patch_a", change), patch_a=body)
    report = checked([subject("1.0", mod=upstream)])
    broken = "PK102" in codes(report)
    bench = Bench(upstream, body)
    bench.upstream.__name__ = "up.mod"
    is_refused = False
    try:
        bench.apply(Replace(target, by="g", unrelated=bool(more)))
    except TargetError as error:
        is_refused = "g returns" in str(error)
    return [broken, is_refused]


@pytest.fixture(autouse=True)
def _only_the_tests_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    no_own_packs(monkeypatch)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ours", KINDS)
@pytest.mark.parametrize("theirs", KINDS)
def test_a_function_of_another_kind_is_refused(
    world: World, theirs: str, ours: str, place: str
) -> None:
    """`check` and the run time agree: each kind stands for itself alone."""
    source = theirs.format(name="f")
    template, target = PLACES[place]
    upstream = template.format(source=source, indented="    " + source)
    differs = theirs != ours
    assert verdicts(world, upstream, ours.format(name="g"), target) == [
        differs,
        differs,
    ]


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("plain", OPEN)
def test_a_plain_function_that_may_return_any_kind(
    world: World, plain: str, other: str
) -> None:
    """What is to be overridden, is annotated or decorated is not judged, on either side."""
    theirs, ours = plain.format(name="f"), other.format(name="g")
    assert verdicts(world, theirs, ours, "up.mod:f") == [False, False]
    theirs, ours = other.format(name="f"), plain.format(name="g")
    assert verdicts(world, theirs, ours, "up.mod:f") == [False, False]


def test_unrelated_allows_another_kind(world: World) -> None:
    """With `unrelated=True` nothing is compared."""
    theirs, ours = "async def f(): ...", "def g(): ..."
    assert verdicts(world, theirs, ours, "up.mod:f", ", unrelated=True") == [
        False,
        False,
    ]
