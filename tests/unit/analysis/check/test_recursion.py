"""A Replace by a function that calls its target by the target's name, and so itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

MOD = """
def f(a): return a, 1
def kept(a): return a
class C:
    def m(self, a): return a, 1
class D(C):
    def m(self, a): return a, 2
"""
IMPORTS = """
import up.mod
import up.mod as alias
from out import other
from up import mod
from up.mod import C, D
from up.mod import f as original
"""


def found(world: World, target: str, function: str) -> list[str]:
    """The codes about a target that `g` of the body replaces."""
    change = f"Replace('up.mod:{target}', by='g')"
    world.pack(row("p", "patch_a", change), patch_a=f"{IMPORTS}{function}\n")
    return codes(checked([subject("1.0", mod=MOD)]))


@pytest.mark.parametrize(
    ("target", "function"),
    [
        ("f", "def g(a): return mod.f(a)"),
        ("f", "def g(a): return up.mod.f(a)"),
        (
            "f",
            "def g(a):\n    print(a)\n    result = 1 + alias.f(a)\n    return result",
        ),
        ("f", "def g(a):\n    if a:\n        print(a)\n    return mod.f(a) or a"),
        ("C.m", "def g(self, a): return C.m(self, a)"),
        ("C.m", "def g(self, a): return mod.C.m(self, a)"),
    ],
)
def test_a_function_that_always_calls_itself(
    world: World, target: str, function: str
) -> None:
    """The target's name leads to the function, so each call ends in another one."""
    assert found(world, target, function) == ["PK102"]


@pytest.mark.parametrize(
    ("target", "function"),
    [
        ("f", "def g(a): return original(a)"),
        ("f", "first = mod.f\ndef g(a): return first(a)"),
        ("f", "def g(a): return mod.kept(a)"),
        ("f", "def g(a): return other.f(a)"),
        ("f", "def g(a): return a and mod.f(a - 1)"),
        ("f", "def g(a): return mod.f(a - 1) if a else 0"),
        ("f", "def g(a): return [mod.f(part) for part in a]"),
        ("f", "def g(a): return lambda: mod.f(a)"),
        ("f", "def g(a): return 0 < a < mod.f(a - 1)"),
        ("f", "def g(a):\n    if not a:\n        return 0\n    return mod.f(a - 1)"),
        ("f", "def g(a):\n    for part in a:\n        mod.f(part)"),
        ("f", "def g(a):\n    mod.f = original\n    return mod.f(a)"),
        ("f", "def g(a):\n    setattr(mod, 'f', original)\n    return mod.f(a)"),
        ("f", "def g(a):\n    mod = other\n    return mod.f(a)"),
        ("f", "@other\ndef g(a): return mod.f(a)"),
        ("D.m", "def g(self, a): return C.m(self, a)"),
    ],
)
def test_a_call_that_is_another_or_depends_is_left_alone(
    world: World, target: str, function: str
) -> None:
    """A call of the kept original is not the function, and one below a condition may end."""
    assert found(world, target, function) == []


def test_the_message_names_the_call(world: World) -> None:
    """It says what the name would be, and where the function is."""
    body = "from up import mod\ndef g(a): return mod.f(a)\n"
    world.pack(row("p", "patch_a", "Replace('up.mod:f', by='g')"), patch_a=body)
    finding = only_finding(checked([subject("1.0", mod=MOD)]), "PK102")
    assert finding.message == (
        "found mod.f(…) in g, where mod.f would be g: the function calls itself"
    )
    assert finding.line == 2
    assert finding.fix.startswith("Wrap it, and call wrapped(…); or change the body")
