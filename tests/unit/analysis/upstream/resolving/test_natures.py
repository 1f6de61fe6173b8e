"""What targets are to a change, held against the objects that Python makes of the same source."""

from __future__ import annotations

import functools
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import pytest
from support.packages import module_of

from analysis.check.released import subject
from patchkit.analysis.upstream.resolving.natures import TO_CALL, Nature
from patchkit.core.rows.target import Target
from patchkit.runtime.changes.owners import locate

SOURCE = """
import abc, dataclasses, enum, functools, json, logging, os.path, signal, threading, typing
from collections import OrderedDict, defaultdict
from dataclasses import MISSING, field
from functools import reduce, wraps
from typing import Any, Protocol
LIMIT = 3
NAMES = ["a"]
def function(): ...
cached = functools.lru_cache(maxsize=None)
class Plain:
    LEVEL = 1
    def method(self): ...
    @staticmethod
    def static(): ...
    @classmethod
    def of_class(cls): ...
    @property
    def size(self): ...
    @functools.cached_property
    def later(self): ...
    class Inner: ...
class Callable:
    def __call__(self): ...
class Listed(abc.ABC):
    @abc.abstractmethod
    def method(self): ...
class Color(enum.Enum):
    RED = 1
class Level(enum.IntEnum):
    LOW = 1
class Shape(Protocol):
    def area(self): ...
class Pair(typing.NamedTuple):
    one: int = 1
class Logs(logging.Logger): ...
class Table(OrderedDict): ...
class Failed(RuntimeError): ...
TABLE = {"function": function, "class": Plain, "number": 1, "lambda": lambda: 1}
ROWS = [Plain, function]
called = Callable()
plain = Plain()
"""
TARGETS = [
    "LIMIT",
    "NAMES",
    "function",
    "Plain",
    "Plain.LEVEL",
    "Plain.method",
    "Plain.static",
    "Plain.of_class",
    "Plain.size",
    "Plain.later",
    "Plain.Inner",
    "called",
    "plain",
    "json",
    "OrderedDict",
    "defaultdict",
    "MISSING",
    "field",
    "reduce",
    "wraps",
    "Any",
    "Protocol",
    "signal",
    "threading",
    "Plain.__doc__",
    "Plain.__dict__",
    "Plain.__weakref__",
    "Plain.__class__",
    "Plain.__eq__",
    "Plain.__init__",
    "Plain.__init_subclass__",
    "Plain.__reduce__",
    "Listed._abc_impl",
    "Listed.__abstractmethods__",
    "Listed.method",
    "Color.__doc__",
    "Color.RED",
    "Level.__add__",
    "Level.bit_length",
    "Shape._is_protocol",
    "Shape.__init_subclass__",
    "Pair._fields",
    "Pair._field_defaults",
    "Pair.__doc__",
    "Pair.index",
    "Logs.root",
    "Logs.manager",
    "Logs.info",
    "Logs.isEnabledFor",
    "Table.move_to_end",
    "Table.__hash__",
    "Table.fromkeys",
    "Failed.__traceback__",
    "Failed.__str__",
    "Failed.with_traceback",
    "TABLE['function']",
    "TABLE['class']",
    "TABLE['number']",
    "TABLE['lambda']",
    "ROWS[0]",
    "ROWS[1]",
]
CODE = (FunctionType, classmethod, property, staticmethod, type(functools.cache(len)))


def seen(value: Any) -> set[Nature]:
    """The answers that hold of an object: the exact one, and those that say less."""
    if isinstance(value, CODE):
        return {Nature.CODE, Nature.ROUTINE}
    if isinstance(value, type):
        return {Nature.CLASS}
    if isinstance(value, ModuleType):
        return {Nature.MODULE}
    if isinstance(value, (GetSetDescriptorType, MemberDescriptorType)):
        return {Nature.SLOT}
    if callable(value) or isinstance(value, functools.cached_property):
        return {Nature.OBJECT, Nature.ROUTINE}
    return {Nature.VALUE}


@pytest.mark.parametrize("target", TARGETS)
def test_the_nature_is_that_of_the_object(target: str) -> None:
    """Of the standard library, of items and of the release itself the source tells it exactly."""
    location = locate(module_of(SOURCE), target)
    facts = subject("1.0", mod=SOURCE).facts(Target("up.mod", target))
    assert facts.nature in seen(location.value), location.value


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("from out import side", "side", Nature.ROUTINE),
        ("from out import Side", "Side", Nature.UNKNOWN),
        ("import out", "out", Nature.MODULE),
        ("import out.side as side", "side", Nature.MODULE),
        ("import out\nx = out.side()", "x", Nature.UNKNOWN),
        ("import out\n@out.side\ndef f(): ...", "f", Nature.CODE),
        ("import out\n@out.side\nclass C: ...", "C", Nature.UNKNOWN),
        ("X = 1\ndef f():\n    global X\n    X = 2", "X", Nature.UNKNOWN),
        ("from out import B\nclass C(B): ...", "C.__eq__", Nature.ROUTINE),
        ("from torch import nn\nclass C(nn.Module): ...", "C.forward", Nature.CODE),
        ("from torch import nn\nclass C(nn.Module): ...", "C._version", Nature.VALUE),
        ("from torch import nn\nclass C(nn.Module): ...", "C.__doc__", Nature.VALUE),
        ("from torch import nn\nclass C(nn.Module): ...", "C.__dir__", Nature.ROUTINE),
        (
            "from pydantic import BaseModel\nclass C(BaseModel): ...",
            "C.__pydantic_complete__",
            Nature.VALUE,
        ),
        (
            "from pydantic import BaseModel\nclass C(BaseModel): ...",
            "C.__pydantic_private__",
            Nature.SLOT,
        ),
        (
            "from pydantic import BaseModel\nclass C(BaseModel): ...",
            "C.model_dump",
            Nature.CODE,
        ),
        (
            "import msgspec\nclass C(msgspec.Struct): ...",
            "C.__struct_fields__",
            Nature.SLOT,
        ),
    ],
)
def test_what_lies_in_other_packages(source: str, target: str, expected: str) -> None:
    """Of other packages, a few classes are known; of the rest, the form of the name decides."""
    facts = subject("1.0", mod=source).facts(Target("up.mod", target))
    assert facts.nature == expected


def test_what_can_be_called_is_code_or_not() -> None:
    """A Wrap goes around whatever can be called."""
    assert {Nature.CODE, Nature.OBJECT, Nature.ROUTINE} == TO_CALL
