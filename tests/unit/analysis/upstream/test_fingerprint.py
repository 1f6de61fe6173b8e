"""Fingerprints: what counts in a source, and what does not."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from analysis.upstream.memory import release, resolve
from patchkit.analysis.upstream import fingerprint
from patchkit.analysis.upstream.facts import facts_of
from patchkit.core.rows.target import Target

CORPUS = Path(__file__).parent / "corpus_fingerprints.json"


def fingerprint_of(source: str) -> str:
    """The fingerprint of `x` in a module."""
    result = fingerprint.of_resolution(resolve(source, "x"))
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("source", "edited"),
    [
        ("def x(): return 1", "# why\ndef x():\n\n    return (1)  # one"),
        ("def x(): return 1", 'def x():\n    """Doc."""\n    return 1'),
        ("def x(): ...", "def x(): pass"),
        ("def x(a, b=1): return a", "def x(a: int, b: str = 1) -> int: return a"),
        ("def x():\n a = 1\n return a", "def x():\n a: int = 1\n b: str\n return a"),
        ("x = 'a'", 'x = "a"'),
        ("x = 'ab'", "x = 'a' 'b'"),
        ("x = 16", "x = 0x10"),
        ("x = 1", "x: int = 1"),
        ("x = f'{a!r:>3}b'", 'x = f"{a!r:>3}" "b"'),
        (
            "class x:\n def a(self): ...\n def b(self): ...",
            "class x:\n def b(self): ...\n def a(self): ...",
        ),
        ("class x:\n a = 1", "class x:\n 'Doc.'\n a = 1\n 'of a'"),
        ("y = 0\ndef x(): ...", "def x(): ...\nz = 1"),
        ("def x(): ...", "from x import y\nclass C: ...\ndef x(): ..."),
    ],
)
def test_an_edit_without_effect_keeps_the_fingerprint(source: str, edited: str) -> None:
    """Comments, docstrings, layout, spelling, annotated variables and neighbours do not count."""
    assert fingerprint_of(source) == fingerprint_of(edited)


@pytest.mark.parametrize(
    ("source", "edited"),
    [
        ("def x(): return 1", "def x(): return 2"),
        ("def x(): return 1", "def x(): return True"),
        ("def x(): return 1", "def x(): return 1.0"),
        ("def x(): return 'a'", "def x(): return b'a'"),
        ("def x(a): return a", "def x(b): return b"),
        ("def x(a, b): ...", "def x(b, a): ..."),
        ("def x(a): ...", "def x(a=1): ..."),
        ("def x(a, b): ...", "def x(a, *, b): ..."),
        ("def x(*, a, b=1): ...", "def x(*, a=1, b): ..."),
        ("def x(a): return a + 1", "def x(a): return a - 1"),
        ("def x(a): return a < 1", "def x(a): return a <= 1"),
        ("def x(): ...", "async def x(): ..."),
        ("def x(): ...", "@staticmethod\ndef x(): ..."),
        ("x = {**a, 'b': 1}", "x = {'b': 1, **a}"),
        ("x = [1]", "x = [1]\nx += [2]"),
        ("x = [1]", "x = (1,)"),
        ("x = f'{a}'", "x = f'{a!s}'"),
        ("class x: ...", "class x(y): ..."),
        ("class x:\n a: int", "class x:\n a: str"),
        ("class x:\n a: int = 1", "class x:\n a = 1"),
        ("class x:\n a: int\n b: int", "class x:\n b: int\n a: int"),
        ("if a:\n x = 1\nelse:\n x = 2", "if b:\n x = 1\nelse:\n x = 2"),
        ("if a:\n x = 1\nelse:\n x = 2", "if not a:\n x = 1\nelse:\n x = 2"),
        ("from a import x", "from b import x"),
    ],
)
def test_an_edit_with_effect_changes_the_fingerprint(source: str, edited: str) -> None:
    """Names, constants, operators, decorators, defaults, order, bases and fields' types count."""
    assert fingerprint_of(source) != fingerprint_of(edited)


