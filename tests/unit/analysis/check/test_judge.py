"""What a release must have for each kind of change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.changes_of_f import BODY, REPLACE, WRAP
from analysis.check.released import checked, codes, edit, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

MADE = "class C(metaclass=M): ..."
FIELD = "Replace('up.mod:C.x', by='N')"
HOOK = "Wrap('up.mod:C.__init__', by='w')"
ADD_FIELD = "AddField('up.mod:C', 'x', int, 1)"
CACHED = "import functools\nclass C:\n    @functools.cached_property\n"
DATACLASS = "import dataclasses\n@dataclasses.dataclass\nclass C:\n    y: int = 1"
SETS = "AfterImport('up.mod', call='g', sets=('up.mod:f',))"
SETS_FIELD = "AfterImport('up.mod', call='g', sets=('up.mod:C.x',))"
ADD_SLOTS = "Add('up.mod:C.__slots__', by='N')"
LAYOUT = "Replace('up.mod:C._fields_', by='N')"
ADD_HOOK = "Add('up.mod:C.__post_init__', by='g')"
IMPORTS = "import attrs, ctypes, dataclasses, enum, msgspec, typing\n"
SUPER = "class C:\n    def m(self): super(C, self).m()\n"


@pytest.mark.parametrize(
    ("change", "mod", "expected"),
    [
        (REPLACE, "def f(a, b=1): ...", []),
        (REPLACE, "def f(a): ...", []),
        (REPLACE, "def other(): ...", ["PK101"]),
        (REPLACE, "def f(a, b=1, c=2): ...", ["PK103"]),
        (REPLACE, "def f(x, b=1): ...", ["PK103"]),
        (REPLACE, "def f(a, b=1, *rest): ...", ["PK103"]),
        (REPLACE, "def f(a, b=1, **more): ...", ["PK103"]),
        (REPLACE, "class f: ...", ["PK102"]),
        ("Replace('up.mod:C.x', by='N')", f"{CACHED}    def x(self): ...", []),
        ("Replace('up.mod:C.x', by='N')", "class C:\n    def x(self): ...", ["PK102"]),
        ("Replace('up.mod:C.__init__', by='N')", DATACLASS, ["PK102"]),
        (REPLACE, "globals().update(x())", ["PK104"]),
        (REPLACE, "def f(a, b=1):\n    '''Same.'''\n    return a", ["PK122"]),
        (WRAP, "def f(a, b=1, c=2): ...", []),
        (WRAP, "f = 3", ["PK102"]),
        (WRAP, "class f: ...", ["PK102"]),
        ("Wrap('up.mod:f', by='g')", "def f(): ...", ["PK103"]),
        ("Wrap('up.mod:f', by='N')", "def f(): ...", ["PK102"]),
        ("Replace('up.mod:C', by='Sub')", "class C: ...", []),
        ("Replace('up.mod:C', by='g')", "class C: ...", ["PK102"]),
        ("Replace('up.mod:C', by='Loose')", "class C: ...", ["PK102"]),
        ("Replace('up.mod:C', by='Loose', unrelated=True)", "class C: ...", []),
        (edit("x = 1", "x = 2"), "def f():\n    x  =  1  # one\n", []),
        (edit("x = 1", "x = 2"), "def f():\n    x = 3\n", ["PK111"]),
        (edit("x = 1", "x = 2"), "def f():\n    x = 1\n    x = 1\n", ["PK112"]),
        (edit("x = 1", "x = 2", count=2), "def f():\n    x = 1\n    x = 1\n", []),
        (edit("x = 1", "x = 2"), "def f():\n    x = 2\n", ["PK122"]),
        (edit("x = 1", "x = 2"), "f = 3", ["PK102"]),
        (
            edit("x = 1", "x = 2", target="up.mod:D.f"),
            "class C:\n    def f(self):\n        x = 1\nclass D(C): ...",
            ["PK102"],
        ),
        (edit("x = 1", "x = 2"), "from up.lib import f", ["PK102"]),
        (
            edit("x = 1", "x = 2", target="up.mod:C.f"),
            "from up.lib import C",
            ["PK102"],
        ),
        ("Add('up.mod:new', by='g')", "", []),
        ("Add('up.mod:new', by='g')", "def new(): ...", ["PK121"]),
        ("Add('up.mod:C.new', by='g')", "", ["PK101"]),
        (ADD_FIELD, DATACLASS, []),
        (ADD_FIELD, f"{DATACLASS}\n    x: int = 2", ["PK121"]),
        (ADD_FIELD, "class C: ...", ["PK102"]),
        (ADD_FIELD, "import enum\nclass C(enum.Enum): ...", ["PK102"]),
        (
            ADD_FIELD,
            "from typing import NamedTuple\nclass C(NamedTuple): ...",
            ["PK102"],
        ),
        (
            ADD_FIELD,
            "from pydantic import BaseModel\nclass C(BaseModel): ...",
            ["PK102"],
        ),
        (ADD_FIELD, "from other import made\n@made\nclass C: ...", ["PK104"]),
        (ADD_FIELD, "def C(): ...", ["PK102"]),
        (ADD_FIELD, f"{DATACLASS}\n    def __init__(self): ...", ["PK102"]),
        (
            ADD_FIELD,
            DATACLASS.replace("dataclass\n", "dataclass(init=False)\n"),
            ["PK102"],
        ),
        (WRAP, "if A:\n    def f(): ...\nelse:\n    from out import f", []),
        ("Add('up.mod:C.__call__', by='g')", "class C: ...", []),
        ("Add('up.mod:C.__new__', by='g')", "class C: ...", ["PK121"]),
        ("Add('up.mod:C.register', by='g')", "import abc\nclass C(abc.ABC): ...", []),
        ("Add('up.mod:C.__call__', by='g')", "import abc\nclass C(abc.ABC): ...", []),
        ("Add('up.mod:C.f', by='g')", "class M(type):\n    def f(c): ...\n" + MADE, []),
        ("Add('up.mod:C.x', by='g')", "class M(type):\n    def f(c): ...\n" + MADE, []),
        (
            "Add('up.mod:C.x', by='g')",
            "from enum import Enum, EnumMeta\nclass M(EnumMeta): ...\n"
            "class C(Enum, metaclass=M): ...",
            [],
        ),
        (
            "Add('up.mod:C.f', by='g')",
            "class M(type):\n    @property\n    def f(c): ...\n" + MADE,
            ["PK121"],
        ),
        ("Provide('up.extra', by='N')", "", []),
        ("Provide('up.mod', by='N')", "", ["PK121"]),
        ("Provide('up.none.extra', by='N')", "", ["PK101"]),
        ("AfterImport('up.mod', call='g')", "", []),
        ("AfterImport('up.gone', call='g')", "", ["PK101"]),
        ("AfterImport('up.mod', call='N')", "", ["PK102"]),
        (SETS, "def f(): ...", []),
        (SETS, "def other(): ...", ["PK101"]),
        (SETS, "globals().update(x())", ["PK104"]),
        (SETS_FIELD, "class C:\n    x = 1", []),
        (
            SETS_FIELD,
            "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass C:\n    x: int = 1",
            ["PK102"],
        ),
        (SETS_FIELD, "import enum\nclass C(enum.Enum):\n    x = 1", ["PK102"]),
        ("Replace('up.mod:f', by='h')", "def f(): ...", ["PK503"]),
    ],
)
def test_each_change_has_its_needs(
    world: World, change: str, mod: str, expected: list[str]
) -> None:
    """Each way in which a release lacks what a change needs has its code, and sets the state."""
    classes = "from up.mod import C\nclass Sub(C): ...\nclass Loose: ...\n"
    body = BODY
    if "by='Sub'" in change or "by='Loose'" in change:
        body += classes
    world.pack(row("p", "patch_a", change), patch_a=body)
    lib = "def f():\n    x = 1\nclass C:\n    def f(self):\n        x = 1\n"
    report = checked([subject("1.0", mod=mod, lib=lib)])
    assert codes(report) == expected
    harmless = {"PK104"}
    if change == REPLACE:
        harmless.add("PK122")
    if not set(expected) <= harmless:
        state = "broken"
    elif expected == ["PK104"]:
        state = "undecided"
    else:
        state = "ok"
    assert report.grid["p"]["up 1.0"] == state


REPLACE_BY = "Replace('up.mod:{}', by='N')"
WRAP_OF = "Wrap('up.mod:{}', by='w')"
REPLACE_BY_G = "Replace('up.mod:{}', by='g')"
KINDS = """
import abc, dataclasses, enum, json, out, typing
from functools import reduce, wraps
from out import side, Side, SIDE
X = out.side()
class C:
    def m(self): ...
