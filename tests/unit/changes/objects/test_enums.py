from __future__ import annotations

import copy
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changes.kinds import Bench
from patchkit import Add, Replace, Wrap
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """
import enum
class Color(enum.Enum):
    RED = 'red'
    GREEN = 'green'
    ROSE = 'red'
    def shout(self): return self.value.upper()
class Number(enum.IntEnum):
    ONE = 1
    TWO = 2
class Text(str, enum.Enum):
    A = 'a'
class Perm(enum.Flag):
    R = 1
    W = 2
    RW = 3
class Mask(enum.IntFlag):
    R = 1
class Planet(enum.Enum):
    EARTH = (1, 2)
    def __init__(self, mass, radius): self.mass, self.radius = mass, radius
class Numbered(enum.Enum):
    def __new__(cls, label):
        member = object.__new__(cls)
        member._value_ = len(cls.__members__) + 1
        member.label = label
        return member
    FIRST = 'first'
class Lists(enum.Enum):
    A = [1]
Pair = enum.Enum('Pair', {'A': (1, 2)})
"""
BODY = """
import enum
purple, red, three, four, pair, rest = 'purple', 'red', 3, 4, (3, 4), [2]
auto = enum.auto()
def helper(self): return ('helped', self.name)
def by(wrapped, instance, args, kwargs): return wrapped() + '!'
"""
ENUMS = ("Color", "Number", "Text", "Perm", "Mask", "Planet", "Numbered", "Lists", "Pair")


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(UPSTREAM, BODY)
    made.upstream.Pair.__module__ = "upstream"
    sys.modules["upstream"] = made.upstream
    yield made
    del sys.modules["upstream"]


def add(bench: Bench, target: str, by: str) -> Any:
    return bench.apply(Add(f"upstream:{target}", by=by))


def replace(bench: Bench, target: str, by: str, **more: Any) -> Any:
    return bench.apply(Replace(f"upstream:{target}", by=by, **more))


def copied(table: Any) -> Any:
    """A copy, of the lists inside as well."""
    if isinstance(table, list):
        return list(table)
    return {key: list(one) if type(one) is list else one for key, one in table.items()}


def picture(owner: Any) -> Any:
    """All that an enum knows of its members, by identity."""
    tables = {
        name: copied(value) if isinstance(value, (list, dict)) else value
        for name, value in vars(owner).items()
    }
    members = [(name, id(one), one._value_, one._name_) for name, one in owner._member_map_.items()]
    return tables, members, list(owner), [id(one) for one in owner._value2member_map_.values()]


def found(owner: Any, value: Any) -> Any:
    """The member with a value, or None; combined bits may have it where none is named so."""
    try:
        return owner(value)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("target", "by", "value"),
    [
        ("Color.PURPLE", "purple", "purple"),
        ("Color['PURPLE']", "purple", "purple"),
        ("Number.PURPLE", "three", 3),
        ("Number.PURPLE", "auto", 3),
        ("Text.PURPLE", "purple", "purple"),
        ("Perm.PURPLE", "four", 4),
        ("Perm.PURPLE", "auto", 4),
        ("Mask.PURPLE", "four", 4),
        ("Planet.PURPLE", "pair", (3, 4)),
        ("Numbered.PURPLE", "purple", 2),
        ("Lists.PURPLE", "rest", [2]),
        ("Pair.PURPLE", "pair", (3, 4)),
    ],
)
def test_a_new_member_is_like_the_others(bench: Bench, target: str, by: str, value: Any) -> None:
    """It is found by name and value, iterated, counted, pickled and copied, and goes by undo."""
    owner = getattr(bench.upstream, target.partition(".")[0].partition("[")[0])
    before, length = picture(owner), len(owner)
    undo = add(bench, target, by)
    member = owner.PURPLE
    assert (type(member), member.name, member.value) == (owner, "PURPLE", value)
    assert owner(value) is owner["PURPLE"] is member
    assert list(owner)[-1] is next(reversed(owner)) is member
    assert len(owner) == length + 1
    assert member in owner
    assert owner.__members__["PURPLE"] is member
    assert {member: 1}[owner(value)] == 1
    assert pickle.loads(pickle.dumps(member)) is copy.deepcopy(member) is member
    assert "PURPLE" in repr(member)
    undo()
    undo()
    assert picture(owner) == before
    assert not hasattr(owner, "PURPLE")


