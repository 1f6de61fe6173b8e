"""Whether the function of a Wrap takes what it is called with, and how it passes that on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

CONVENTION = "(wrapped, instance, args, kwargs)"
CALL = "return wrapped(*args, **kwargs)"


def wraps(world: World, target: str, body: str, mod: str) -> list[str]:
    """The codes about a target that `w` of the body wraps."""
    change = f"Wrap({'up.mod:' + target!r}, by='w')"
    world.pack(row("p", "patch_a", change), patch_a=body)
    found = codes(checked([subject("1.0", mod=mod)]))
    return [code for code in found if code.startswith("PK1")]


@pytest.mark.parametrize(
    "body",
    [
        f"def w(wrapped, self, *args, **kwargs): {CALL}",
        f"def w(wrapped, *args, **kwargs): {CALL}",
        "def w(wrapped, self, args, *kwargs): return wrapped(*args, *kwargs)",
        f"def w(wrapped, self, *args, **kwargs):\n    print(args)\n    {CALL}",
        f"def w(wrapped, self, *args, **kwargs):\n    def inner(): {CALL}\n    return inner()",
        "class w:\n    def __call__(self, *args): ...",
        "class A: ...\nclass w(A): ...",
        "class w:\n    def __init__(self, wrapped): ...",
    ],
)
def test_what_cannot_be_a_wrapper_is_found(world: World, body: str) -> None:
    """It takes other arguments, or the tuple and the dict as the original's own arguments."""
    assert wraps(world, "f", body, "def f(a): ...") == ["PK103"]


@pytest.mark.parametrize(
    "body",
    [
        f"def w{CONVENTION}: {CALL}",
        f"def w(wrapped, instance, *args):\n    args, kwargs = args\n    {CALL}",
        f"def w(wrapped, instance, *rest):\n    args, kwargs = rest\n    {CALL}",
        "def w(wrapped, instance, *args): return wrapped(*args[0], **args[1])",
        f"def w(wrapped, instance, *args, **kwargs):\n    if len(args) < 2: {CALL}",
        "def w(wrapped, instance, *args):\n"
        "    def inner(*args): return wrapped(*args)\n    return inner(*args[0])",
        "def w(wrapped, instance, *args):\n"
        "    def wrapped(*args): ...\n    return wrapped(*args)",
        f"def w(wrapped, instance, *args, **kwargs):\n    import a as wrapped\n    {CALL}",
        f"def w(*args, **kwargs):\n    wrapped = args[0]\n    {CALL}",
        f"from out import made\n@made\ndef w(wrapped, self, *args, **kwargs): {CALL}",
        "class w:\n    def __init__(self, *args): ...",
        "class w:\n    def __new__(cls, *args): ...",
        "class M(type):\n    def __call__(cls, *args): ...\nclass w(metaclass=M): ...",
        "from out import A\nclass w(A): ...",
        "from out import made\n@made\nclass w: ...",
        "class w:\n    if A:\n        def __init__(self, *args): ...",
    ],
)
def test_what_may_work_is_left_alone(world: World, body: str) -> None:
    """A wrapper that takes the two apart works, and of a class the source may not tell."""
    found = wraps(world, "f", body, "def f(a): ...")
    assert "PK103" not in found


def test_the_message_says_what_the_star_collects(world: World) -> None:
    """It names the parameters that a wrapper needs, and what arrives instead."""
    body = f"def w(wrapped, self, *args, **kwargs): {CALL}"
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a=body)
    finding = only_finding(checked([subject("1.0", mod="def f(a): ...")]), "PK103")
    assert finding.message == (
        f"w(wrapped, self, *args, **kwargs) has to take {CONVENTION}: *args gets (args, kwargs), "
        "and wrapped(*args, …) passes them on as they are"
    )
    assert finding.line == 1


METHOD = "class C:\n    def f(self, a, b=1): ..."
TWICE = "return wrapped(instance, *args, **kwargs)"


@pytest.mark.parametrize(
    "mod",
    [
        METHOD,
        "class C:\n    async def f(self, a): ...",
        "class C:\n    @classmethod\n    def f(cls, a): ...",
        "class B:\n    def f(self, a): ...\nclass C(B): ...",
    ],
)
def test_a_bound_method_does_not_get_its_instance_again(world: World, mod: str) -> None:
    """The original is bound already; `f(a, b=1)` would take its instance as `a`."""
    body = f"def w{CONVENTION}:\n    print(wrapped.__name__)\n    {TWICE}"
    world.pack(row("p", "patch_a", "Wrap('up.mod:C.f', by='w')"), patch_a=body)
    finding = only_finding(checked([subject("1.0", mod=mod)]), "PK103")
    assert finding.message == (
        "found wrapped(instance, *args, …) in w, which passes the instance twice; expected "
        "wrapped(*args, …), as wrapped is a bound method"
    )


@pytest.mark.parametrize(
    ("target", "body", "mod"),
    [
        ("f", TWICE, "def f(a): ..."),
        ("C.f", TWICE, "class C:\n    @staticmethod\n    def f(a): ..."),
        ("C.__new__", TWICE, "class C:\n    def __new__(cls, a): ..."),
        ("g", TWICE, f"{METHOD}\ng = C.f"),
        ("t['f']", TWICE, f"{METHOD}\nt = {{'f': C.f}}"),
        ("C.f", f"wrapped = wrapped.__func__\n    {TWICE}", METHOD),
        ("C.f", f"args = args[1:]\n    {TWICE}", METHOD),
        ("C.f", f"instance = 3\n    {TWICE}", METHOD),
        ("C.f", "return wrapped.__func__(instance, *args, **kwargs)", METHOD),
        ("C.f", f"if not hasattr(wrapped, '__self__'): {TWICE}\n    {CALL}", METHOD),
        ("C.f", f"try: {CALL}\n    except TypeError: {TWICE}", METHOD),
        ("C.f", "return wrapped(instance)", METHOD),
        ("C.f", "return wrapped(instance, *args[1:])", METHOD),
        ("C.f", CALL, METHOD),
    ],
)
def test_other_calls_of_the_original_are_left_alone(
    world: World, target: str, body: str, mod: str
) -> None:
    """What is no method, or was unbound, or is passed as another argument, may be meant."""
    assert "PK103" not in wraps(world, target, f"def w{CONVENTION}:\n    {body}", mod)
