"""What rows of a diff lead to, compared with what `patch` makes of the same diff."""

from __future__ import annotations

import shutil
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from support.packages import World, world

from authoring.diffs.diff_of_up import adopt_diff, answers, places, unified

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["world"]

needs_patch = pytest.mark.skipif(
    shutil.which("patch") is None, reason="the program `patch` is the judge"
)

PROVIDER = """
provider = None
count = 0


def set_provider(value):
    global provider
    provider = value


class C:
    def m(self):
        return 1
"""
TABLE = """
TABLE = {
    "a": 1,
    "b": {"c": 2, "d": 3},
}
ALL = tuple(TABLE)
SAME = TABLE
"""
REGISTRY = """
import dataclasses


class Entry:
    def __init__(self, module, name):
        self.text = f"{module}:{name}"

    def __repr__(self):
        return self.text


@dataclasses.dataclass
class Registry:
    models: dict


SOME = {
    "a": ("x", "A"),
}
MORE = {
    "b": ("y", "B"),
    **{key: pair for key, pair in SOME.items() if key != "a"},
    **{key: pair for key, pair in SOME.items() if key == "a"},
}
ALL = {**SOME, **MORE}
registry = Registry(
    {
        key: Entry(module=f"up.{module}", name=name)
        for key, (module, name) in ALL.items()
    }
)
"""
BASE = """
class Base:
    size = 1

    def m(self, a):
        return ("base", a)

    def n(self):
        return 1
"""
SUB = """
from up.base import Base


class Sub(Base):
    def n(self):
        return 2
"""
DEFAULTS = """
import dataclasses

LIMIT = 1
TWICE = LIMIT * 2


def deco(function):
    def call():
        return function() + 1

    return call


@deco
def f():
    return 1


def g(limit=LIMIT, *, twice=TWICE):
    return limit, twice


class C:
    size = LIMIT

    def m(self, limit=LIMIT):
        return limit


@dataclasses.dataclass
class D:
    a: int = 0
"""

