"""A dataclass that got a field later is the dataclass that was written with it."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import pickle
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.packages import module_of

from patchkit import AddField
from patchkit.runtime.changes.fields.dataclass_fields import LateDefault, options
from runtime.changes.fields.groups import Upstream, assert_same, held

if TYPE_CHECKING:
    from collections.abc import Callable


HEAD = """
import dataclasses as dc
from typing import ClassVar
"""
FIELDS = (
    "{n}: int",
    "{n}: int = 1",
    "{n}: str = dc.field(default='a', kw_only=True)",
    "{n}: list[int] = dc.field(default_factory=list)",
    "{n}: int = dc.field(default=2, repr=False, compare=False)",
    "{n}: int = dc.field(default=3, init=False)",
    "{n}: ClassVar[int] = 4",
    "{n}: dc.InitVar[int] = 5",
)
BY_HAND = (
    "def __repr__(self): return 'by hand'",
    "def __eq__(self, other): return NotImplemented",
    "def __hash__(self): return 1",
    "def __post_init__(self, *given): self.given = given",
    "'''A docstring.'''",
)


@dataclass(frozen=True)
class Case:
    """A module of dataclasses, each the next one's base.

    Args:
        options: of the decorator.
        classes: the lines of their bodies.
        target: which of them gets the field.
        default: of the field, as source.
    """

    options: str
    classes: tuple[tuple[str, ...], ...]
    target: int
    default: str

    def source(self, *, grown: bool) -> str:
        """The module; grown: as written with the field in it."""
        lines = [HEAD]
        for at, body in enumerate(self.classes):
            base = f"(C{at - 1})" if at else ""
            extra = [self._field] if grown and at == self.target else []
            lines.append(f"@dc.dataclass({self.options})\nclass C{at}{base}:\n    pass")
            lines += [f"    {line}" for line in (*body, *extra)]
        return "\n".join(lines)

    @property
    def _field(self) -> str:
        is_mutable = self.default.startswith("[")
        option = "default_factory=lambda: " if is_mutable else "default="
        return f"extra: int = dc.field({option}{self.default}, kw_only=True)"


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    options = [
        f"{name}={draw(st.booleans())}"
        for name in ("frozen", "repr", "unsafe_hash", "kw_only")
    ]
    options.append(draw(st.sampled_from(["eq=False", "eq=True", "order=True"])))
    classes = []
    for at in range(draw(st.integers(1, 3))):
        fields = draw(st.lists(st.sampled_from(FIELDS), max_size=3))
        body = [text.format(n=f"f{at}{place}") for place, text in enumerate(fields)]
        hand = draw(st.lists(st.sampled_from(BY_HAND), max_size=2, unique=True))
        classes.append((*body, *(line for line in hand if _allowed(line, options))))
    target = draw(st.integers(0, len(classes) - 1))
    return Case(
        ", ".join(options), tuple(classes), target, draw(st.sampled_from(["7", "[1]"]))
    )


def _allowed(line: str, options: list[str]) -> bool:
    return not ("unsafe_hash=True" in options and "__hash__" in line) and not (
        "frozen=True" in options and "__post_init__" in line
    )


def loaded(source: str) -> Any:
    """Execute a module, as one that can be imported; None where Python refuses its classes."""
    module = module_of("")
    sys.modules["upstream"] = module
    try:
        exec(compile(source, "upstream", "exec", dont_inherit=True), vars(module))
    except TypeError:  # a field without a default after one that has one
        return None
    return module


def classes_of(module: Any, case: Case) -> list[Any]:
    """The dataclasses of a case's module, bases first."""
    return [getattr(module, f"C{at}") for at in range(len(case.classes))]


def outcome(call: Callable[[], Any]) -> Any:
    """What it returns, or how it fails."""
    try:
        return call()
    except Exception as error:  # whichever it is, both have to raise it
        return type(error)