class A(abc.ABC): ...
class Level(enum.IntEnum):
    LOW = 1
@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int = 1
    def m(self): ...
@dataclasses.dataclass(slots=True)
class Slots:
    x: int = 1
class Pair(typing.NamedTuple):
    x: int = 1
@out.side
class Made: ...
class Called:
    def __call__(self): ...
@out.side
class Open: ...
class OfOpen(Open): ...
frozen = Frozen()
called = Called()
uncalled = C()
open = OfOpen()
alias = out.side
TABLE = {"c": C, "n": 1, "f": lambda: 1}
"""


@pytest.mark.parametrize(
    ("change", "target", "expected"),
    [
        (WRAP_OF, "C.__doc__", ["PK102"]),
        (WRAP_OF, "C.__module__", ["PK102"]),
        (WRAP_OF, "C.__dict__", ["PK102"]),
        (WRAP_OF, "C.__class__", ["PK102"]),
        (WRAP_OF, "C.__eq__", []),
        (WRAP_OF, "C.__hash__", ["PK104"]),
        (WRAP_OF, "A._abc_impl", ["PK102"]),
        (WRAP_OF, "Pair._fields", ["PK102"]),
        (WRAP_OF, "Level.LOW.__add__", ["PK102"]),
        (WRAP_OF, "json", ["PK102"]),
        (WRAP_OF, "reduce", []),
        (WRAP_OF, "wraps", []),
        (WRAP_OF, "side", []),
        (WRAP_OF, "Side", ["PK104"]),
        (WRAP_OF, "X", ["PK104"]),
        (WRAP_OF, "Made", ["PK104"]),
        (WRAP_OF, "TABLE['c']", ["PK102"]),
        (WRAP_OF, "TABLE['n']", ["PK102"]),
        (WRAP_OF, "TABLE['f']", []),
        (WRAP_OF, "frozen.m", ["PK102"]),
        (WRAP_OF, "called", []),
        (WRAP_OF, "uncalled", ["PK102"]),
        (WRAP_OF, "open", ["PK104"]),
        (WRAP_OF, "alias", ["PK104"]),
        (REPLACE_BY, "C.__doc__", []),
        (REPLACE_BY, "C.__module__", []),
        (REPLACE_BY, "C.__dict__", ["PK102"]),
        (REPLACE_BY, "C.__eq__", []),
        (REPLACE_BY, "wraps", ["PK102"]),
        (REPLACE_BY, "side", ["PK104"]),
        (REPLACE_BY, "Side", ["PK104"]),
        (REPLACE_BY, "SIDE", []),
        (REPLACE_BY, "X", []),
        (REPLACE_BY, "TABLE['c']", ["PK102"]),
        (REPLACE_BY, "TABLE['n']", []),
        (REPLACE_BY, "TABLE['f']", ["PK102"]),
        (REPLACE_BY, "frozen.x", ["PK102"]),
        ("AddField('up.mod:{}', 'y', int, 1)", "Slots", ["PK102"]),
        ("AddField('up.mod:{}', 'y', int, 1)", "X", ["PK104"]),
        ("AddField('up.mod:{}', 'y', int, 1)", "Frozen", []),
        ("Add('up.mod:{}', by='g')", "C.__dict__", ["PK121"]),
        ("Add('up.mod:{}', by='g')", "C.__name__", ["PK121"]),
        ("Add('up.mod:{}', by='g')", "Level.LOW.__lt__", ["PK102"]),
    ],
)
def test_what_a_target_is_decides(
    world: World, change: str, target: str, expected: list[str]
) -> None:
    """Values, classes and slots are told from what is called, and left open where it is unknown."""
    text = change.format(target).replace(
        "'up.mod:" + target + "'", repr(f"up.mod:{target}")
    )
    world.pack(row("p", "patch_a", text), patch_a=BODY)
    assert codes(checked([subject("1.0", mod=KINDS)])) == expected


OBJECT = """
import abc, enum
class M(type):
    def of_meta(cls): ...
    def __call__(cls): ...
