"""Whether a Decorate holds in a release, by what its decorator takes and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, subject

if TYPE_CHECKING:
    from support.packages import World

BODY = """
import functools
def keeps(target):
    @functools.wraps(target)
    def inner(*args, **kwargs):
        return target(*args, **kwargs)
    return inner
def notes(target):
    print(target)
    return target
def narrow(target):
    def inner(a):
        return target(a)
    return inner
def with_self(target):
    def inner(self, a): ...
    return inner
def renamed(target):
    @functools.wraps(target)
    def inner(worker, *args, **kwargs): ...
    return inner
def bare(target):
    def inner(): ...
    return inner
def slow(target):
    async def inner(*args): ...
    return inner
def chooses(target):
    if target is None:
        return target
    return functools.lru_cache(target)
def nothing(target):
    target.marked = True
def two(target, other): ...
def factory(size=1, *rest): return rest
remember = functools.lru_cache(maxsize=3)
NUMBER = 3
class Holder:
    def __init__(self, target): ...
"""
FUNCTION = "def f(a, b=1): ..."
METHOD = "class C:\n    def f(self, a): ..."
CLASS_METHOD = "class C:\n    @classmethod\n    def f(cls, a): ..."
PROPERTY = "class C:\n    @property\n    def f(self): ..."
CACHED = (
    "import functools\nclass C:\n    @functools.cached_property\n    def f(self): ..."
)
STATIC = "class C:\n    @staticmethod\n    def f(a): ..."


@pytest.mark.parametrize(
    ("target", "by", "mod", "expected"),
    [
        ("f", "keeps", FUNCTION, []),
        ("f", "keeps", "x = 1", ["PK101"]),
        ("f", "keeps", "class f: ...", ["PK102"]),
        ("f", "remember", FUNCTION, []),
        ("f", "chooses", FUNCTION, []),
        ("f", "factory", FUNCTION, []),
        ("f", "Holder", FUNCTION, []),
        ("f", "narrow", FUNCTION, ["PK103"]),
        ("f", "narrow", "def f(a): ...", []),
        ("C.f", "with_self", METHOD, []),
        ("C.f", "narrow", METHOD, ["PK103"]),
        ("C.f", "narrow", STATIC, []),
        ("C.f", "renamed", METHOD, []),
        ("C.f", "renamed", CLASS_METHOD, []),
        ("C.f", "renamed", PROPERTY, []),
        ("C.f", "renamed", STATIC, ["PK103"]),
        ("f", "renamed", "def f(self, a): ...", ["PK103"]),
        ("C.f", "bare", "class C:\n    def f(self): ...", ["PK103"]),
        ("c.f", "narrow", f"{METHOD}\nc = C()", []),
        ("c.f", "with_self", f"{METHOD}\nc = C()", ["PK103"]),
        ("c.f", "notes", f"{METHOD}\nc = C()", ["PK102"]),
        ("c.f", "notes", f"{STATIC}\nc = C()", []),
        ("C.f", "notes", METHOD, []),
        ("t['f']", "notes", f"{FUNCTION}\nt = {{'f': f}}", []),
        ("f", "slow", "def f(*a): ...", ["PK102"]),
        ("f", "slow", "async def f(*a): ...", []),
        ("f", "nothing", FUNCTION, ["PK102"]),
        ("f", "two", FUNCTION, ["PK103"]),
        ("f", "NUMBER", FUNCTION, ["PK102"]),
        ("f", "lost", FUNCTION, ["PK503"]),
        ("f", "keeps", "globals().update(x())", ["PK104"]),
        ("f", "keeps", "from out import f", []),
        ("f", "keeps", "from out import F as f", ["PK104"]),
        ("f", "notes", FUNCTION, []),
        ("f", "notes", "class f: ...", []),
        ("C.f", "notes", CACHED, []),
        ("f", "notes", "f = [1]", ["PK104"]),
        ("f", "notes", "from functools import reduce as f", ["PK102"]),
        ("f", "notes", "import functools\n@functools.cache\ndef f(): ...", ["PK102"]),
        ("C.f", "keeps", "class C:\n    f = 3", []),
    ],
)
def test_what_a_decorator_takes_and_returns(
    world: World, target: str, by: str, mod: str, expected: list[str]
) -> None:
    """What the source is sure to say is found; what it leaves open is left to the run time."""
    change = f"Decorate({'up.mod:' + target!r}, by={by!r})"
    world.pack(row("p", "patch_a", change), patch_a=BODY)
    report = checked([subject("1.0", mod=mod)])
    assert [code for code in codes(report) if code[:3] in {"PK1", "PK5"}] == expected