def instances(cls: Any, **values: Any) -> list[Any]:
    """What calls of a class with more and more positions make, or how they fail."""
    return [
        outcome(lambda numbers=numbers: cls(*numbers, **values))
        for numbers in ((), (1,), (1, 2), (2, 1), (1, 2, 3))
    ]


def behaviour(cls: Any) -> dict[str, Any]:
    """Everything that the fields of a class decide."""
    things = [*instances(cls), *instances(cls, extra=8), *instances(cls, extra=9)]
    pairs = list(itertools.product(things, repeat=2))
    return {
        "fields": [
            (
                field.name,
                field.type,
                field.init,
                field.repr,
                field.compare,
                field.kw_only,
            )
            for field in dataclasses.fields(cls)
        ],
        "signature": str(inspect.signature(cls)),
        "by position": getattr(cls, "__match_args__", None),
        "doc": cls.__doc__,
        "repr": [repr(thing) for thing in things if not hasattr(thing, "__weakref__")],
        "parts": [
            outcome(lambda thing=thing: dataclasses.asdict(thing)) for thing in things
        ],
        "replaced": [
            outcome(lambda thing=thing: dataclasses.replace(thing).extra)
            for thing in things
        ],
        "hash": [
            outcome(lambda thing=thing: hash(thing)) is TypeError for thing in things
        ],
        "equal": [left == right for left, right in pairs],
        "less": [
            outcome(lambda left=left, right=right: left < right)
            for left, right in pairs
        ],
        "set": [
            outcome(lambda thing=thing: setattr(thing, "extra", 1))
            for thing in things[1:]
        ],
        "strange": [
            outcome(lambda thing=thing: setattr(thing, "other", 1))
            for thing in things[1:]
        ],
        "deleted": [
            outcome(lambda thing=thing: delattr(thing, "extra")) for thing in things[1:]
        ],
    }


@given(cases())
@settings(max_examples=30, deadline=None)
def test_a_class_with_an_added_field_is_the_class_written_with_it(case: Case) -> None:
    """All that its fields decide is the same; undo restores the very objects."""
    written = loaded(case.source(grown=True))
    plain = loaded(case.source(grown=False))
    assume(written is not None and plain is not None)
    upstream = Upstream(case.source(grown=False))
    classes = classes_of(upstream.module, case)
    before = held(*classes)
    target = f"upstream:C{case.target}"
    undo = upstream.apply(AddField(target, "extra", "int", eval(case.default)))
    for cls, oracle in zip(classes, classes_of(written, case), strict=True):
        assert behaviour(cls) == behaviour(oracle)
    undo()
    assert_same(before, held(*classes))
    for cls, oracle in zip(classes, classes_of(plain, case), strict=True):
        assert str(inspect.signature(cls)) == str(inspect.signature(oracle))
    del sys.modules["upstream"]


class Thing:
    late = LateDefault("late", [1])


@pytest.mark.parametrize("default", [None, 0, "text", (1, 2), frozenset({1})])
def test_a_default_with_a_hash_is_shared(default: object) -> None:
    """`options` gives every instance the very default."""
    assert options(default) == {"default": default}


@pytest.mark.parametrize("default", [[1], {"a": []}, {1}, ([],)])
def test_a_default_without_a_hash_is_copied(default: object) -> None:
    """`options` gives a factory that makes a copy at each call, and survives pickle."""
    factory = pickle.loads(pickle.dumps(options(default)["default_factory"]))
    first, second = factory(), factory()
    assert first == second == default
    assert first is not second
    assert options(default).keys() == {"default_factory"}


def test_a_late_default_is_copied_for_each_instance() -> None:
    """The copy is made at the first look, and stays the instance's."""
    first = Thing()
    second = Thing()
    first.late.append(2)
    assert (first.late, second.late) == ([1, 2], [1])
    assert vars(first) == {"late": [1, 2]}


def test_a_late_default_is_no_attribute_of_the_class() -> None:
    """Reading it from the class is an AttributeError, as with any `default_factory`."""
    assert not hasattr(Thing, "late")