class C(metaclass=M):
    def m(self): ...
class P:
    @property
    def prop(self): ...
    def m(self): ...
    def __call__(self): ...
class New:
    def __new__(cls): ...
class Sub(New): ...
class A(abc.ABC): ...
class E(enum.Enum):
    RED = 1
def f(): ...
obj = P()
ROWS = [f, f]
PAIR = (f, f)
FILLED = [f]
def fill():
    FILLED.append(f)
"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("M.of_meta", []),
        ("M.__call__", []),
        ("C.m", []),
        ("C.of_meta", ["PK102"]),
        ("C.__call__", ["PK102"]),
        ("A.register", ["PK102"]),
        ("A.__init__", []),
        ("E.__call__", ["PK102"]),
        ("P.__new__", ["PK102"]),
        ("New.__new__", []),
        ("Sub.__new__", []),
        ("P.prop", []),
        ("P.prop.fget", ["PK102"]),
        ("P.__call__", []),
        ("obj.m", []),
        ("obj.prop", ["PK102"]),
        ("obj.__call__", ["PK102"]),
        ("ROWS[1]", []),
        ("ROWS[-1]", []),
        ("ROWS[-2]", []),
        ("ROWS[-3]", ["PK101"]),
        ("PAIR[0]", ["PK102"]),
        ("FILLED[-1]", ["PK104"]),
    ],
)
def test_a_target_is_where_it_can_be_set(
    world: World, target: str, expected: list[str]
) -> None:
    """What a class or an object only answers for is a finding, as no change can be made there."""
    wrap = f"Wrap({'up.mod:' + target!r}, by='w')"
    world.pack(row("p", "patch_a", wrap), patch_a=BODY)
    assert codes(checked([subject("1.0", mod=OBJECT)])) == expected


