"""Slots, generated methods and constructors, in the cases that are easily got wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from analysis.upstream.memory import resolve
from patchkit.analysis.upstream.resolving.values import Kind

IMPORTS = """
import dataclasses, enum, typing
from dataclasses import dataclass, field, KW_ONLY
from collections import namedtuple
import attr, attrs, pydantic
import outside
"""
SLOTS = """
class Annotated:
    x: int
    __slots__ = ("x", "_y", "__z")
    def __init__(self): self._y = 1
class Tried:
    try:
        __slots__ = ("x",)
    except Exception:
        __slots__ = ("x", "other")
@dataclass
class Data:
    x: int
    __slots__ = ("x",)
@dataclass(**options)
class Spread:
    x: int
"""


@pytest.mark.parametrize(
    ("qualname", "answer"),
    [
        ("Annotated.x", "present True"),
        ("Annotated._y", "present True"),
        ("Annotated._Annotated__z", "present True"),
        ("Annotated.other", "absent False"),
        ("Tried.x", "present True"),
        ("Tried.other", "undecidable False"),
        ("Data.x", "present True"),
        ("Spread.x", "present False"),
    ],
)
def test_slots_are_attributes(qualname: str, answer: str) -> None:
    """A slot is on the class, be it annotated, private, in a `try`, or of a dataclass."""
    resolution = resolve(IMPORTS + SLOTS, qualname)
    assert f"{resolution.state} {resolution.is_sure}" == answer
    if resolution.state == "present":
        assert resolution.variants[0].on_class


WRITTEN = """
@dataclass
class Plain: ...
@dataclass(init=False)
class Bare: ...
@dataclass(**options)
class Spread: ...
@attr.s(auto_attribs=True)
class Attrs:
    x: int = 1
@outside.decorator
class Other: ...
"""


@pytest.mark.parametrize(
    ("qualname", "answer"),
    [
        ("Plain.__init__", "generated"),
        ("Plain.__lt__", "not told"),
        ("Plain.__eq__", "not told"),
        ("Bare.__init__", "not told"),
        ("Spread.__init__", "not told"),
        ("Attrs.__lt__", "not told"),
        ("Attrs.__init__", "not told"),
        ("Attrs.x", "not told"),
        ("Other.__eq__", "not told"),
    ],
)
def test_of_generated_methods_only_a_constructor_is_known(
    qualname: str, answer: str
) -> None:
    """The constructor of a dataclass is known; all other generated methods are open."""
    resolution = resolve(IMPORTS + WRITTEN, qualname)
    kind = str(resolution.kind) if resolution.is_sure else "not told"
    assert kind == answer


CALLED = """
class Base:
    x = 1
@dataclass
class Inherits(Base):
    x: int
@dataclass
class Marked:
    _: KW_ONLY
    x: int
    y: int = field(default=1, kw_only=False)
@dataclass
class Tried:
    try:
        x: int = 1
    except Exception: ...
class Extra(pydantic.BaseModel, extra="allow"):
    x: int
def shown(f):
    import functools
    @functools.wraps(f)
    def inner(*args): ...
    inner.__signature__ = other(f)
    return inner
@shown
def signed(a): ...
class Mangled:
    def method(self, __x, _y, *, __z=1): ...
"""


@pytest.mark.parametrize(
    ("qualname", "signature"),
    [
        ("Inherits", "None"),
        ("Marked", "(y=…, *, x)"),
        ("Tried", "None"),
        ("Extra", "None"),
        ("signed", "None"),
        ("Mangled.method", "(self, _Mangled__x, _y, *, _Mangled__z=…)"),
    ],
)
def test_signatures_are_right_or_none(qualname: str, signature: str) -> None:
    """There is none if a default is inherited, a field conditional or `__signature__` set."""
    assert str(resolve(IMPORTS + CALLED, qualname).signature) == signature


MIXED = """
if outside.has_pydantic():
    from pydantic import BaseModel as Base
else:
    class Base: ...
class Model(Base):
    x: int = 1
    def method(self): ...
class Colour(enum.Enum):
    _ignore_ = "tmp other"
    RED = 1
    tmp = 2
Point = namedtuple("Point", "x, y", defaults=(1, 2))
Level = enum.Enum("Level", [("LOW", 1), ("HIGH", outside.value)])
class Read:
    def _get(self): ...
    value = property(fget=_get)
"""


@pytest.mark.parametrize(
    ("qualname", "answer"),
    [
        ("Model.x", "present field False"),
        ("Model.method", "present method True"),
        ("Colour.RED", "undecidable None False"),
        ("Colour.tmp", "undecidable None False"),
        ("Point.y", "present field True"),
        ("Point.__call__", "undecidable None False"),
        ("Level.HIGH", "undecidable None False"),
        ("Read.value", "present property True"),
    ],
)
def test_members_of_classes_that_code_makes(qualname: str, answer: str) -> None:
    """A field of an unknown base is not sure; members of a class that a call makes are open."""
    resolution = resolve(IMPORTS + MIXED, qualname)
    assert f"{resolution.state} {resolution.kind} {resolution.is_sure}" == answer


def test_the_mark_of_keyword_fields_is_no_field() -> None:
    """Each annotation of a real dataclass is told as a field where `dataclasses` has one."""
    source = (
        "import dataclasses\n"
        "from dataclasses import KW_ONLY, dataclass\n"
        "@dataclass\n"
        "class Marked:\n"
        "    a: int\n"
        "    _: KW_ONLY\n"
        "    b: int = 1\n"
        "@dataclass\n"
        "class Named:\n"
        "    rest: dataclasses.KW_ONLY\n"
        "    b: int\n"
    )
    space: dict[str, Any] = {}
    # Not with this file's `from __future__ import annotations`.
    exec(compile(source, "up", "exec", dont_inherit=True), space)
    for cls, names in (("Marked", ("a", "_", "b")), ("Named", ("rest", "b"))):
        real = {field.name for field in dataclasses.fields(space[cls])}
        told = {
            name
            for name in names
            if resolve(source, f"{cls}.{name}").kind is Kind.FIELD
        }
        assert told == real
