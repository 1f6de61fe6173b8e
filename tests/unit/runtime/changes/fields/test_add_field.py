from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import pickle
import typing
from typing import TYPE_CHECKING, Any

import pytest
from support.programs import program

from patchkit import AddField, Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.fields.groups import Upstream, assert_same, held, upstream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = program(__file__, "dataclasses_of_upstream")
BODY = """
class Stats:
    def __eq__(self, other): return isinstance(other, Stats)
def by(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)
def no_init(self, ids): self.ids = ids
"""
OUTPUT = "upstream:Output"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    yield from upstream_of(UPSTREAM, BODY)


def test_the_class_stays_the_same_object(upstream: Upstream) -> None:
    """Aliases, subclasses, `isinstance` and what was made earlier go on."""
    cls, old = upstream.module.Output, upstream.module.Output([1])
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    new = cls([1], extra=4)
    assert upstream.module.Output is cls
    assert isinstance(new, cls)
    assert isinstance(old, cls)
    assert (new.extra, cls([1]).extra, new.total()) == (4, 3, 1)


def test_the_field_is_by_keyword_only(upstream: Upstream) -> None:
    """Callers by position, `match` and the order of a subclass's fields are as before."""
    names = [one.name for one in dataclasses.fields(upstream.module.Derived)]
    patterns = upstream.module.Derived.__match_args__
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    derived = upstream.module.Derived([1], 0.1, 2)
    assert (derived.score, derived.more, derived.extra) == (0.1, 2, 3)
    assert upstream.module.Derived.__match_args__ == patterns
    rest = [one.name for one in dataclasses.fields(derived) if one.name != "extra"]
    assert rest == names
    with pytest.raises(TypeError, match="positional"):
        upstream.module.Output([1], 0.1, 2)


def test_instances_made_earlier_read_the_default(upstream: Upstream) -> None:
    """They have no such attribute of their own; a mutable default is copied for each."""
    one, other = upstream.module.Output([1]), upstream.module.Output([1])
    upstream.apply(
        AddField(OUTPUT, "extra", "int", 3), AddField(OUTPUT, "many", "list", [0])
    )
    one.many.append(1)
    assert (one.extra, one.many, other.many) == (3, [0, 1], [0])
    assert dataclasses.asdict(other) == {
        "ids": [1],
        "score": 0.5,
        "extra": 3,
        "many": [0],
    }
    assert upstream.module.Output([1], many=[0]) == other


def test_a_mutable_default_is_each_instances_own(upstream: Upstream) -> None:
    """Neither another instance nor the row's own object sees a change."""
    default: dict[str, list[int]] = {"a": []}
    upstream.apply(AddField(OUTPUT, "extra", "dict", default))
    one, other = upstream.module.Output([1]), upstream.module.Output([1])
    one.extra["a"].append(1)
    assert (other.extra, default) == ({"a": []}, {"a": []})
    assert not hasattr(upstream.module.Output, "extra")


def test_copies_and_pickles_have_the_field(upstream: Upstream) -> None:
    """`deepcopy`, `replace` and pickle; a pickle made before the patch is read after it."""
    early = pickle.dumps(upstream.module.Output([1]))
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    new = upstream.module.Output([1], extra=[4])
    assert copy.deepcopy(new) == new == pickle.loads(pickle.dumps(new))
    assert dataclasses.replace(new, extra=5).extra == 5
    assert pickle.loads(early).extra == 3


def test_the_type_is_read_with_the_names_of_the_module_and_of_the_body(
    upstream: Upstream,
) -> None:
    """A text or a type; `get_type_hints` and the signature know it."""
    upstream.apply(
        AddField(OUTPUT, "colour", "Colour | None", None),
        AddField(OUTPUT, "stats", "Stats | None", None),
        AddField(OUTPUT, "number", float, 0.5),
    )
    cls = upstream.module.Output
    expected = {
        "colour": upstream.module.Colour | None,
        "stats": upstream.body.Stats | None,
        "number": float,
    }
    hints = typing.get_type_hints(cls)
    assert {name: hints[name] for name in expected} == expected
    parameters = inspect.signature(cls).parameters
    assert {name: parameters[name].annotation for name in expected} == expected


