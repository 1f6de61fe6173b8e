from __future__ import annotations

import ast
import random
import textwrap
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.upstream.memory import Memory, release
from analysis.upstream.test_fingerprint_law import STANDARD, _source, _targets
from patchkit.analysis.upstream.facts import facts_of
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target
from patchkit.core.text.wording import wording_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchkit.core.text.wording import Wording


def wording(source: str, qualname: str = "x", **modules: str) -> Wording | None:
    """How a name of `up` is written."""
    texts: Mapping[str, tuple[str, bool]] = {
        "up": (source, True),
        **{f"up.{name}": (text, False) for name, text in modules.items()},
    }

    def read(module: str) -> tuple[bytes, bool] | None:
        found = texts.get(module)
        return (textwrap.dedent(found[0]).encode(), found[1]) if found else None

    return wording_of(read, "up", qualname)


def mark(source: str, qualname: str = "x", **modules: str) -> str:
    found = wording(source, qualname, **modules)
    assert found is not None
    return found.mark


PLAIN = "def x(a):\n    return a\n"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (PLAIN, (1, 2)),
        ("import y\n\n\n" + PLAIN + "\n# after\n\ny = 1\n", (4, 5)),
        ("@y(\n    1,\n)\n@z\n" + PLAIN, (1, 6)),
        ("def y():\n    pass\n" + PLAIN, (3, 4)),
        ("def x(\n    a,\n) -> int:\n    return a\ny = 1", (1, 4)),
        ("def x(a):\n# a remark\n    return a\n", (1, 3)),
        ("async def x(a):\n    return a", (1, 2)),
        ("class x(\n    y,\n):\n    def x(self): ...\n\n    z = 1\n", (1, 6)),
        (
            "try:\n    import y\nexcept ImportError:\n    def x(a):\n        return a\n",
            (4, 5),
        ),
        ("x = [\n    1,\n]\ny = 2", (1, 3)),
        ("x: int = 1", (1, 1)),
        ("def x(): return 1\r\ny = 1\r\n", (1, 1)),
    ],
)
def test_finds_the_lines_of_a_definition(source: str, lines: tuple[int, int]) -> None:
    """Decorators, brackets and remarks belong to it; what follows does not."""
    found = wording(source)
    assert found is not None
    assert found.lines == (lines,)


def test_finds_members() -> None:
    """Of the class that is named, at any depth, and none of a function's own names."""
    source = """
    class A:
        def x(self): return 1
    class B:
        class C:
            if y:
                def x(self): return 2
        def x(self):
            def x(): return 3
    """
    found = [wording(source, name) for name in ("A.x", "B.C.x", "B.x", "x")]
    assert [one and one.lines for one in found] == [
        ((3, 3),),
        ((7, 7),),
        ((8, 9),),
        None,
    ]


@pytest.mark.parametrize(
    "other",
    [
        "def x(a):\n    return b\n",
        "@y\n" + PLAIN,
        PLAIN + "    # a remark\n    pass\n",
        PLAIN + "x = y(x)\n",
        PLAIN + "from y import x\n",
        PLAIN + "from y import (\n    x,\n)\n",
        PLAIN + "from y import z as x\n",
        PLAIN + "from y import *\n",
        PLAIN + "setattr(y, 'z', 1)\n",
        PLAIN + "def y():\n    global x\n    x = 1\n",
        PLAIN + "def __getattr__(name): ...\n",
        PLAIN + PLAIN,
        "if y:\n" + textwrap.indent(PLAIN, "    "),
    ],
)
def test_another_text_or_binding_is_another_wording(other: str) -> None:
    """Whatever may bind the name counts, and so do the conditions around it."""
    found = wording(other)
    assert found is None or found.mark != mark(PLAIN)


def test_conditions_count() -> None:
    """Also those of an `else`, which stand above it."""
    source = "if {}:\n    y = 1\nelse:\n    def x(a): ...\n"
    assert mark(source.format("a")) != mark(source.format("b"))


