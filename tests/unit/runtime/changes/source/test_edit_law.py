from __future__ import annotations

import asyncio
import inspect
from textwrap import indent
from types import CodeType
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from runtime.changes.source.edits import Desk, loaded


class Shape(NamedTuple):
    """A function of a module: its qualified name, its body's indentation, the module's text."""

    qualname: str
    depth: int
    text: str


def without_columns(code: CodeType) -> CodeType:
    """The code without its positions, as layout moves columns."""
    constants = [
        without_columns(value) if isinstance(value, CodeType) else value
        for value in code.co_consts
    ]
    return code.replace(co_consts=tuple(constants), co_linetable=b"")


def _method(head: str, base: str = "(Base)") -> Shape:
    text = f"class Thing{base}:\n{indent(head, '    ')}\n{{body}}\n        return out\n"
    return Shape("Thing.run", 8, text)


SHAPES = {
    "function": Shape("run", 4, "def run({params}):\n{body}\n    return out\n"),
    "generator": Shape("run", 4, "def run({params}):\n{body}\n    yield from out\n"),
    "coroutine": Shape("run", 4, "async def run({params}):\n{body}\n    return out\n"),
    "async generator": Shape(
        "run",
        4,
        "async def run({params}):\n{body}\n    for x in out:\n        yield x\n",
    ),
    "cache": Shape(
        "run", 4, "@functools.lru_cache\ndef run({params}):\n{body}\n    return out\n"
    ),
    "conditional": Shape(
        "run",
        12,
        """\
if True:
    try:
        @mark
        def run({params}):
{body}
            return out
    finally:
        pass
""",
    ),
    "closure": Shape(
        "run",
        8,
        """\
def make(base, step):
    def run({params}):
        nonlocal step
        step = step + 1
{body}
        return out, base, step
    return run
run = make([1], 2)
""",
    ),
    "static method": _method("@staticmethod\ndef run({params}):", ""),
    "method": _method("def run(self, {params}):"),
    "class method": _method("@classmethod\ndef run(cls, {params}):"),
    "property": _method("@property\ndef run(self):"),
    "cached property": _method("@functools.cached_property\ndef run(self):"),
    "nested class": Shape(
        "Outer._In.run",
        12,
        """\
class Outer:
    class _In(Base):
        @mark
        def run(self, {params}):
{body}
            return out, self.__hidden
        __hidden = 1
""",
    ),
}
WITH_CELL = {"method", "nested class", "class method", "property"}
PREAMBLE = """\
{future}
import functools
def mark(function):
    function.marks = getattr(function, 'marks', 0) + 1
    return function
class Base:
    run = staticmethod(lambda *args: ['base', *args])
"""
PARAMETERS = [
    "",
    "a",
    "a=1",
    "a, /, b=2",
    "*, a=1",
    "*rest, a: int = 3, **more",
    "b, a: 'x' = []",
]
STATEMENTS = [
    "out.append({0})",
    "out.extend(x + {0} for x in range(2))",
    "if {0} > 3: out.append('greater')",
    "out.append((lambda q={0}: [q, out[:]])())",
    "for i in range({0} % 3):\n    out.append(i)\nelse:\n    out.append('else')",
    "try:\n    raise KeyError({0})\nexcept KeyError as error:\n    out += error.args",
    "out.append(f'{{out!r:>{0}}}' + str({0}) + f\"{{ {0} }}\")",
    "def inner(k={0}):\n    '''Say.'''\n    out.append(k)\n    return k\nout.append(inner())",
    "class Local:\n    at = {0}\nout.append(Local.at)",
    "out.append((\n    {0},  # one\n    'text',\n))",
    "out.append([y := {0}, y][0])",
    "assert {0}, 'never'\n",
    "global seen\nseen = {0}\nout.append(seen)",
    "while True:\n    out.append({0}); break",
]
IN_CLASS = [
    "out.append(super().__repr__ is not None and {0})",
    "out.append([__class__.__name__, {0}])",
]


class Case(NamedTuple):
    """A module, the function in it, and the statement to edit."""

    shape: Shape
    source: str
    statement: str
    number: int

    def fragment(self, number: int) -> str:
        return self.statement.format(number)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(list(SHAPES)))
    shape = SHAPES[name]
    statements = STATEMENTS + (IN_CLASS if name in WITH_CELL else [])
    chosen = draw(
        st.lists(st.sampled_from(statements), min_size=1, max_size=5, unique=True)
    )
    lines = ["out = []", *(text.format(1000 + n) for n, text in enumerate(chosen))]
    body = indent("\n".join(lines), " " * shape.depth)
    future = draw(st.sampled_from(["", "from __future__ import annotations"]))
    text = shape.text.format(params=draw(st.sampled_from(PARAMETERS)), body=body)
    at = draw(st.integers(0, len(chosen) - 1))
    return Case(shape, PREAMBLE.format(future=future) + text, chosen[at], 1000 + at)


def behaviour(source: str | Desk, shape: Shape) -> list[str]:
    """What calls of the function do; an exception is an outcome."""
    module = source.upstream if isinstance(source, Desk) else loaded(source)
    calls: list[tuple[int, ...]] = [(), (5,), (5, 6), (5,)]
    return [_outcome(module, shape.qualname.split("."), args) for args in calls]


def _outcome(module: Any, path: list[str], args: tuple[int, ...]) -> str:
    owner = module
    for part in path[:-1]:
        owner = getattr(owner, part)
    try:
        holder = owner if owner is module else owner()
        member = getattr(holder, path[-1])
        result = member(*args) if callable(member) else member
        return repr(_drained(result))
    except Exception as error:
        return repr(error)


def _drained(result: Any) -> Any:
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    if inspect.isasyncgen(result):
        return asyncio.run(_collected(result))
    return list(result) if inspect.isgenerator(result) else result


async def _collected(items: Any) -> list[Any]:
    return [item async for item in items]


def code_of(source: str) -> CodeType:
    """The code of `run` that a module's source makes."""
    pending = [compile(source, "oracle", "exec", dont_inherit=True)]
    while pending[-1].co_name != "run":
        constants = pending.pop().co_consts
        pending += [value for value in constants if isinstance(value, CodeType)]
    return pending[-1]


@given(cases(), st.integers(2000, 2003))
def test_an_edit_is_the_module_written_so_from_the_beginning(
    case: Case, number: int
) -> None:
    """It has the same constants, code, lines and behaviour; undo restores the very code object."""
    desk = Desk(case.source)
    oracle = case.source.replace(str(case.number), str(number))
    prepared = desk.prepare(
        case.shape.qualname, case.fragment(case.number), case.fragment(number)
    )
    function = prepared.code.function
    original = function.__code__
    prepared.apply()
    assert without_columns(function.__code__) == without_columns(code_of(oracle))
    assert list(function.__code__.co_lines()) == list(code_of(oracle).co_lines())
    assert behaviour(desk, case.shape) == behaviour(oracle, case.shape)
    prepared.undo()
    assert function.__code__ is original