@pytest.mark.parametrize("change", [FIELD, "Wrap('up.mod:C.x', by='w')"])
def test_an_attribute_of_instances_is_told_by_its_method(
    world: World, change: str
) -> None:
    """The fix names the method that assigns it, and no other name that is similar."""
    mod = "class C:\n    def __init__(self): self.x = 1\n    def x_(self): ...\n"
    world.pack(row("p", "patch_a", change), patch_a=BODY)
    finding = only_finding(checked([subject("1.0", mod=mod)]), "PK101")
    assert finding.message == (
        "an instance attribute of up.mod:C, not one of the class: C.__init__ assigns it"
    )
    assert finding.fix == (
        "Wrap up.mod:C.__init__, and change the attribute of the instance there"
    )


@pytest.mark.parametrize(
    ("change", "mod", "expected"),
    [
        (FIELD, "class C:\n    x = 1", []),
        (FIELD, "@dataclasses.dataclass\nclass C:\n    x: int = 1", []),
        (
            FIELD,
            "@dataclasses.dataclass(slots=True)\nclass C:\n    x: int = 1",
            ["PK102"],
        ),
        (FIELD, "class C(typing.NamedTuple):\n    x: int = 1", ["PK102"]),
        (FIELD, "class B(msgspec.Struct):\n    x: int = 1\nclass C(B): ...", ["PK102"]),
        (FIELD, "@attrs.define\nclass C:\n    x: int = 1", ["PK102"]),
        (FIELD, "@attrs.define\nclass C:\n    x = 1", []),
        (FIELD, "class C(enum.Enum):\n    x = 1", ["PK102"]),
        (
            FIELD.replace("'N'", "'P.x'"),
            "class C(typing.NamedTuple):\n    x: int = 1",
            [],
        ),
        (HOOK, "class C:\n    def __init__(self): ...", []),
        (HOOK, "class C(msgspec.Struct):\n    x: int = 1", ["PK102"]),
        (
            HOOK,
            "class C(enum.Enum):\n    A = 1\n    def __init__(self, x): ...",
            ["PK102"],
        ),
        (HOOK, "class C(enum.Enum):\n    def __init__(self, x): ...", []),
        (ADD_SLOTS, "class C: ...", ["PK102"]),
        (LAYOUT, "class C(ctypes.Structure):\n    _fields_ = []", ["PK102"]),
        (LAYOUT, "class C:\n    _fields_ = []", []),
        (ADD_HOOK, "class C: ...", []),
        (ADD_HOOK, "class C(msgspec.Struct):\n    x: int = 1", ["PK102"]),
    ],
)
def test_a_target_that_its_class_does_not_hold_is_broken(
    world: World, change: str, mod: str, expected: list[str]
) -> None:
    """A default in a slot, a member of an enum and a constructor of msgspec have PK102."""
    body = f"{BODY}class P:\n    @property\n    def x(self): return 1\n"
    world.pack(row("p", "patch_a", change), patch_a=body)
    report = checked([subject("1.0", mod=IMPORTS + mod)])
    assert codes(report) == expected
    assert (report.grid["p"]["up 1.0"] == "broken") is bool(expected)