@pytest.mark.parametrize("name", ["Output", "Derived", "Undecorated"])
def test_subclasses_get_it(upstream: Upstream, name: str) -> None:
    """Dataclasses have it in their own fields, plain subclasses inherit all."""
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    thing = getattr(upstream.module, name)([1], extra=4)
    assert thing.extra == 4
    assert "extra=4" in repr(thing)
    assert "extra" in [one.name for one in dataclasses.fields(thing)]


def test_what_a_subclass_has_itself_stays(upstream: Upstream) -> None:
    """A field of the same name, and an `__init__` that somebody wrote."""
    own, init = upstream.module.OwnField, vars(upstream.module.OwnInit)["__init__"]
    before = held(own)
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    assert_same(before, held(own))
    assert own([1]).extra == "own"
    assert vars(upstream.module.OwnInit)["__init__"] is init
    assert upstream.module.OwnInit([1]).extra == 3


def test_a_repr_by_hand_is_kept(upstream: Upstream) -> None:
    """Also one that is guarded against recursion like the decorator's."""
    upstream.apply(AddField("upstream:Recursive", "extra", "int", 3))
    assert repr(upstream.module.Recursive(extra=4)) == "by hand"


def test_a_frozen_class_stays_frozen(upstream: Upstream) -> None:
    """Nobody can set the new field, and it counts for equality and hash."""
    upstream.apply(AddField("upstream:Frozen", "extra", "int", 3))
    frozen = upstream.module.Frozen
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen().extra = 4
    assert len({frozen(), frozen(extra=3), frozen(extra=4)}) == 2


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("HandMade", "HandMade has no __init__ that the decorator generated"),
        ("NoInit", "NoInit has no __init__ that the decorator generated"),
        ("Slotted", "Slotted keeps its fields in __slots__"),
        (
            "Plain",
            "found the class Plain, expected a dataclass or a pydantic dataclass",
        ),
        (
            "Undecorated",
            "found the class Undecorated, an undecorated subclass of Output",
        ),
        ("Tuple", "found the class Tuple"),
        ("function", "found <function function"),
        ("missing", "missing"),
    ],
)
def test_what_cannot_get_a_field_is_told(
    upstream: Upstream, target: str, told: str
) -> None:
    """The error says what the target is, and nothing is changed."""
    with pytest.raises(TargetError, match=told):
        upstream.apply(AddField(f"upstream:{target}", "extra", "int", 3))


def test_a_struct_is_refused(upstream: Upstream) -> None:
    """Msgspec keeps the fields of a struct in slots, which cannot grow."""
    upstream.module.Struct = type("Struct", (), {"__struct_fields__": ("number",)})
    with pytest.raises(
        TargetError, match="found the class Struct, expected a dataclass"
    ):
        upstream.apply(AddField("upstream:Struct", "extra", "int", 3))


@pytest.mark.parametrize("name", ["score", "total", "ids", "more"])
def test_a_field_that_is_there_by_now_is_refused(upstream: Upstream, name: str) -> None:
    """Own or inherited, a field or any other attribute: upstream has moved."""
    with pytest.raises(TargetError, match=f"has (a field )?'{name}' already"):
        upstream.apply(AddField("upstream:Derived", name, "int", 3))


def test_the_same_field_twice_is_refused(upstream: Upstream) -> None:
    """By another patch, and by another change of the same group, which changes nothing then."""
    twice = (AddField(OUTPUT, "extra", "int", 3), AddField(OUTPUT, "extra", "int", 4))
    before = held(upstream.module.Output, upstream.module.Derived)
    with pytest.raises(TargetError, match="already"):
        upstream.apply(*twice)
    assert_same(before, held(upstream.module.Output, upstream.module.Derived))
    upstream.apply(twice[0])
    with pytest.raises(TargetError, match="already"):
        upstream.apply(twice[1])