def test_the_rest_of_the_module_does_not_count() -> None:
    """Other definitions come and go."""
    assert mark(
        "import y\ndef z(): return 1\n\n\n" + PLAIN + "\n\nclass Y: ...\n"
    ) == mark(PLAIN)


def test_follows_plain_imports() -> None:
    """A re-export is written as what it leads to, and where from."""
    source = "from .a import (  # here\n    x as y,\n)\n"
    found = wording(source, "y", a="from up.b import x\n", b=PLAIN)
    assert found is not None
    assert (found.module, found.lines) == ("up.b", ((1, 2),))
    assert found.mark != mark(PLAIN)


@pytest.mark.parametrize(
    ("source", "qualname"),
    [
        ("", "x"),
        ("from .a import x", "x"),
        ("from .a import x\nfrom .b import x", "x"),
        ("if y:\n\tdef x(): ...", "x"),
        ("x = {'k': 1}", "x['k']"),
        ("class A(B): ...", "A.x"),
        ("from .. import x", "x"),
        ("from . import x", "x"),
        ("class A:\n    def x(self): ...\ndef A(): ...", "A.x"),
    ],
)
def test_says_nothing_of_what_indentation_does_not_tell(
    source: str, qualname: str
) -> None:
    """Missing, inherited, bound or imported in several ways, indented by tabs, items."""
    assert wording(source, qualname) is None


def test_a_text_that_misleads_is_refused() -> None:
    """Where the parser sees other lines than indentation does, the lock gets no wording."""
    tricky = 'def x():\n    a = """\nclass y:\n"""\n    return a\n'
    assert wording(tricky) is not None
    assert facts_of(release(tricky), Target("up", "x")).wording is None
    assert facts_of(release(PLAIN), Target("up", "x")).wording == mark(PLAIN)


def _edited(source: str, chance: random.Random, names: list[str]) -> str:
    """Change lines: cut, doubled, moved, indented, or others that bind or wrap a name."""
    lines = source.splitlines()
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        name = chance.choice(names).split(".")[0]
        lines[at : at + 1] = chance.choice(
            [
                [],
                [lines[at], lines[at]],
                [lines[at].replace("1", "2").replace("self", "this")],
                ["    " + lines[at]],
                [lines[at].removeprefix("    ")],
                [lines[at], f"{name} = print"],
                [lines[at], f"from os import path as {name}"],
                [lines[at], "# a remark"],
                [lines[at], f"{name} = cache({name})", f"def {name}(): return {at}"],
                [f"def {name}(): return {at}", f"{name}.more = {name}"],
                [lines[at], f"@{name}.register(int)", f"def _(): return {at}"],
                [lines[at], f"register_custom_op(op_func={name}, mutates_args=[{at}])"],
                [lines[at], '"""', lines[at], '"""'],
                [lines[at - 1], lines[at]],
            ]
        )
    return "\n".join(lines)


@given(st.sampled_from(STANDARD), st.integers(0, 1 << 32))
@settings(max_examples=30, deadline=None)
def test_the_same_wording_is_the_same_source(name: str, seed: int) -> None:
    """Whatever is edited: a target with a wording that was reviewed has a reviewed fingerprint."""
    chance = random.Random(seed)
    source = _source(name)
    targets = _targets(ast.parse(source))
    source = _edited(source, chance, targets) if seed % 2 else source
    edited = _edited(source, chance, targets)
    try:
        ast.parse(source)
        ast.parse(edited)
    except SyntaxError:
        return
    old, new = (Resolver(Memory({"up.": text})) for text in (source, edited))
    for target in (
        Target("up", one) for one in chance.sample(targets, min(8, len(targets)))
    ):
        before = facts_of(old, target)
        written = wording(edited, target.qualname)
        if before.wording and written and written.mark == before.wording:
            assert facts_of(new, target).fingerprint == before.fingerprint