def test_a_name_has_the_fingerprint_of_its_definition() -> None:
    """A re-export, an alias and an inherited member have the fingerprint of what they lead to."""
    module_a = "def x(): return 1\nclass B:\n def run(self): ..."
    of_definition = fingerprint_of("def x(): return 1")
    reexported = resolve("from .a import x", "x", a=module_a)
    assert fingerprint.of_resolution(reexported) == of_definition
    alias = resolve("from .a import *\ny = x", "y", a=module_a)
    assert fingerprint.of_resolution(alias) == of_definition
    inherited = resolve("from .a import B\nclass C(B): ...", "C.run", a=module_a)
    own = resolve("class B:\n def run(self): ...", "B.run")
    assert fingerprint.of_resolution(inherited) == fingerprint.of_resolution(own)


WRAPPED = {
    "cached": ("def f(): return {}\nx = lru_cache(f)", "x"),
    "cached with options": ("def f(): return {}\nx = lru_cache(maxsize=1)(f)", "x"),
    "partial": (
        "from functools import partial\ndef f(a): return {}\nx = partial(f, 1)",
        "x",
    ),
    "decorated by a call": ("def x(): return {}\nx = deco(x)", "x"),
    "decorated here": (
        "def deco(f):\n def g(): return {}\n return g\ndef x(): ...\nx = deco(x)",
        "x",
    ),
    "a closure": ("def make(a):\n def f(): return {}\n return f\nx = make(1)", "x"),
    "a lambda's maker": ("def make(a): return lambda: {}\nx = make(1)", "x"),
    "by keyword": ("def f(): return {}\nx = make(func=f)", "x"),
    "twice": ("def f(): return {}\ng = cache(f)\nx = wraps(g)", "x"),
    "in one of two ways": ("def f(): return {}\nx = 1 if a else cache(f)", "x"),
    "property": ("class C:\n def f(self): return {}\n x = property(f)", "C.x"),
    "property with setter": (
        "class C:\n def f(self): return {}\n x = property(f)\n @x.setter\n def x(self, v): ...",
        "C.x",
    ),
    "staticmethod of a function": (
        "def f(): return {}\nclass C:\n x = staticmethod(f)",
        "C.x",
    ),
    "elsewhere": ("from .a import f\nfrom functools import cache\nx = cache(f)", "x"),
    "registered": (
        "@dispatch\ndef x(a): ...\n@x.register(int)\ndef _(a): return {}",
        "x",
    ),
    "registered for an annotation": (
        "@dispatch\ndef x(a): ...\n@x.register\ndef _(a: {}): ...",
        "x",
    ),
    "registered, a method": (
        "class C:\n @dispatch\n def x(self): ...\n @x.register(int)\n def _(self): return {}",
        "C.x",
    ),
    "fake of an operator": (
        "@custom_op('x')\ndef x(a): ...\n@x.register_fake\ndef _(a): return {}",
        "x",
    ),
    "schema of an operator": (
        "@torch.library.custom_op('n::x')\ndef x(a: {}): ...",
        "x",
    ),
    "schema of an operator made below": (
        "def x(a: {}): ...\nif gpu:\n direct_register_custom_op(op_name='x', op_func=x)",
        "x",
    ),
    "what an operator changes": (
        "def x(a): ...\ndirect_register_custom_op(op_func=x, mutates_args=[{}])",
        "x",
    ),
    "constants of a kernel": ("@triton.jit\ndef x(a, b: {}): ...", "x"),
    "a route's parameters": ("@router.post('/')\nasync def x(a: {}): ...", "x"),
    "a method set below its class": (
        "def f(self): return {}\nclass x: ...\nx.run = f",
        "x",
    ),
    "such a method, wrapped": (
        "def f(self): return {}\nclass x: ...\nx.run = cache(f)",
        "x",
    ),
}


@pytest.mark.parametrize(("source", "name"), WRAPPED.values(), ids=WRAPPED)
def test_editing_what_a_call_wraps_changes_the_fingerprint(
    source: str, name: str
) -> None:
    """Editing what a call or decorator wraps changes fingerprint and wording of the name."""
    target = Target("up", name)
    with_int = release(source.replace("{}", "int"), a="def f(): return int")
    with_str = release(source.replace("{}", "str"), a="def f(): return str")
    first = facts_of(with_int, target)
    second = facts_of(with_str, target)
    assert first.fingerprint
    assert first.fingerprint != second.fingerprint
    assert first.wording is None or first.wording != second.wording


