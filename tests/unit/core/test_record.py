from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import itertools
import pickle
import sys
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit import AfterImport, Patch, Role, Wrap
from patchkit.core.record import Record, field
from patchkit.registry import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAMES = "abcd"
VALUES = st.one_of(st.integers(0, 2), st.text("xy", max_size=1), st.none(), st.just(()))
MANY = st.one_of(VALUES, st.lists(st.integers(0, 1), max_size=1))


class Default(NamedTuple):
    """What a field has: nothing, a value, or what makes one."""

    kind: str
    value: object = None


class Level(NamedTuple):
    """One class of a chain."""

    fields: dict[str, Default]
    kw_only: bool


class Call(NamedTuple):
    """Arguments for a class."""

    args: list[object]
    kwargs: dict[str, object]


DEFAULTS = st.one_of(
    st.just(Default("none")),
    VALUES.map(lambda value: Default("value", value)),
    st.just(Default("made")),
)
LEVELS = st.builds(
    Level, st.dictionaries(st.sampled_from(NAMES), DEFAULTS), st.booleans()
)
CALLS = st.builds(
    Call,
    st.lists(MANY, max_size=4),
    st.dictionaries(st.sampled_from(NAMES + "e"), MANY),
)


def members(level: Level, make: Callable[..., object]) -> dict[str, object]:
    """Write the body of a class; each way of declaring has its own word for a factory."""
    defaults: dict[str, object] = {
        name: default.value if default.kind == "value" else make(default_factory=list)
        for name, default in level.fields.items()
        if default.kind != "none"
    }
    kinds: dict[str, str] = dict.fromkeys(level.fields, "Any")
    annotations = {**kinds, "shared": "ClassVar[int]"}
    return {
        **defaults,
        "shared": 1,
        "__annotations__": annotations,
        "__module__": __name__,
    }


def as_record(levels: list[Level], options: Mapping[str, bool]) -> type:
    """Declare the chain of classes as Records."""
    cls: type = Record
    for level in levels:
        keywords = {**options, "kw_only": level.kw_only}
        body = members(level, field)
        cls = types.new_class(
            "One", (cls,), keywords, lambda names, body=body: names.update(body)
        )
    return cls


def as_dataclass(levels: list[Level], options: Mapping[str, bool]) -> type:
    """Declare the chain of classes as dataclasses."""
    cls: type = object
    for level in levels:
        plain = type("One", (cls,), members(level, dataclasses.field))
        cls = dataclasses.dataclass(**options, kw_only=level.kw_only)(plain)  # type: ignore[call-overload]
    return cls


def outcome(work: Callable[[], object]) -> object:
    """What comes of it, an error by its type and words."""
    try:
        return work()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def facts(cls: type, calls: list[Call]) -> list[object]:
    """Everything that can be seen of a class and of its objects, as plain values."""
    results = [
        outcome(lambda call=call: cls(*call.args, **call.kwargs)) for call in calls
    ]
    objects = [result for result in results if isinstance(result, cls)]
    shown = [
        result if isinstance(result, tuple) else repr(result) for result in results
    ]
    match_args = cls.__match_args__  # type: ignore[attr-defined]
    behaviours = behaviour(cls, objects)
    return [parameters(cls), match_args, declared(cls), shown, *behaviours]


def parameters(cls: type) -> list[object]:
    """Kind, name and annotation of each parameter."""
    return [
        (parameter.kind, parameter.name, parameter.annotation)
        for parameter in inspect.signature(cls).parameters.values()
    ]


def declared(cls: Any) -> list[object]:
    """The fields that `dataclasses` sees."""
    return [
        (known.name, known.type, known.default, known.kw_only)
        for known in dataclasses.fields(cls)
    ]


def behaviour(cls: type, objects: list[Any]) -> list[object]:
    """What comes of setting, hashing, comparing and copying objects of a class."""
    is_compared = cls.__eq__ is not object.__eq__

    def set_field(record: Any) -> None:
        record.a = 2

    def hash_of(record: Any) -> object:
        return hash(record) if is_compared else "its own"

    return [
        {outcome(functools.partial(set_field, record)) for record in objects},
        [outcome(functools.partial(hash_of, record)) for record in objects],
        [first == second for first, second in itertools.product(objects, repeat=2)],
        [sorted(vars(record).items()) for record in objects],
        [repr(dataclasses.replace(record)) for record in objects],
        [dataclasses.asdict(record) for record in objects],
    ]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(LEVELS, min_size=1, max_size=3),
    st.fixed_dictionaries({"frozen": st.booleans(), "eq": st.booleans()}),
    st.lists(CALLS, max_size=4),
)
def test_a_record_is_what_dataclasses_makes(
    levels: list[Level], options: dict[str, bool], calls: list[Call]
) -> None:
    """A chain of Records has the parameters, objects and errors of the same dataclasses."""
    record = outcome(lambda: as_record(levels, options))
    model = outcome(lambda: as_dataclass(levels, options))
    assert isinstance(record, type) is isinstance(model, type)
    if isinstance(record, type) and isinstance(model, type):
        assert facts(record, calls) == facts(model, calls)


class Point(Record):
    """A frozen record with a required field and two defaults."""

    shared: ClassVar[int] = 3

    x: int
    y: int = 0
    parts: list[int] = field(default_factory=list)


class Drawer(Record, frozen=False):
    """A record that may be changed."""

    inside: object = None
    kept: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = len(self.kept)