@pytest.mark.parametrize("name", ["", "not a name", "class", "__secret"])
def test_what_is_no_name_is_refused(upstream: Upstream, name: str) -> None:
    with pytest.raises(TargetError, match="expected a name for a field"):
        upstream.apply(AddField(OUTPUT, name, "int", 3))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("Missing", "NameError.*names of upstream or of the body"),
        ("int |", "SyntaxError"),
        ("typing.ClassVar[int]", "expected that of a field with a value"),
        ("dc.InitVar[int]", "expected that of a field with a value"),
    ],
)
def test_a_type_that_is_none_is_refused(
    upstream: Upstream, given: str, told: str
) -> None:
    """The text, what is wrong with it, and where its names may come from."""
    with pytest.raises(TargetError, match=told):
        upstream.apply(AddField(OUTPUT, "extra", given, 3))


FIELDS = (("one", "int", 1), ("two", "list", [2]), ("three", "str", "3"))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_any_order_of_undo(upstream: Upstream, order: tuple[int, ...]) -> None:
    """Three patches give one class fields; what is left is there, and at last the very objects."""
    classes: Any = (
        upstream.module.Output,
        upstream.module.Derived,
        upstream.module.OwnInit,
    )
    before = held(*classes)
    undos = [upstream.apply(AddField(OUTPUT, *field)) for field in FIELDS]
    left = [field[0] for field in FIELDS]
    for at in order:
        undos[at]()
        left.remove(FIELDS[at][0])
        for cls in classes:
            names = [one.name for one in dataclasses.fields(cls)]
            assert [name for name in names if name in {"one", "two", "three"}] == left
        given = dict.fromkeys(left, 9)
        assert vars(upstream.module.Derived([], **given)).items() >= given.items()
    assert_same(before, held(*classes))


def test_undo_again_changes_nothing(upstream: Upstream) -> None:
    """The second time there is nothing to take back."""
    before = held(upstream.module.Output)
    undo = upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    undo()
    undo()
    assert_same(before, held(upstream.module.Output))


def test_fields_of_a_base_and_of_a_subclass(upstream: Upstream) -> None:
    """Both by patches: the order is that of classes that were written so, whichever came first."""
    before = held(upstream.module.Output, upstream.module.Derived)
    undo_late = upstream.apply(AddField("upstream:Derived", "late", "int", 1))
    undo_early = upstream.apply(AddField(OUTPUT, "early", "int", 2))
    names = [one.name for one in dataclasses.fields(upstream.module.Derived)]
    assert names == ["ids", "score", "early", "more", "late"]
    undo_late()
    undo_early()
    assert_same(before, held(upstream.module.Output, upstream.module.Derived))


@pytest.mark.parametrize("wrapped_first", [True, False])
def test_a_wrapped_init_takes_the_field(
    upstream: Upstream, wrapped_first: bool
) -> None:
    """The wrapper stays outside, and sees the field."""
    changes = [
        Wrap("upstream:Output.__init__", by="by"),
        AddField(OUTPUT, "extra", "int", 3),
    ]
    before = held(upstream.module.Output)
    undos = [
        upstream.apply(change)
        for change in (changes if wrapped_first else changes[::-1])
    ]
    assert upstream.module.Output([1], extra=4).extra == 4
    assert "extra" in inspect.signature(upstream.module.Output).parameters
    for undo in undos:
        undo()
    assert_same(before, held(upstream.module.Output))


def test_a_replaced_init_wins(upstream: Upstream) -> None:
    """Who replaces the `__init__` decides what can be passed; the default is still to be read."""
    change = Replace("upstream:Output.__init__", by="no_init", unrelated=True)
    upstream.apply(change)
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    assert vars(upstream.module.Output([1])) == {"ids": [1]}
    assert upstream.module.Output([1]).extra == 3


def test_a_refusal_half_way_changes_nothing() -> None:
    """A class that lets nobody set a method gets its fields back."""
    made = Upstream(
        """
import dataclasses as dc
class Guarded(type):
    def __setattr__(cls, name, value):
        if name == '__eq__' and hasattr(cls, 'number') and '__eq__' in vars(cls):
            raise AttributeError('guarded')
        super().__setattr__(name, value)
@dc.dataclass
class Thing(metaclass=Guarded):
    number: int = 1
"""
    )
    before = held(made.module.Thing)
    with pytest.raises(AttributeError, match="guarded"):
        made.apply(AddField("upstream:Thing", "extra", "int", 3))
    assert_same(before, held(made.module.Thing))
