from __future__ import annotations

import copy
import dataclasses
import inspect
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
    args: list[object]
    kwargs: dict[str, object]


DEFAULTS = st.one_of(
    st.just(Default("none")),
    VALUES.map(lambda one: Default("value", one)),
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
    found: dict[str, object] = {
        name: default.value if default.kind == "value" else make(default_factory=list)
        for name, default in level.fields.items()
        if default.kind != "none"
    }
    kinds: dict[str, str] = dict.fromkeys(level.fields, "Any")
    annotations = {**kinds, "shared": "ClassVar[int]"}
    return {
        **found,
        "shared": 1,
        "__annotations__": annotations,
        "__module__": __name__,
    }


def as_record(levels: list[Level], options: Mapping[str, bool]) -> type:
    cls: type = Record
    for level in levels:
        more = {**options, "kw_only": level.kw_only}
        body = members(level, field)
        cls = types.new_class(
            "One", (cls,), more, lambda names, body=body: names.update(body)
        )
    return cls


def as_dataclass(levels: list[Level], options: Mapping[str, bool]) -> type:
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
    made = [outcome(lambda call=call: cls(*call.args, **call.kwargs)) for call in calls]
    objects = [one for one in made if isinstance(one, cls)]
    told = [one if isinstance(one, tuple) else repr(one) for one in made]
    looks = [(one.kind, one.name, one.annotation) for one in parameters(cls)]
    return [looks, cls.__match_args__, declared(cls), told, *behaviour(cls, objects)]  # type: ignore[attr-defined]


def parameters(cls: type) -> list[inspect.Parameter]:
    return list(inspect.signature(cls).parameters.values())


def declared(cls: Any) -> list[object]:
    return [
        (one.name, one.type, one.default, one.kw_only)
        for one in dataclasses.fields(cls)
    ]


def behaviour(cls: type, objects: list[Any]) -> list[object]:
    frozen = {outcome(lambda one=one: setattr(one, "a", 2)) for one in objects}
    hashes = [
        outcome(
            lambda one=one: hash(one) if cls.__eq__ is not object.__eq__ else "its own"
        )
        for one in objects
    ]
    equal = [one == other for one in objects for other in objects]
    parts = [{name: vars(one)[name] for name in sorted(vars(one))} for one in objects]
    copies = [repr(dataclasses.replace(one)) for one in objects]
    return [
        frozen,
        hashes,
        equal,
        parts,
        copies,
        list(map(dataclasses.asdict, objects)),
    ]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(LEVELS, min_size=1, max_size=3),
    st.fixed_dictionaries({"frozen": st.booleans(), "eq": st.booleans()}),
    st.lists(CALLS, max_size=4),
)
def test_it_is_what_dataclasses_makes(
    levels: list[Level], options: dict[str, bool], calls: list[Call]
) -> None:
    """The same chain of classes, declared both ways: same parameters, objects, errors, words."""
    mine = outcome(lambda: as_record(levels, options))
    theirs = outcome(lambda: as_dataclass(levels, options))
    assert isinstance(mine, type) is isinstance(theirs, type)
    if isinstance(mine, type) and isinstance(theirs, type):
        assert facts(mine, calls) == facts(theirs, calls)


class Point(Record):
    shared: ClassVar[int] = 3

    x: int
    y: int = 0
    parts: list[int] = field(default_factory=list)


class Drawer(Record, frozen=False):
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
        *(lambda one, n=n: pickle.loads(pickle.dumps(one, n)) for n in range(2, 6)),
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
    ],
)
@pytest.mark.parametrize("value", [ROW, Point(1, parts=[2]), Drawer(2, {"a": 1})])
def test_a_copy_is_equal(copied: Callable[[object], object], value: object) -> None:
    """A row crosses into another process, and nobody sees which one it is."""
    other = copied(value)
    assert other is not value
    assert (other, repr(other), vars(other)) == (value, repr(value), vars(value))


def test_a_copy_may_differ() -> None:
    """`dataclasses.replace`, and `copy.replace` from Python 3.13 on, change some fields."""
    replaced = dataclasses.replace(ROW, pack="other")
    assert (replaced.pack, replaced.patch) == ("other", ROW.patch)
    if sys.version_info >= (3, 13):
        assert copy.replace(ROW, pack="other") == replaced
    assert ROW.__replace__(pack="other") == replaced
    with pytest.raises(TypeError, match="'wrong'"):
        dataclasses.replace(ROW, wrong=1)  # type: ignore[call-arg]


def test_each_object_has_what_is_made_anew() -> None:
    """Two objects share no list, and the class has none."""
    one, other = Point(1), Point(1)
    one.parts.append(2)
    assert (other.parts, hasattr(Point, "parts"), Point.shared, Point.y) == (
        [],
        False,
        3,
        0,
    )


def test_what_follows_sees_all_values() -> None:
    """`__post_init__` runs once all fields are there, those that are made included."""
    assert Drawer(kept={"a": 1}).known == 1
    assert Drawer().known == 0


def test_a_match_takes_it_apart() -> None:
    """By place and by name, as the class declares it; what is by keyword only has no place."""
    match ROW.patch.changes:
        case (Wrap(target, by, requires=requires),):
            assert (target, by, requires) == ("m:f", "g", ("ray",))
        case _:
            pytest.fail("no match")


def test_it_can_be_held_weakly() -> None:
    """Nothing else keeps it alive."""
    point = Point(1)
    held = weakref.ref(point)
    assert held() is point
    del point
    assert held() is None


def test_kinds_are_never_equal() -> None:
    """Equal values in two classes are two things, and nothing equals a tuple."""
    assert Wrap("a", "b") != AfterImport("a", "b")
    assert Point(1) != (1, 0, [])
    assert Point.__eq__(Point(1), object()) is NotImplemented


def test_one_that_holds_itself_can_be_shown() -> None:
    """A circle ends in dots."""
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
    """The class, and the argument that is too much or that is not there."""
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_nothing_of_a_frozen_one_changes() -> None:
    """Neither a field nor another attribute can be set or taken away."""
    for work in (
        lambda: setattr(ROW, "pack", "other"),
        lambda: setattr(ROW, "new", 1),
        lambda: delattr(ROW, "pack"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            work()
    assert ROW.pack == "pack"


def test_a_dataclass_may_derive_from_it() -> None:
    """Who adds a field to a row's kind by `@dataclass` gets what a dataclass would give."""

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

    found: list[object] = []
    threads = [
        threading.Thread(
            target=lambda: found.append([f.name for f in dataclasses.fields(Fresh)])
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["one"]] * 8