def test_members_with_constructors(bench: Bench) -> None:
    """A constructor of the class runs for the new member as for the others."""
    add(bench, "Planet.MARS", "pair")
    add(bench, "Numbered.SECOND", "purple")
    assert (bench.upstream.Planet.MARS.mass, bench.upstream.Numbered.SECOND.label) == (3, "purple")
    assert bench.upstream.Number.ONE + 1 == 2


def test_a_value_that_is_there_makes_an_alias(bench: Bench) -> None:
    """The name is one more of the same member, and undo takes the name alone."""
    owner = bench.upstream.Color
    before = picture(owner)
    undo = add(bench, "Color.SCARLET", "red")
    assert owner.SCARLET is owner["SCARLET"] is owner.RED
    assert [one.name for one in owner] == ["RED", "GREEN"]
    undo()
    assert picture(owner) == before


def test_bits_of_a_flag(bench: Bench) -> None:
    """The new bit combines, inverts and iterates, and what was combined before knows of it."""
    perm = bench.upstream.Perm
    before = ~perm.R
    undo = add(bench, "Perm.X", "four")
    assert perm(7) == perm.RW | perm.X
    assert perm.X in ~perm.R
    assert ~perm.X == perm.RW
    assert ~perm.RW is perm.X
    undo()
    assert ~perm.R == before == perm.W
    with pytest.raises(ValueError, match="4"):
        perm(4)


def test_a_bit_that_was_combined_before(bench: Bench) -> None:
    """An IntFlag that had met the number without a name gets the member, and its old one back."""
    mask = bench.upstream.Mask
    unnamed = mask(4)
    undo = add(bench, "Mask.X", "four")
    assert mask(4) is mask.X
    assert mask(4) is not unnamed
    undo()
    assert mask(4) is unnamed


def test_what_an_enum_makes_no_member_of(bench: Bench) -> None:
    """A function becomes a method, as in the class's body."""
    undo = add(bench, "Color.helper", "helper")
    assert bench.upstream.Color.RED.helper() == ("helped", "RED")
    assert len(bench.upstream.Color) == 2
    undo()
    assert not hasattr(bench.upstream.Color, "helper")


@pytest.mark.parametrize("target", ["Color.RED", "Color['RED']", "Color.shout", "Color.name"])
def test_what_is_there_is_refused(bench: Bench, target: str) -> None:
    """A member, a method and what every member has cannot be added."""
    with pytest.raises(TargetError, match="has it"):
        add(bench, target, "purple")


def test_a_value_that_the_enum_cannot_take(bench: Bench) -> None:
    """The error names the enum and the value, and nothing is changed."""
    before = picture(bench.upstream.Number)
    with pytest.raises(TargetError, match="Number takes no value 'purple'"):
        add(bench, "Number.PURPLE", "purple")
    assert picture(bench.upstream.Number) == before


@pytest.mark.parametrize(
    ("target", "by", "value"),
    [
        ("Color.RED", "purple", "purple"),
        ("Color['RED']", "purple", "purple"),
        ("Perm.W", "four", 4),
        ("Lists.A", "rest", [2]),
        ("Lists.A", "purple", "purple"),
        ("Color.RED", "rest", [2]),
    ],
)
def test_a_members_value_is_changed_in_place(
    bench: Bench, target: str, by: str, value: Any
) -> None:
    """The member stays the same object with the same hash; only its value is another."""
    owner = getattr(bench.upstream, target.partition(".")[0].partition("[")[0])
    name = target.rpartition(".")[2] if "." in target else "RED"
    member, before = owner[name], picture(owner)
    old, hashed = member.value, hash(member)
    undo = replace(bench, target, by)
    assert getattr(owner, name) is owner[name] is owner(value) is member
    assert (member.value, hash(member)) == (value, hashed)
    assert pickle.loads(pickle.dumps(member)) is member
    assert found(owner, old) is not member
    undo()
    assert owner(old) is member
    assert picture(owner)[:3] == before[:3]


