"""Names that code reads from its module, and those that nothing binds."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from patchkit.authoring.source.global_names import (
    readers_at_import,
    unbound_names,
    used_names,
)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(a, b=C):\n    d = a\n    return d + E", {"C", "E"}),
        ("@deco\ndef f(a: A) -> B: ...", {"deco", "A", "B"}),
        (
            "class K(Base):\n    x = Y\n    def m(self):\n        return x, K",
            {"Base", "Y", "x", "K"},
        ),
        ("V = [i for i in ROWS if (n := i)]", {"ROWS", "n", "i"}),
        ("def f():\n    global g\n    g = 1\n    return g", {"g"}),
    ],
)
def test_what_code_reads_from_its_module(code: str, names: set[str]) -> None:
    """Names of its own are left out, sooner or later read ones are in."""
    assert used_names(code) - {"i", "n"} == names - {"i", "n"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f():\n    return later\nlater = 1", set()),
        ("def f(a=later):\n    return a\nlater = 1", {"later"}),
        ("class K:\n    x = 1\n    y = x\n    def m(self): return x", {"x"}),
        ("class K:\n    y = K", {"K"}),
        ("class K:\n    def m(self) -> K: ...", {"K"}),
        (
            "from __future__ import annotations\nclass K:\n    def m(self) -> K: ...",
            set(),
        ),
        ("try:\n    import a\nexcept ImportError as e:\n    a = e\nb = a", set()),
        ("for i in range(2):\n    j = i\nk = j", set()),
        ("with open('x') as f, g as h:\n    f, h", {"g"}),
        (
            "match 1:\n    case [x, *y]:\n        z = x, y\n    case _: z = None\nz",
            set(),
        ),
        ("def f():\n    global g\n    g = 1\ndef h():\n    return g", set()),
        ("from a import *\nb = c\ndef f():\n    return d", set()),
        ("x = [i for i in range(3)]\ny = lambda a: a + b", {"b"}),
        ("print(__name__, __file__, len)", set()),
        ("class K:\n    print(__qualname__, __module__)", set()),
        ("x: int\ny: Absent = 1", {"Absent"}),
    ],
)
def test_what_nothing_binds_by_then(text: str, names: set[str]) -> None:
    """What the import reads has to be bound above, what functions read anywhere."""
    assert unbound_names(text) == names


def test_what_reads_a_name_as_the_module_is_imported() -> None:
    """Annotations and bodies of functions do not count, blocks and class bodies do."""
    text = dedent(
        """
        N = 1
        def f(a: N, b=N):
            return N
        if f:
            M = N
        class K(N):
            L = 1
            def m(self, n=L): ...
        """
    )
    tree = ast.parse(text)
    assert readers_at_import(tree, "N") == [3, 6, 7]
    assert readers_at_import(tree, "K.L") == [9]
    assert readers_at_import(tree, "Absent.L") == []
