from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import pickle
import sys
import typing
from types import ModuleType
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
    """Its name, instances made earlier and `isinstance` go on as before."""
    cls = upstream.module.Output
    old = cls([1])
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    new = cls([1], extra=4)
    assert upstream.module.Output is cls
    assert isinstance(new, cls)
    assert isinstance(old, cls)
    assert new.extra == 4
    assert cls([1]).extra == 3
    assert new.total() == 1


def test_the_field_is_by_keyword_only(upstream: Upstream) -> None:
    """Callers by position, `match` and the order of a subclass's fields are as before."""
    names = [field.name for field in dataclasses.fields(upstream.module.Derived)]
    patterns = upstream.module.Derived.__match_args__
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    derived = upstream.module.Derived([1], 0.1, 2)
    assert (derived.score, derived.more, derived.extra) == (0.1, 2, 3)
    assert upstream.module.Derived.__match_args__ == patterns
    names_after = [field.name for field in dataclasses.fields(derived)]
    assert [name for name in names_after if name != "extra"] == names
    with pytest.raises(TypeError, match="positional"):
        upstream.module.Output([1], 0.1, 2)


def test_instances_made_earlier_read_the_default(upstream: Upstream) -> None:
    """They have no such attribute of their own; a mutable default is copied for each."""
    first = upstream.module.Output([1])
    second = upstream.module.Output([1])
    upstream.apply(
        AddField(OUTPUT, "extra", "int", 3), AddField(OUTPUT, "many", "list", [0])
    )
    first.many.append(1)
    assert first.extra == 3
    assert first.many == [0, 1]
    assert second.many == [0]
    assert dataclasses.asdict(second) == {
        "ids": [1],
        "score": 0.5,
        "extra": 3,
        "many": [0],
    }
    assert upstream.module.Output([1], many=[0]) == second


def test_a_mutable_default_is_each_instances_own(upstream: Upstream) -> None:
    """Neither another instance nor the row's own object sees a change."""
    default: dict[str, list[int]] = {"a": []}
    upstream.apply(AddField(OUTPUT, "extra", "dict", default))
    first = upstream.module.Output([1])
    second = upstream.module.Output([1])
    first.extra["a"].append(1)
    assert (second.extra, default) == ({"a": []}, {"a": []})
    assert not hasattr(upstream.module.Output, "extra")


def test_copies_and_pickles_have_the_field(upstream: Upstream) -> None:
    """`deepcopy`, `replace` and pickle keep it; a pickle made before the patch gets the default."""
    early = pickle.dumps(upstream.module.Output([1]))
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    new = upstream.module.Output([1], extra=[4])
    assert copy.deepcopy(new) == new == pickle.loads(pickle.dumps(new))
    assert dataclasses.replace(new, extra=5).extra == 5
    assert pickle.loads(early).extra == 3


def test_the_type_is_read_with_the_names_of_the_module_and_of_the_body(
    upstream: Upstream,
) -> None:
    """`get_type_hints` and the signature have the type, whether it was given as text or as type."""
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
def test_subclasses_get_the_field(upstream: Upstream, name: str) -> None:
    """Dataclasses have it in their own fields, plain subclasses inherit all."""
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    instance = getattr(upstream.module, name)([1], extra=4)
    assert instance.extra == 4
    assert "extra=4" in repr(instance)
    assert "extra" in [field.name for field in dataclasses.fields(instance)]


def test_what_a_subclass_has_itself_stays(upstream: Upstream) -> None:
    """A subclass keeps its own field of that name, or an `__init__` that somebody wrote."""
    own_field = upstream.module.OwnField
    own_init = vars(upstream.module.OwnInit)["__init__"]
    before = held(own_field)
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    assert_same(before, held(own_field))
    assert own_field([1]).extra == "own"
    assert vars(upstream.module.OwnInit)["__init__"] is own_init
    assert upstream.module.OwnInit([1]).extra == 3


def test_a_repr_by_hand_is_kept(upstream: Upstream) -> None:
    """A `__repr__` that somebody wrote stays, also one guarded by `recursive_repr`."""
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
    ("target", "message"),
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
def test_what_cannot_get_a_field_is_refused(
    upstream: Upstream, target: str, message: str
) -> None:
    """The error says what the target is, or what it lacks."""
    with pytest.raises(TargetError, match=message):
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
    """By another patch, or by another change of the same group, which then changes nothing."""
    changes = (AddField(OUTPUT, "extra", "int", 3), AddField(OUTPUT, "extra", "int", 4))
    before = held(upstream.module.Output, upstream.module.Derived)
    with pytest.raises(TargetError, match="already"):
        upstream.apply(*changes)
    assert_same(before, held(upstream.module.Output, upstream.module.Derived))
    upstream.apply(changes[0])
    with pytest.raises(TargetError, match="already"):
        upstream.apply(changes[1])