def test_aliases_follow_their_member(bench: Bench) -> None:
    """Another name of a changed member has its value, and cannot be given one of its own."""
    replace(bench, "Color.RED", "purple")
    assert bench.upstream.Color.ROSE.value == "purple"
    with pytest.raises(TargetError, match=r"ROSE is another name of .*; name RED"):
        replace(bench, "Color.ROSE", "three")


def test_a_value_that_another_member_has(bench: Bench) -> None:
    """Two members cannot have one value."""
    with pytest.raises(TargetError, match=r"RED.* has the value 'red'"):
        replace(bench, "Color.GREEN", "red")


@pytest.mark.parametrize(
    ("target", "by", "value"),
    [("Number.TWO", "four", 4), ("Text.A", "purple", "purple"), ("Planet.EARTH", "pair", (3, 4))],
)
def test_a_member_that_is_made_from_its_value(
    bench: Bench, target: str, by: str, value: Any
) -> None:
    """It cannot stay the same object: refused, and with `unrelated` a new one takes its place."""
    name, _, member = target.partition(".")
    owner = getattr(bench.upstream, name)
    before = picture(owner)
    with pytest.raises(TargetError, match="unrelated=True puts a new one"):
        replace(bench, target, by)
    undo = replace(bench, target, by, unrelated=True)
    assert owner(value) is owner[member] is getattr(owner, member)
    assert [one.name for one in owner] == [entry[0] for entry in before[1]]
    if issubclass(owner, (int, str)):
        assert owner[member] == value
    undo()
    assert picture(owner)[:3] == before[:3]


def test_methods_as_usual(bench: Bench) -> None:
    """A method of an enum is wrapped like any other."""
    undo = bench.apply(Wrap("upstream:Color.shout", by="by"))
    assert bench.upstream.Color.RED.shout() == "RED!"
    undo()
    assert bench.upstream.Color.RED.shout() == "RED"


STEPS = st.lists(st.tuples(st.sampled_from(["add", "change", "undo"]), st.integers(0, 5)))


@given(steps=STEPS)
def test_any_order_of_coming_and_going(steps: list[tuple[str, int]]) -> None:
    """Members that were added and changed, and taken back in any order, leave all as it was."""
    bench = Bench(UPSTREAM, "\n".join(f"v{number} = {2**number}" for number in range(14)))
    perm = bench.upstream.Perm
    before = picture(perm)
    undos: list[Any] = []
    for what, number in steps:
        taken = {one.value for one in perm.__members__.values()}
        if what == "undo" and undos:
            undos.pop(number % len(undos))()
        elif what == "add" and 2 ** (number + 2) not in taken:
            undos.append(add(bench, f"Perm.N{number}", f"v{number + 2}"))
        elif what == "change" and 2 ** (number + 8) not in taken:
            undos.append(replace(bench, "Perm.W", f"v{number + 8}"))
        for one in perm.__members__.values():
            assert perm(one.value) is one
            assert one not in ~one
        assert perm(perm.R.value | perm.W.value) == perm.R | perm.W
    for undo in undos:
        undo()
    after = picture(perm)
    assert after[1:3] == before[1:3]
    kept = [name for name in before[0] if name.endswith(("_mask_", "_bits_", "_names_", "_map_"))]
    assert [after[0][name] for name in kept if "value2" not in name] == [
        before[0][name] for name in kept if "value2" not in name
    ]