FORMS: Mapping[str, tuple[str, dict[str, str], dict[str, str], list[str], str]] = {
    "a global that another function sets": (
        "lib",
        {"lib": PROVIDER},
        {
            "lib": PROVIDER
            + "\n\ndef get_provider():\n    return provider, f'{provider}'\n"
        },
        ["Add up.lib:get_provider"],
        "from up import lib; lib.set_provider(3); value = lib.get_provider()",
    ),
    "a global that is read in a method": (
        "lib",
        {"lib": PROVIDER},
        {
            "lib": PROVIDER
            + "\n    def provider(self):\n        return provider, [count for _ in 'ab']\n"
        },
        ["Add up.lib:C.provider"],
        "from up import lib; lib.set_provider(3); lib.count = 5; value = lib.C().provider()",
    ),
    "a new global that others set": (
        "lib",
        {"lib": PROVIDER},
        {"lib": PROVIDER + "\n\nSTATE = None\n\n\ndef state():\n    return STATE\n"},
        ["Add up.lib:STATE", "Add up.lib:state"],
        "from up import lib; lib.STATE = 3; value = lib.state()",
    ),
    "a name that is bound under a condition": (
        "lib",
        {"lib": "try:\n    import nothing\nexcept ImportError:\n    nothing = None\n"},
        {
            "lib": "try:\n    import nothing\nexcept ImportError:\n    nothing = None\n\n\n"
            "def f(a=nothing):\n    return nothing, a\n"
        },
        ["Add up.lib:f"],
        "from up import lib; value = lib.f()",
    ),
    "a method that overrides an inherited one": (
        "sub",
        {"base": BASE, "sub": SUB},
        {
            "base": BASE,
            "sub": SUB + "\n    def m(self, a):\n        return ('sub', a)\n",
        },
        ["Replace up.sub:Sub.m"],
        "from up import base, sub; value = [base.Base().m(1), sub.Sub().m(1)]",
    ),
    "an overriding method with other parameters": (
        "sub",
        {"base": BASE, "sub": SUB},
        {
            "base": BASE,
            "sub": SUB + "\n    def m(self, *, b):\n        return super().m(b)\n",
        },
        ["Replace up.sub:Sub.m"],
        "from up import sub; value = sub.Sub().m(b=1)",
    ),
    "a class attribute that overrides an inherited one": (
        "sub",
        {"base": BASE, "sub": SUB},
        {"base": BASE, "sub": SUB + "\n    size = 2\n"},
        ["Replace up.sub:Sub.size"],
        "from up import base, sub; value = [base.Base.size, sub.Sub.size]",
    ),
    "a constant that defaults, class attributes and constants use": (
        "lib",
        {"lib": DEFAULTS},
        {"lib": DEFAULTS.replace("LIMIT = 1", "LIMIT = 5")},
        [
            "Edit up.lib:C.m",
            "Edit up.lib:g",
            "Replace up.lib:C.size",
            "Replace up.lib:LIMIT",
            "Replace up.lib:TWICE",
        ],
        "from up import lib; value = [lib.g(), lib.C.size, lib.C().m(), lib.TWICE]",
    ),
    "items of a table": (
        "lib",
        {"lib": TABLE},
        {
            "lib": TABLE.replace('"a": 1', '"a": 0').replace(
                '"d": 3}', '"d": 4, "e": len("ab")}'
            )
        },
        [
            "Add up.lib:TABLE['b']['e']",
            "Replace up.lib:TABLE['a']",
            "Replace up.lib:TABLE['b']['d']",
            "left up.lib:ALL",
        ],
        "from up import lib; value = [lib.TABLE, lib.SAME]",
    ),
    "an item of a table that a registry is made from": (
        "lib",
        {"lib": REGISTRY},
        {
            "lib": REGISTRY.replace(
                '"a": ("x", "A"),', '"a": ("x", "A"),\n    "c": ("z", "C"),'
            )
        },
        [
            "Add up.lib:ALL['c']",
            "Add up.lib:MORE['c']",
            "Add up.lib:SOME['c']",
            "Add up.lib:registry.models['c']",
        ],
        "from up import lib; models = lib.registry.models.items();"
        "value = [lib.SOME, lib.MORE, sorted(map(str, models))]",
    ),
    "an import from elsewhere": (
        "user",
        {
            "a": "def f():\n    return 1\n",
            "b": "def f():\n    return 2\n",
            "user": "from up.a import f\n\n\ndef use():\n    return f()\n",
        },
        {
            "a": "def f():\n    return 1\n",
            "b": "def f():\n    return 2\n",
            "user": "from up.b import f\n\n\ndef use():\n    return f()\n",
        },
        ["Replace up.user:f"],
        "from up import user; value = user.use()",
    ),
    "a function that becomes an import": (
        "user",
        {"b": "def f():\n    return 2\n", "user": "def f():\n    return 1\n"},
        {"b": "def f():\n    return 2\n", "user": "from up.b import f\n"},
        ["Replace up.user:f"],
        "from up import user; value = user.f()",
    ),
    "an import that becomes a function": (
        "user",
        {"b": "def f():\n    return 2\n", "user": "from up.b import f\n"},
        {"b": "def f():\n    return 2\n", "user": "def f():\n    return 1\n"},
        ["Replace up.user:f"],
        "from up import user; value = user.f()",
    ),
    "a new package with a module": (
        "lib",
        {"lib": "x = 1\n"},
        {
            "lib": "x = 1\n",
            "new.deep.mod": "from up.lib import x\n\n\ndef f():\n    return x\n",
        },
        ["Provide up.new", "Provide up.new.deep", "Provide up.new.deep.mod"],
        "from up.new.deep import mod; value = mod.f()",
    ),
    "a decorator that is gone": (
        "lib",
        {
            "lib": "import functools\n\ncalls = []\n\n\n@functools.lru_cache\n"
            "def f():\n    calls.append(1)\n    return len(calls)\n"
        },
        {
            "lib": "import functools\n\ncalls = []\n\n\n"
            "def f():\n    calls.append(1)\n    return len(calls)\n"
        },
        ["Replace up.lib:f"],
        "from up import lib; value = [lib.f(), lib.f(), hasattr(lib.f, 'cache_clear')]",
    ),
    "a function that becomes a class": (
        "lib",
        {"lib": "def f():\n    return 1\n\n\nclass C:\n    def m(self): ...\n"},
        {
            "lib": "class f:\n    def m(self):\n        return 1\n\n\n"
            "def C():\n    return 2\n"
        },
        ["Replace up.lib:C", "Replace up.lib:f"],
        "from up import lib; value = [lib.f().m(), lib.C()]",
    ),
    "a method that is defined twice": (
        "lib",
        {"lib": "class C:\n    def m(self):\n        return 1\n"},
        {
            "lib": "class C:\n    def m(self):\n        return 1\n\n"
            "    def m(self):\n        return 2\n"
        },
        ["Edit up.lib:C.m"],
        "from up import lib; value = lib.C().m()",
    ),
    "a class with texts and a field with arithmetic": (
        "lib",
        {"lib": DEFAULTS},
        {
            "lib": DEFAULTS
            + "    b: int = 512 * 1024\n\n\nclass E:\n    'Words.'\n\n    x = 1\n    'More.'\n"
        },
        ["Add up.lib:E", "AddField up.lib:D"],
        "from up import lib; value = [lib.D().b, lib.E.__doc__, lib.E.x]",
    ),
}