@pytest.mark.parametrize(
    "source",
    [
        "def f(): return {}\nx = {{'k': 1}}",
        "def f(): return {}\ndef x(): return f()",
        "def init(): return {}\nx = init()",
        "class F:\n def f(self): return {}\nx = F()",
        "@x.other\ndef f(): return {}\ndef x(): ...",
        "class x: ...\nclass C:\n @x.register\n def f(self): return {}",
    ],
)
def test_editing_what_is_only_used_keeps_the_fingerprint(source: str) -> None:
    """Editing a function or class that `x` only calls, or that names `x`, does not count."""
    assert fingerprint_of(source.format(1)) == fingerprint_of(source.format(2))


def test_a_generated_constructor_changes_with_the_fields_only() -> None:
    """The fingerprint of a dataclass's `__init__` changes with a field, and not with a method."""
    head = "from dataclasses import dataclass\n@dataclass\n"
    source = f"{head}class C:\n a: int = 1\n def f(self): return 1"

    def of_constructor(text: str) -> str | None:
        return fingerprint.of_resolution(resolve(text, "C.__init__"))

    original = of_constructor(source)
    assert of_constructor(source.replace("return 1", "return 2")) == original
    assert of_constructor(source.replace("a: int = 1", "a: int = 2")) != original
    assert of_constructor(source.replace("a: int", "b: int")) != original


def test_editing_the_setter_changes_the_fingerprint_of_a_property() -> None:
    """The setter of a property is part of its source."""
    source = "class C:\n @property\n def p(self): ...\n @p.setter\n def p(self, v): self.v = v"
    edited = source.replace("self.v = v", "self.w = v")
    original_fingerprint = fingerprint.of_resolution(resolve(source, "C.p"))
    edited_fingerprint = fingerprint.of_resolution(resolve(edited, "C.p"))
    assert original_fingerprint != edited_fingerprint


def test_an_absent_or_undecidable_name_has_no_fingerprint() -> None:
    """A name that is absent or undecidable has no fingerprint."""
    assert fingerprint.of_resolution(resolve("", "x")) is None
    assert fingerprint.of_resolution(resolve("if a: x = 1", "x")) is None


def test_a_fingerprint_is_short_and_hexadecimal() -> None:
    """A fingerprint has sixteen hexadecimal digits, so that a lock of hundreds stays readable."""
    digits = fingerprint_of("x = 1")
    assert len(digits) == 16
    int(digits, 16)


def test_deep_sums_and_huge_numbers_have_a_fingerprint() -> None:
    """A sum of 900 terms hits no recursion limit, and 10**5000 no limit of digits."""
    sum_of_900 = "x = " + "+".join(["1"] * 900)
    sum_of_899 = "x = " + "+".join(["1"] * 899)
    assert fingerprint_of(sum_of_900) != fingerprint_of(sum_of_899)
    huge_number = ast.Constant(10**5000)
    tree = ast.Module([ast.Expr(ast.Tuple([huge_number], ast.Load()))], [])
    assert fingerprint.of_nodes([tree])


SPELLINGS = '''
def x(a, /, b, *c, d=1, **e):
    """Doc."""
    with open(a) as f, g() as h: pass
    try: pass
    except (A, B) as error: raise C from error
    else: return f"{a!r:>{b}}" f"c{d=}" "e" "\\n" f""
    finally: del a, b
    match a:
        case {"k": [1, *rest], **others} if rest: pass
        case Point(x=0) | None: pass
        case _: pass
    async def inner():
        async for i in j: await k
        return [l async for l in m if n]
    global o; nonlocal_ = 1j + 0x1F + 1e3 + 10_000
    yield from (p := q)
    lambda r, *s: (r if s else ...)[1:2, ::3]
    return b"\\x00" + rb"\\d" + u"unicode \\ud800"
'''


def test_fingerprints_are_the_same_on_every_python() -> None:
    """Two sources of many spellings have the fingerprints that the corpus file records."""
    expected = json.loads(CORPUS.read_text())
    assert fingerprint_of(SPELLINGS) == expected["spellings"]
    of_class = fingerprint_of(
        "class x(y, metaclass=z):\n  a: int = 1\n  @b\n  def c(self): ..."
    )
    assert of_class == expected["class"]