@pytest.mark.parametrize("name", ["", "not a name", "class", "__secret"])
def test_what_is_no_name_of_a_field_is_refused(upstream: Upstream, name: str) -> None:
    """A text that is no identifier, a keyword and a private name are refused."""
    with pytest.raises(TargetError, match="expected a name for a field"):
        upstream.apply(AddField(OUTPUT, name, "int", 3))


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("Missing", "NameError.*names of upstream or of the body"),
        ("int |", "SyntaxError"),
        ("typing.ClassVar[int]", "expected that of a field with a value"),
        ("dc.InitVar[int]", "expected that of a field with a value"),
    ],
)
def test_a_type_that_no_field_can_have_is_refused(
    upstream: Upstream, annotation: str, message: str
) -> None:
    """The error says what is wrong with the type, and where its names may come from."""
    with pytest.raises(TargetError, match=message):
        upstream.apply(AddField(OUTPUT, "extra", annotation, 3))


FIELDS = (("one", "int", 1), ("two", "list", [2]), ("three", "str", "3"))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_added_fields_come_off_in_any_order(
    upstream: Upstream, order: tuple[int, ...]
) -> None:
    """With each undo of three the class loses that field alone; at last it has the very objects."""
    classes: Any = (
        upstream.module.Output,
        upstream.module.Derived,
        upstream.module.OwnInit,
    )
    before = held(*classes)
    undos = [upstream.apply(AddField(OUTPUT, *field)) for field in FIELDS]
    added = [name for name, _, _ in FIELDS]
    remaining = list(added)
    for position in order:
        undos[position]()
        remaining.remove(added[position])
        for cls in classes:
            names = [field.name for field in dataclasses.fields(cls)]
            assert [name for name in names if name in added] == remaining
        values = dict.fromkeys(remaining, 9)
        assert vars(upstream.module.Derived([], **values)).items() >= values.items()
    assert_same(before, held(*classes))


def test_undo_again_changes_nothing(upstream: Upstream) -> None:
    """The second time there is nothing to take back."""
    before = held(upstream.module.Output)
    undo = upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    undo()
    undo()
    assert_same(before, held(upstream.module.Output))


def test_fields_of_a_base_and_of_a_subclass(upstream: Upstream) -> None:
    """Their order is that of classes written with them, whichever patch was applied first."""
    before = held(upstream.module.Output, upstream.module.Derived)
    undo_late = upstream.apply(AddField("upstream:Derived", "late", "int", 1))
    undo_early = upstream.apply(AddField(OUTPUT, "early", "int", 2))
    names = [field.name for field in dataclasses.fields(upstream.module.Derived)]
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
    if not wrapped_first:
        changes.reverse()
    before = held(upstream.module.Output)
    undos = [upstream.apply(change) for change in changes]
    assert upstream.module.Output([1], extra=4).extra == 4
    assert "extra" in inspect.signature(upstream.module.Output).parameters
    for undo in undos:
        undo()
    assert_same(before, held(upstream.module.Output))


def test_a_replaced_init_stays_as_it_is(upstream: Upstream) -> None:
    """A replaced `__init__` does not set the added field, which reads as its default."""
    change = Replace("upstream:Output.__init__", by="no_init", unrelated=True)
    upstream.apply(change)
    upstream.apply(AddField(OUTPUT, "extra", "int", 3))
    assert vars(upstream.module.Output([1])) == {"ids": [1]}
    assert upstream.module.Output([1]).extra == 3


def test_a_refusal_half_way_changes_nothing() -> None:
    """A class that lets nobody set a method gets its fields back."""
    upstream = Upstream(
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
    before = held(upstream.module.Thing)
    with pytest.raises(TargetError, match="AttributeError: guarded"):
        upstream.apply(AddField("upstream:Thing", "extra", "int", 3))
    assert_same(before, held(upstream.module.Thing))


BASE = """
from __future__ import annotations
import dataclasses
from typing import ClassVar
@dataclasses.dataclass
class Base:
    table: ClassVar[dict] = {}
    limit: ClassVar[int] = 1
    first: int = 1
"""
DERIVED = """
import dataclasses as dc
from upstream_base import Base
@dc.dataclass
class Derived(Base):
    second: int = 2
"""


def test_what_is_no_field_of_a_base_in_another_module_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`"ClassVar[dict]"` is one, whether or not the module of the subclass has that name."""
    base = ModuleType("upstream_base")
    monkeypatch.setitem(sys.modules, "upstream_base", base)
    exec(compile(BASE, "upstream_base", "exec", dont_inherit=True), vars(base))
    for upstream in upstream_of(DERIVED):
        undo = upstream.apply(AddField("upstream:Derived", "extra", int, 3))
        derived = upstream.module.Derived(extra=4)
        assert vars(derived) == {"first": 1, "second": 2, "extra": 4}
        undo()
        assert vars(upstream.module.Derived()) == {"first": 1, "second": 2}