@pytest.mark.parametrize(
    ("change", "body", "expected"),
    [
        ("Replace('up.mod:C', by='D')", "class D(C): ...", ["PK102"]),
        (
            "Replace('up.mod:C', by='D')",
            "class D(C):\n    def m(self): return C.m(self)",
            ["PK102"],
        ),
        ("Replace('up.mod:C', by='D')", "class D(C):\n    def m(self): ...", []),
        ("Replace('up.mod:C', by='D', unrelated=True)", "class D(C): ...", []),
        ("Replace('up.mod:C.m', by='m')", "def m(self): super().m()", ["PK102"]),
        ("Replace('up.mod:C.m', by='m')", "def m(self): return super(C, self).m()", []),
        ("Add('up.mod:C.n', by='n')", "def n(self): super().m()", ["PK102"]),
        ("Add('up.mod:n', by='n')", "def n(self): super().m()", []),
        (
            "Replace('up.mod:C.m', by='D.m')",
            "class D:\n    def m(self): super().m()",
            ["PK102"],
        ),
    ],
)
def test_a_super_that_finds_the_wrong_class_is_broken(
    world: World, change: str, body: str, expected: list[str]
) -> None:
    """`super(C, self)` in a class that is replaced, and `super()` in what no class is around."""
    world.pack(row("p", "patch_a", change), patch_a=f"from up.mod import C\n{body}\n")
    report = checked([subject("1.0", mod=SUPER)])
    assert codes(report) == expected
    assert (report.grid["p"]["up 1.0"] == "broken") is bool(expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    return super().m()\n", ["PK102"]),
        ("    return super(C, instance).m()\n", []),
        ("    class D:\n        def m(self): return super().m()\n", []),
    ],
)
def test_super_in_a_wrapper(world: World, body: str, expected: list[str]) -> None:
    """`super()` in a function outside of a class fails when it is called, whatever is wrapped."""
    source = f"from up.mod import C\ndef w(wrapped, instance, args, kwargs):\n{body}"
    for target in ("up.mod:C.m", "up.mod:f"):
        world.pack(row("p", "patch_a", f"Wrap({target!r}, by='w')"), patch_a=source)
        mod = "class C:\n    def m(self): ...\ndef f(): ...\n"
        assert codes(checked([subject("1.0", mod=mod)])) == expected


@pytest.mark.parametrize(
    ("change", "mod", "expected"),
    [
        (REPLACE, "@out.side\ndef f(x): ...", ["PK105"]),
        (REPLACE, "def f(x): ...\nf = out.side(f)", ["PK105"]),
        ("Replace('up.mod:f', by='unknown')", "def f(x): ...", ["PK105"]),
        ("Replace('up.mod:f', by='g', unrelated=True)", "@out.side\ndef f(x): ...", []),
        ("Replace('up.mod:N', by='N')", "N = out.side()", []),
    ],
)
def test_nothing_is_ok_that_was_not_compared(
    world: World, change: str, mod: str, expected: list[str]
) -> None:
    """If a signature cannot be read, the state is undecided, and a note says why; nothing fails."""
    body = f"{BODY}import out\n@out.side\ndef unknown(): ...\n"
    world.pack(row("p", "patch_a", change), patch_a=body)
    report = checked([subject("1.0", mod=mod)])
    found = [finding.code.code for finding in report.findings]
    assert [code for code in found if code < "PK3"] == expected
    assert report.grid["p"]["up 1.0"] == ("undecided" if expected else "ok")


