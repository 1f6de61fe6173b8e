"""Names that functions in a body read from upstream's module at each call."""

from __future__ import annotations

import pytest

from patchkit.authoring.diffs.module_reads import (
    name_for_module,
    reading_at_calls,
    rebindable_names,
)
from patchkit.authoring.source.definitions import Definitions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    return x\n", "def f():\n    return m.x\n"),
        ("def f(a=x):\n    return a\n", "def f(a=x):\n    return a\n"),
        ("def f(x):\n    return x\n", "def f(x):\n    return x\n"),
        ("def f():\n    x = 1\n    return x\n", "def f():\n    x = 1\n    return x\n"),
        (
            "def f():\n    return [x for _ in x]\n",
            "def f():\n    return [m.x for _ in m.x]\n",
        ),
        (
            "def f():\n    return [x for x in y]\n",
            "def f():\n    return [x for x in y]\n",
        ),
        (
            "def f():\n    def g():\n        return x  # why\n    return g\n",
            "def f():\n    def g():\n        return m.x  # why\n    return g\n",
        ),
        ("f = lambda: x\n", "f = lambda: m.x\n"),
        ("f = x\n", "f = x\n"),
        (
            "class C:\n    x = 1\n\n    def f(self):\n        return x\n",
            "class C:\n    x = 1\n\n    def f(self):\n        return m.x\n",
        ),
        ("def f() -> x:\n    a: x = x\n", "def f() -> x:\n    a: x = m.x\n"),
        ("def f():\n    return c.x\n", "def f():\n    return c.x\n"),
    ],
)
def test_only_what_runs_at_a_call_is_read_there(text: str, expected: str) -> None:
    assert reading_at_calls(text, {"x"}, "m") == expected


def test_a_name_in_a_text_is_read_there_too() -> None:
    """Not every Python says where in an f-string a name is."""
    text = 'def f():\n    return f"a {x!r:>{x}} " "b" f"{x}"\n'
    namespace = {"m": type("M", (), {"x": 7}), "x": 3}
    exec(reading_at_calls(text, {"x"}, "m"), namespace)
    assert namespace["f"]() == "a       7 b7"


def test_names_that_may_be_set_anew() -> None:
    """Numbers and states are, definitions and objects of one statement are not."""
    text = """
import a
import a.b
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from a import T
try:
    import c
except ImportError:
    c = None
LIMIT = 1
state = None
logger = init_logger(__name__)
CACHE = {}
lock = threading.Lock()
number = compute()
changed = {}


def f():
    global changed, later
    changed = later = {}


class C: ...
"""
    module = Definitions.of("up/mod.py", text.encode())
    assert rebindable_names(module) == {
        "LIMIT",
        "c",
        "changed",
        "later",
        "number",
        "state",
    }


def test_the_name_of_the_module_means_nothing_else() -> None:
    module = Definitions.of("up/mod.py", b"mod_module = 1\n")
    assert name_for_module(module) == "mod_module_"