ROW = Row(
    "pack",
    Patch(
        name="p", requires=("vllm",), changes=(Wrap("m:f", by="g", requires=("ray",)),)
    ),
    frozenset({Role.MAIN}),
)


@pytest.mark.parametrize(
    "copied",
    [
        *(lambda value, n=n: pickle.loads(pickle.dumps(value, n)) for n in range(2, 6)),
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
    ],
)
@pytest.mark.parametrize("value", [ROW, Point(1, parts=[2]), Drawer(2, {"a": 1})])
def test_a_copy_is_equal(copied: Callable[[object], object], value: object) -> None:
    """A record that is pickled, copied or replaced is another object with the same values."""
    other = copied(value)
    assert other is not value
    assert other == value
    assert repr(other) == repr(value)
    assert vars(other) == vars(value)


def test_a_copy_may_differ() -> None:
    """`dataclasses.replace`, and `copy.replace` from Python 3.13 on, change some fields."""
    replaced = dataclasses.replace(ROW, pack="other")
    assert (replaced.pack, replaced.patch) == ("other", ROW.patch)
    if sys.version_info >= (3, 13):
        assert copy.replace(ROW, pack="other") == replaced
    assert ROW.__replace__(pack="other") == replaced
    with pytest.raises(TypeError, match="'wrong'"):
        dataclasses.replace(ROW, wrong=1)  # type: ignore[call-arg]


def test_each_object_has_a_default_of_its_own() -> None:
    """Two objects share no list of a default factory, and the class has none."""
    point = Point(1)
    other = Point(1)
    point.parts.append(2)
    assert other.parts == []
    assert not hasattr(Point, "parts")
    assert Point.shared == 3
    assert Point.y == 0


def test_post_init_sees_all_fields() -> None:
    """`__post_init__` runs once all fields are there, those that are made included."""
    assert Drawer(kept={"a": 1}).known == 1
    assert Drawer().known == 0


def test_a_match_takes_a_record_apart() -> None:
    """A `match` takes a record apart by the places and the names of its fields."""
    match ROW.patch.changes:
        case (Wrap(target, by, requires=requires),):
            assert (target, by, requires) == ("m:f", "g", ("ray",))
        case _:
            pytest.fail("no match")


def test_a_record_can_be_held_weakly() -> None:
    """A weak reference to a record is dead once the record has been deleted."""
    point = Point(1)
    held = weakref.ref(point)
    assert held() is point
    del point
    assert held() is None


def test_records_of_two_classes_are_never_equal() -> None:
    """Records of two classes with equal values differ, and no record equals a tuple."""
    assert Wrap("a", "b") != AfterImport("a", "b")
    assert Point(1) != (1, 0, [])
    assert Point.__eq__(Point(1), object()) is NotImplemented


def test_a_record_that_holds_itself_can_be_shown() -> None:
    """The `repr` of a record that holds itself has dots in its own place."""
    drawer = Drawer()
    drawer.inside = drawer
    assert repr(drawer) == "Drawer(inside=..., kept={})"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: Wrap("m:f"),
            "Wrap.__init__() missing 1 required positional argument: 'by'",
        ),
        (
            lambda: Wrap("m:f", by="g", body="h"),
            "Wrap.__init__() got an unexpected keyword argument 'body'",
        ),
        (
            lambda: Wrap("m:f", "g", by="g"),
            "Wrap.__init__() got multiple values for argument 'by'",
        ),
        (
            lambda: Wrap("a", "b", "c"),
            "Wrap.__init__() takes 3 positional arguments but 4 were given",
        ),
    ],
)
def test_a_wrong_call_is_said_as_python_says_it(
    call: Callable[[], object], words: str
) -> None:
    """A call with wrong arguments raises Python's own words, with the class and the argument."""
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_nothing_of_a_frozen_record_changes() -> None:
    """Neither a field nor another attribute can be set or taken away."""
    for work in (
        lambda: setattr(ROW, "pack", "other"),
        lambda: setattr(ROW, "new", 1),
        lambda: delattr(ROW, "pack"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            work()
    assert ROW.pack == "pack"


def test_a_dataclass_may_derive_from_a_record() -> None:
    """A dataclass that adds a field to a record has the `repr` and `asdict` of all fields."""

    @dataclasses.dataclass(frozen=True)
    class Mine(Point):
        more: int = 7

    assert repr(Mine(1, more=2)).endswith("Mine(x=1, y=0, parts=[], more=2)")
    assert dataclasses.asdict(Mine(1)) == {"x": 1, "y": 0, "parts": [], "more": 7}


def test_a_debugger_that_looks_adds_nothing() -> None:
    """A tracer that reads the parameters of every frame leaves the object as it is."""
    seen: list[str] = []

    def trace(frame: types.FrameType, _event: str, _arg: object) -> Any:
        seen.append(frame.f_code.co_name)
        frame.f_locals.copy()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        drawer = Drawer(1)
    finally:
        sys.settrace(before)
    assert "__init__" in seen
    assert vars(drawer) == {"inside": 1, "kept": {}, "known": 0}


def test_threads_that_ask_first_agree() -> None:
    """The fields that dataclasses sees are there for each of many threads that ask at once."""

    class Fresh(Record):
        one: int

    answers: list[list[str]] = []

    def ask() -> None:
        answers.append([known.name for known in dataclasses.fields(Fresh)])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [["one"]] * 8