@needs_patch
@pytest.mark.processes
@pytest.mark.parametrize("form", FORMS)
def test_rows_do_what_the_diff_does(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: str,
) -> None:
    """Each change is in the row that is expected, and has the effect that the diff has."""
    _module, old, new, expected, code = FORMS[form]
    text = unified(old, new)
    report = adopt_diff(world, monkeypatch, capsys, old, text)
    assert places(report) == expected
    by_patch, by_rows = answers(world, old, text, code)
    assert by_rows == by_patch


def test_a_changed_decorator_is_listed_with_what_it_has_decorated(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function keeps what its decorator has made of it; so does what a call has made."""
    old = {"lib": DEFAULTS + "\n\ndef make():\n    return 1\n\n\nMADE = make()\n"}
    new = {
        "lib": old["lib"]
        .replace("function() + 1", "function() + 2")
        .replace("return 1\n\n\nMADE", "return 2\n\n\nMADE")
    }
    report = adopt_diff(world, monkeypatch, capsys, old, unified(old, new))
    assert places(report) == [
        "Edit up.lib:deco",
        "Edit up.lib:make",
        "left up.lib:MADE",
        "left up.lib:f",
    ]
    assert "it used deco as the module was imported" in report["left"][0]["reason"]


def test_a_class_that_was_made_with_a_changed_base_is_listed(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its bases are those that it was made with."""
    old = {
        "a": "class Base: ...\n",
        "b": "class Base: ...\n",
        "lib": "from up.a import Base\n\n\nclass C(Base):\n    x = 1\n",
    }
    new = {**old, "lib": old["lib"].replace("up.a", "up.b")}
    report = adopt_diff(world, monkeypatch, capsys, old, unified(old, new))
    assert places(report) == ["Replace up.lib:Base", "left up.lib:C"]


def test_what_check_would_refuse_is_in_no_row(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member of an enum and slots are what Python has made them; the rest becomes rows."""
    old = {
        "lib": dedent(
            """
            import enum


            class Color(enum.Enum):
                RED = 1


            class S:
                __slots__ = ("a",)


            def f():
                return 1
            """
        )
    }
    new = {
        "lib": old["lib"]
        .replace("RED = 1", "RED = 2")
        .replace('("a",)', '("a", "b")')
        .replace("return 1", "return 2")
    }
    report = adopt_diff(world, monkeypatch, capsys, old, unified(old, new))
    assert places(report) == [
        "Edit up.lib:f",
        "left up.lib:Color.RED",
        "left up.lib:S.__slots__",
    ]


def test_a_state_of_a_new_module_is_listed(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its functions set a global of the body, and others read that of the module."""
    old = {"lib": "x = 1\n"}
    new = {**old, "states": PROVIDER}
    report = adopt_diff(world, monkeypatch, capsys, old, unified(old, new))
    assert places(report) == ["Provide up.states", "left up.states:provider"]
