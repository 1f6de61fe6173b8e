"""Wordings: where a definition is written, and which edits give it another mark."""

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
        if module not in texts:
            return None
        text, is_package = texts[module]
        return textwrap.dedent(text).encode(), is_package

    return wording_of(read, "up", qualname)


def mark(source: str, qualname: str = "x", **modules: str) -> str:
    """The mark of a wording that there must be."""
    written = wording(source, qualname, **modules)
    assert written is not None
    return written.mark


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
    """A wording spans a definition with decorators, brackets and remarks, and nothing after it."""
    written = wording(source)
    assert written is not None
    assert written.lines == (lines,)


def test_finds_members_of_nested_classes() -> None:
    """A member is found in the class that its qualname names, at any depth, never in a function."""
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
    lines_by_qualname = {"A.x": (3, 3), "B.C.x": (7, 7), "B.x": (8, 9)}
    for qualname, lines in lines_by_qualname.items():
        written = wording(source, qualname)
        assert written is not None, qualname
        assert written.lines == (lines,), qualname
    assert wording(source, "x") is None


@pytest.mark.parametrize(
    "edited",
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
def test_another_text_or_binding_is_another_wording(edited: str) -> None:
    """Other text, whatever else may bind the name, and a condition around it change the mark."""
    written = wording(edited)
    assert written is None or written.mark != mark(PLAIN)


def test_the_condition_above_an_else_counts() -> None:
    """A definition in an `else` has another mark if the condition of its `if` changes."""
    source = "if {}:\n    y = 1\nelse:\n    def x(a): ...\n"
    assert mark(source.format("a")) != mark(source.format("b"))


def test_the_rest_of_the_module_does_not_count() -> None:
    """Imports and definitions around a definition do not change its mark."""
    before = "import y\ndef z(): return 1\n\n\n"
    after = "\n\nclass Y: ...\n"
    assert mark(before + PLAIN + after) == mark(PLAIN)


def test_follows_plain_imports() -> None:
    """A re-export has the module and the lines of its definition, and a mark of its own."""
    source = "from .a import (  # here\n    x as y,\n)\n"
    written = wording(source, "y", a="from up.b import x\n", b=PLAIN)
    assert written is not None
    assert (written.module, written.lines) == ("up.b", ((1, 2),))
    assert written.mark != mark(PLAIN)


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
def test_there_is_no_wording_where_indentation_does_not_tell(
    source: str, qualname: str
) -> None:
    """Names that are missing, inherited, ambiguous, indented by tabs, or items have no wording."""
    assert wording(source, qualname) is None


def test_a_text_that_misleads_gets_no_wording_in_the_lock() -> None:
    """Where the parser sees other lines than indentation does, the lock gets no wording."""
    misleading = 'def x():\n    a = """\nclass y:\n"""\n    return a\n'
    assert wording(misleading) is not None
    assert facts_of(release(misleading), Target("up", "x")).wording is None
    assert facts_of(release(PLAIN), Target("up", "x")).wording == mark(PLAIN)


def _edited(source: str, chance: random.Random, names: list[str]) -> str:
    """Change lines: cut, doubled, moved, indented, or others that bind or wrap a name."""
    lines = source.splitlines()
    for _ in range(chance.randint(1, 3)):
        index = chance.randrange(len(lines))
        line = lines[index]
        name = chance.choice(names).split(".")[0]
        replacements: list[list[str]] = [
            [],
            [line, line],
            [line.replace("1", "2").replace("self", "this")],
            ["    " + line],
            [line.removeprefix("    ")],
            [line, f"{name} = print"],
            [line, f"from os import path as {name}"],
            [line, "# a remark"],
            [line, f"{name} = cache({name})", f"def {name}(): return {index}"],
            [f"def {name}(): return {index}", f"{name}.more = {name}"],
            [line, f"@{name}.register(int)", f"def _(): return {index}"],
            [line, f"register_custom_op(op_func={name}, mutates_args=[{index}])"],
            [line, '"""', line, '"""'],
            [lines[index - 1], line],
        ]
        lines[index : index + 1] = chance.choice(replacements)
    return "\n".join(lines)


@given(st.sampled_from(STANDARD), st.integers(0, 1 << 32))
@settings(max_examples=30, deadline=None)
def test_the_same_wording_is_the_same_source(name: str, seed: int) -> None:
    """Whatever is edited, a target that keeps its wording keeps its fingerprint."""
    chance = random.Random(seed)
    source = _source(name)
    targets = _targets(ast.parse(source))
    if seed % 2:
        source = _edited(source, chance, targets)
    edited = _edited(source, chance, targets)
    try:
        ast.parse(source)
        ast.parse(edited)
    except SyntaxError:
        return
    old = Resolver(Memory({"up.": source}))
    new = Resolver(Memory({"up.": edited}))
    for qualname in chance.sample(targets, min(8, len(targets))):
        target = Target("up", qualname)
        before = facts_of(old, target)
        written = wording(edited, qualname)
        if before.wording and written and written.mark == before.wording:
            assert facts_of(new, target).fingerprint == before.fingerprint