@pytest.mark.parametrize(("option", "expected"), [("", 1), (", unrelated=True", 0)])
def test_unrelated_lets_a_helper_of_replaced_callers_differ(
    world: World, option: str, expected: int
) -> None:
    """PK103 suggests `unrelated=True` for a helper with another signature, and ends with it."""
    mod = "class C:\n def run(self): return self._help(1)\n def _help(self, x): ..."
    helper = f"Replace('up.mod:C._help', by='help_'{option})"
    body = "def run(self): return self._help()\ndef help_(self): ..."
    world.pack(
        row("p", "patch_a", "Replace('up.mod:C.run', by='run')", helper), patch_a=body
    )
    report = checked([subject("1.0", mod=mod)])
    fixes = [finding.fix for finding in report.findings if finding.code.code == "PK103"]
    assert ["unrelated=True" in fix for fix in fixes] == [True] * expected


ENUM_VALUE = """
class Support(enum.Enum):
    NEVER = 0


class Backend:
    support = Support.NEVER
    typed: typing.ClassVar[Support] = Support.NEVER
"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("up.mod:Backend.support", []),
        ("up.mod:Backend.typed", []),
        ("up.mod:Support.NEVER", ["PK102"]),
    ],
)
def test_a_class_attribute_may_be_a_member_of_an_enum(
    world: World, target: str, expected: list[str]
) -> None:
    """The attribute is its class's own; only the enum's member is kept elsewhere."""
    change = f"Replace({target!r}, by='N')"
    world.pack(row("p", "patch_a", change), patch_a="N = 1\n")
    report = checked([subject("1.0", mod=IMPORTS + ENUM_VALUE)])
    assert codes(report) == expected


@pytest.mark.parametrize(
    ("roles", "expected"), [("{Role.MAIN}", []), ("{Role.WORKER}", ["PK101"])]
)
def test_another_row_may_provide_the_package_of_a_module(
    world: World, roles: str, expected: list[str]
) -> None:
    """It has to be for the same processes."""
    package = row("p", "patch_a", "Provide('up.new')", roles=roles)
    module = row("q", "patch_a", "Provide('up.new.mod')")
    world.pack(package, module, patch_a="__all__ = []\n")
    report = checked([subject("1.0", mod="x = 1\n")])
    assert codes(report) == expected


SPECIAL = """
class Color(enum.Enum):
    RED = 1


def f(a=1): ...


class Own:
    __code__ = 1
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("Add('up.mod:Color.GREEN', by='N')", ["PK102"]),
        ("Add('up.mod:Color._green', by='N')", []),
        ("Add('up.mod:Color.g', by='g')", []),
        ("Replace('up.mod:f.__code__', by='N')", ["PK102"]),
        ("Replace('up.mod:f.__defaults__', by='N')", ["PK102"]),
        ("Replace('up.mod:Own.__code__', by='N')", []),
    ],
)
def test_members_and_parts_of_functions_are_broken(
    world: World, change: str, expected: list[str]
) -> None:
    """They fail at run time, as Python keeps them elsewhere than in an attribute."""
    world.pack(row("p", "patch_a", change), patch_a="N = 1\ndef g(self): ...\n")
    report = checked([subject("1.0", mod=IMPORTS + SPECIAL)])
    assert codes(report) == expected


HELD_CLASSES = """
import threading
from outside import Lazy, Lazy as LAZY
from pydantic import BaseModel
from threading import Thread
class C: ...
class Sub(C): ...
class Worker(Thread): ...
TABLE = {"c": C, "thread": Thread}
"""
CLASSES = """
import threading
from outside import Lazy
from pydantic import BaseModel
from up.mod import C, Sub, Worker
class Loose: ...
class Unknown(Lazy): ...
class OfC(C): ...
class OfSub(Sub): ...
class OfThread(threading.Thread): ...
class OfTimer(threading.Timer): ...
class OfWorker(Worker): ...
class OfModel(BaseModel): ...
def function(): ...
"""


