"""What msgspec has read off a dataclass is read anew once a field comes or goes, or it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from support import packages
from support.packages import World, row
from support.undoing import undo as undo_all

from patchkit import AddField, Replace
from runtime.changes.fields.groups import Upstream, upstream_of
from runtime.copies.bound import MAIN, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

world = packages.world
UPSTREAM = """
import typing
import msgspec
from dataclasses import dataclass, field
@dataclass
class Read:
    a: int = 1
class Heir(Read): ...
@dataclass
class Outer:
    read: Read
class Typed(typing.TypedDict):
    read: Read
class Pair(typing.NamedTuple):
    read: Read
@dataclass
class Outermost:
    typed: Typed
    pair: Pair
T = typing.TypeVar("T")
@dataclass
class Generic(Read, typing.Generic[T]): ...
Alias = Generic[int]
@dataclass
class Box(typing.Generic[T]):
    read: T
Boxed = Box[Read]
BoxedTwice = Box[Box[Read]]
class StructBox(msgspec.Struct, typing.Generic[T]):
    read: T
StructBoxed = StructBox[Read]
"""
NESTED: dict[str, Callable[[Any], Any]] = {
    "Read": lambda inner: inner,
    "Heir": lambda inner: inner,
    "Outer": lambda inner: {"read": inner},
    "Typed": lambda inner: {"read": inner},
    "Pair": lambda inner: [inner],
    "Outermost": lambda inner: {"typed": {"read": inner}, "pair": [inner]},
    "Alias": lambda inner: inner,
    "Boxed": lambda inner: {"read": inner},
    "BoxedTwice": lambda inner: {"read": {"read": inner}},
    "StructBoxed": lambda inner: {"read": inner},
}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    yield from upstream_of(UPSTREAM)


def _read(upstream: Upstream, name: str, **values: int) -> Any:
    """Convert values into a class; return what is innermost."""
    made: Any = msgspec.convert(NESTED[name](values), getattr(upstream.module, name))
    if name == "Outermost":
        made = made.pair
    if name == "Typed":
        return made["read"]
    while hasattr(made, "read"):
        made = made.read
    return made


@pytest.mark.parametrize("name", NESTED)
def test_a_field_that_comes_and_goes(upstream: Upstream, name: str) -> None:
    """A field is taken by what was read before the patch, too, and no more after it."""
    assert not hasattr(_read(upstream, name, added=3), "added")
    undo = upstream.apply(AddField("upstream:Read", "added", "int", default=7))
    assert _read(upstream, name, added=3).added == 3
    assert _read(upstream, name).added == 7
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(NESTED[name]({"added": "3"}), getattr(upstream.module, name))
    undo()
    assert not hasattr(_read(upstream, name, added=3), "added")


def test_a_default_that_is_replaced(upstream: Upstream) -> None:
    """A field's replaced default is what msgspec fills in, and the original after the undo."""
    assert _read(upstream, "Outer").a == 1
    upstream.body.two = 2
    undo = upstream.apply(Replace("upstream:Read.a", by="two"))
    assert _read(upstream, "Outer").a == 2
    undo()
    assert _read(upstream, "Outer").a == 1


CHANGE = "AddField('up.config:Read', 'added', 'int', default=7)"
KEEPING = """
from dataclasses import dataclass
import msgspec
from up.config import Read
class Struct(msgspec.Struct):
    read: Read
class Custom: ...
class Around(msgspec.Struct):
    customs: list[Custom] = []
    struct: Struct | None = None
@dataclass
class Outer:
    around: Around
DECODER = msgspec.json.Decoder(list[Read])
PACKED = msgspec.msgpack.Decoder(Read)
OTHER = msgspec.json.Decoder(list[int])
AROUND = msgspec.json.Decoder(Around)
OUTER = msgspec.json.Decoder(list[Outer])
msgspec.convert({'struct': {'read': {}}}, Around)
"""
STRUCTS = b'{"struct": {"read": {"added": 3}}}'


def test_what_keeps_what_was_read(world: World) -> None:
    """Decoders and structs that were compiled before the patch are named in the journal."""
    world.module("up.config", UPSTREAM)
    world.module("up.user", KEEPING)
    world.pack(row("one", "patch_a", CHANGE), patch_a="")
    (user,) = load("up.user")
    session = world.session()
    session.arm(MAIN)
    assert "added" not in vars(user.DECODER.decode(b'[{"added": 3}]')[0])
    assert "added" not in vars(user.AROUND.decode(STRUCTS).struct.read)
    assert sorted(session.journal.entries[-1]["out_of_reach"]) == [
        "msgspec.json.Decoder(<class 'up.user.Around'>)",
        "msgspec.json.Decoder(list[up.config.Read])",
        "msgspec.json.Decoder(list[up.user.Outer])",
        "msgspec.msgpack.Decoder(<class 'up.config.Read'>)",
        "up.user:Around (read by msgspec)",
        "up.user:Struct (read by msgspec)",
    ]
    undo_all(session)
    assert msgspec.json.decode(b"{}", type=user.Read) == user.Read()