@pytest.mark.parametrize(
    ("target", "by", "expected"),
    [
        ("TABLE['c']", "Loose", ["PK102"]),
        ("TABLE['c']", "OfC", []),
        ("TABLE['c']", "OfSub", []),
        ("TABLE['c']", "function", ["PK102"]),
        ("TABLE['thread']", "Loose", ["PK102"]),
        ("TABLE['thread']", "OfTimer", []),
        ("Thread", "Loose", ["PK102"]),
        ("Thread", "Unknown", []),
        ("Thread", "OfThread", []),
        ("Thread", "OfTimer", []),
        ("Thread", "OfWorker", []),
        ("Thread", "function", ["PK102"]),
        ("BaseModel", "Loose", ["PK104"]),
        ("Lazy", "Loose", ["PK104"]),
        ("Lazy", "Unknown", []),
        ("LAZY", "Loose", []),
        ("BaseModel", "OfModel", []),
    ],
)
def test_a_class_that_a_table_or_another_package_holds_is_one(
    world: World, target: str, by: str, expected: list[str]
) -> None:
    """What replaces it derives from it, wherever it is defined; of other names that is open."""
    change = f"Replace({'up.mod:' + target!r}, by={by!r})"
    world.pack(row("p", "patch_a", change), patch_a=CLASSES)
    assert codes(checked([subject("1.0", mod=HELD_CLASSES)])) == expected


OPERATORS = """
import torch
from out import direct_register_custom_op
def plain(a): ...
def attend(a): ...
def _attend_fake(a): ...
def _mix(a): ...
def other(a): ...
@torch.library.custom_op("up::made", mutates_args=())
def made(a): ...
direct_register_custom_op("attend", attend, fake_impl=_attend_fake)
direct_register_custom_op(op_name="up::mix", op_func=_mix)
direct_register_custom_op("other_name", other)
if torch.cuda.is_available():
    direct_register_custom_op("plain", plain)
"""


@pytest.mark.parametrize(
    ("change", "target", "expected"),
    [
        (WRAP_OF, "attend", ["PK102"]),
        (REPLACE_BY_G, "attend", ["PK102"]),
        (REPLACE_BY_G, "plain", []),
        (WRAP_OF, "torch.ops.up.attend", []),
        (WRAP_OF, "_attend_fake", []),
        (WRAP_OF, "_mix", ["PK102"]),
        (WRAP_OF, "other", []),
        (WRAP_OF, "plain", []),
    ],
)
def test_the_function_of_an_operator_is_called_by_torch(
    world: World, change: str, target: str, expected: list[str]
) -> None:
    """What takes its place is not called; the operator is what can be changed."""
    world.pack(row("p", "patch_a", change.format(target)), patch_a=BODY)
    assert codes(checked([subject("1.0", mod=OPERATORS)])) == expected


@pytest.mark.parametrize(
    ("change", "mod", "fix"),
    [
        (
            WRAP,
            "class f: ...",
            "Wrap its __init__ or another method, or Replace it, or end",
        ),
        (WRAP, "f = 3", "Replace it, or end the range here and add a change for later"),
        (edit("x = 1", "x = 2"), "f = 3", "Replace it, or end the range here"),
        (
            edit("x = 1", "x = 2"),
            "class f: ...",
            "Edit its methods, or Replace it, or end",
        ),
        (
            "Add('up.mod:f', by='g')",
            "f = 3",
            "or Replace it, if yours is to be used there",
        ),
        ("Provide('up.mod', by='N')", "", "delete the row once no release needs it"),
        (ADD_FIELD, f"{DATACLASS}\n    x: int = 2", "once no release needs it"),
    ],
)
def test_the_fix_says_which_change_to_write_instead(
    world: World, change: str, mod: str, fix: str
) -> None:
    """What does not support one kind of change may support another."""
    world.pack(row("p", "patch_a", change), patch_a=BODY)
    (finding,) = [
        finding
        for finding in checked([subject("1.0", mod=mod)]).findings
        if finding.code.code in ("PK102", "PK121")
    ]
    assert fix in finding.fix
    assert finding.fix.startswith(fix) or finding.fix.endswith(fix)
