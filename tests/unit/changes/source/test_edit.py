from __future__ import annotations

import asyncio
import bdb
import copy
import importlib
import inspect
import json
import linecache
import pickle
import sys
import traceback
from pathlib import Path
from textwrap import dedent, indent
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import packages
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_patch import MAIN, load
from packages import row

from changes.source.edits import Desk, loaded
from patchkit.changes.source.recompile import same_code
from patchkit.errors import ApplyError, TargetError

if TYPE_CHECKING:
    from packages import World

world = packages.world

# -- the law ----------------------------------------------------------------------------------


class Shape(NamedTuple):
    """A function of a module: its qualified name, its body's indentation, the module's text."""

    qualname: str
    depth: int
    text: str


def _method(head: str, base: str = "(Base)") -> Shape:
    text = f"class Thing{base}:\n{indent(head, '    ')}\n{{body}}\n        return out\n"
    return Shape("Thing.run", 8, text)


SHAPES = {
    "function": Shape("run", 4, "def run({params}):\n{body}\n    return out\n"),
    "generator": Shape("run", 4, "def run({params}):\n{body}\n    yield from out\n"),
    "coroutine": Shape("run", 4, "async def run({params}):\n{body}\n    return out\n"),
    "async generator": Shape(
        "run", 4, "async def run({params}):\n{body}\n    for x in out:\n        yield x\n"
    ),
    "cache": Shape("run", 4, "@functools.lru_cache\ndef run({params}):\n{body}\n    return out\n"),
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
PARAMETERS = ["", "a", "a=1", "a, /, b=2", "*, a=1", "*rest, a: int = 3, **more", "b, a: 'x' = []"]
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
    chosen = draw(st.lists(st.sampled_from(statements), min_size=1, max_size=5, unique=True))
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
        found = getattr(owner if owner is module else owner(), path[-1])
        return repr(_drained(found(*args) if callable(found) else found))
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
    found = [compile(source, "oracle", "exec", dont_inherit=True)]
    while found[-1].co_name != "run":
        found[-1:] = [one for one in found[-1].co_consts if isinstance(one, CodeType)]
    return found[-1]


@given(cases(), st.integers(2000, 2003))
def test_an_edit_is_the_module_written_so_from_the_beginning(case: Case, number: int) -> None:
    """Same code to the last constant, line by line, and same behaviour; undo is whole."""
    desk, oracle = Desk(case.source), case.source.replace(str(case.number), str(number))
    ready = desk.prepare(case.shape.qualname, case.fragment(case.number), case.fragment(number))
    function = ready.code.function
    original = function.__code__
    ready.apply()
    assert same_code(function.__code__, code_of(oracle))
    assert list(function.__code__.co_lines()) == list(code_of(oracle).co_lines())
    assert behaviour(desk, case.shape) == behaviour(oracle, case.shape)
    ready.undo()
    assert function.__code__ is original


# -- what stays, and what is seen -------------------------------------------------------------

UPSTREAM = """
def outer(n):
    def fail(x):
        raise ValueError(x + n)
    return fail

class Thing:
    '''A thing.'''

    def method(self, x: int = 1) -> int:
        # first
        y = x + 1
        return y

fail = outer(1)
alias = Thing.method

class Sub(Thing):
    def method(self, x: int = 1) -> int:
        return super().method(x) * 10
"""


@pytest.fixture
def desk(world: World) -> Desk:
    world.module("upstream", UPSTREAM)
    return Desk(load("upstream"))


def test_the_function_object_stays(desk: Desk) -> None:
    """Aliases, subclasses, pickles and copies have the edit; everything else is what it was."""
    upstream = desk.upstream
    method, thing = upstream.Thing.method, upstream.Thing()
    bound, signature = thing.method, inspect.signature(method)
    pickled = pickle.dumps((method, bound))
    desk.edit("Thing.method", "x + 1", "x + 2")
    assert upstream.Thing.method is upstream.alias is method
    assert (bound(), upstream.Sub().method()) == (3, 30)
    assert pickle.loads(pickled)[0] is method
    assert copy.deepcopy(thing).method() == pickle.loads(pickle.dumps(bound))() == 3
    assert inspect.signature(method) == signature
    assert method.__qualname__ == "Thing.method"
    assert getattr(method.__code__, "co_qualname", "Thing.method") == "Thing.method"


def test_the_edited_source_is_shown(desk: Desk) -> None:
    """`inspect`, and a file that is the whole module with the edit in it."""
    method = desk.upstream.Thing.method
    desk.edit("Thing.method", "y = x + 1", "y = x\ny += 2\n")
    assert inspect.getsource(method) == indent(
        dedent("""
            def method(self, x: int = 1) -> int:
                # first
                y = x
                y += 2
                return y
        """)[1:],
        "    ",
    )
    file = method.__code__.co_filename
    assert Path(file).name == "upstream.py"
    assert Path(file).read_text() == UPSTREAM.replace("y = x + 1", "y = x\n        y += 2")
    assert inspect.getmodule(method) is desk.upstream
    assert inspect.getsourcelines(method)[1] == method.__code__.co_firstlineno


def test_a_traceback_has_the_edited_line(desk: Desk) -> None:
    """File, line and text, in a closure that a factory made."""
    desk.edit("fail", "raise ValueError(x + n)", "z = x\nraise KeyError(\n    z + n)")
    with pytest.raises(KeyError, match="3") as caught:
        desk.upstream.fail(2)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno) == (desk.upstream.fail.__code__.co_filename, 5)
    assert frame.line == "raise KeyError("


class _Debugger(bdb.Bdb):
    def __init__(self) -> None:
        super().__init__()
        self.stops: list[tuple[str, int]] = []

    def user_line(self, frame: Any) -> None:
        if self.break_here(frame):
            self.stops.append((frame.f_code.co_filename, frame.f_lineno))


def test_a_breakpoint_in_the_edited_text_is_hit(desk: Desk) -> None:
    """A debugger finds the file and the line."""
    desk.edit("Thing.method", "y = x + 1", "y = x\ny += 2")
    file = desk.upstream.Thing.method.__code__.co_filename
    line = 1 + Path(file).read_text().split("\n").index("        y += 2")
    debugger = _Debugger()
    assert debugger.set_break(file, line) is None
    former = sys.gettrace()
    try:
        debugger.runcall(desk.upstream.Thing().method)
    finally:
        sys.settrace(former)
    assert debugger.stops == [(file, line)]


def test_every_line_is_traced_in_the_edited_file(desk: Desk) -> None:
    """So that coverage counts it there."""
    desk.edit("Thing.method", "y = x + 1", "y = x\ny += 2")
    code, seen = desk.upstream.Thing.method.__code__, []

    def trace(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code is code and event == "line":
            seen.append(linecache.getline(code.co_filename, frame.f_lineno).strip())
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        desk.upstream.Thing().method()
    finally:
        sys.settrace(former)
    assert seen == ["y = x", "y += 2", "return y"]


def test_decorators_do_not_run_again() -> None:
    """What they registered is registered once, and calls the edited function."""
    desk = Desk("""
        calls, table = [], {}
        def register(function):
            calls.append(function)
            table['f'] = function
            return function
        @register
        def f(): return 1
    """)
    desk.edit("f", "1", "2")
    assert len(desk.upstream.calls) == 1
    assert desk.upstream.table["f"]() == 2


def test_what_runs_goes_on_with_the_code_that_it_began_with() -> None:
    """A generator that is being iterated is not torn."""
    desk = Desk("def f():\n    yield 1\n    yield 2\n")
    running = desk.upstream.f()
    assert next(running) == 1
    desk.edit("f", "2", "3")
    assert (next(running), list(desk.upstream.f())) == (2, [1, 3])


@pytest.mark.parametrize(
    ("old", "new", "count", "words"),
    [
        ("y = x + 3", "y = x", 1, "nearest to it:\n    12          y = x \\+ 1"),
        ("y", "z", 1, "found 2 times, lines 12, 13, expected once"),
        ("y = x + 1", "y = (", 1, "does not compile"),
        ("y = x + 1", "super().method()", 1, r"write super\(Class, self\)"),
        ("def method", "def other", 1, "defines no function 'method'"),
    ],
)
def test_what_cannot_be_is_refused(desk: Desk, old: str, new: str, count: int, words: str) -> None:
    """The error names the target, and nothing is changed."""
    before = desk.upstream.Thing.method.__code__
    with pytest.raises(TargetError, match=words) as caught:
        desk.edit("Thing.method", old, new, count)
    assert str(caught.value).startswith("Edit('upstream:Thing.method'): ")
    assert desk.upstream.Thing.method.__code__ is before


# -- in a session, and in processes -----------------------------------------------------------

EDIT = "Edit('up.mod:function', old='return 1', new='return 2')"
MODULE = "def function():\n    return 1\n"


def alone(world: World, *rows: str) -> None:
    """Write a pack that needs no body."""
    world.pack(*rows, notes="")


def test_a_patch_without_a_body(world: World) -> None:
    """Applied on import, again after a reload, and taken back by undo."""
    world.module("up.mod", MODULE)
    world.module("up.user", "from up.mod import function")
    alone(world, row("p", None, EDIT))
    session = world.session()
    session.arm(MAIN)
    function = load("up.user").function
    assert function() == 2
    importlib.reload(load("up.mod"))
    assert load("up.mod").function() == 2
    session.undo()
    assert load("up.mod").function() == 1


def test_two_rows_and_one_that_is_undone(world: World) -> None:
    """Each row's edit stands for itself."""
    world.module("up.mod", "def function():\n    return 'a', 'b'\n")
    alone(
        world,
        row("one", None, "Edit('up.mod:function', \"'a'\", \"'A'\")"),
        row("two", None, "Edit('up.mod:function', \"'A', 'b'\", \"'A', 'B'\")"),
    )
    session = world.session()
    function = load("up.mod").function
    code = function.__code__
    session.arm(MAIN)
    assert function() == ("A", "B")
    session.undo(["two"])
    assert function() == ("A", "b")
    session.apply(["two"])
    assert function() == ("A", "B")
    session.undo()
    assert function.__code__ is code


def test_a_row_that_fails_leaves_the_function(world: World) -> None:
    """The second edit of a row does not match: the first is not made either."""
    world.module("up.mod", MODULE)
    alone(world, row("p", None, EDIT, EDIT))
    session = world.session()
    code = load("up.mod").function.__code__
    with pytest.raises(ApplyError, match="not found, expected once"):
        session.arm(MAIN)
    assert load("up.mod").function.__code__ is code


CHILD = """
    import json, patchkit.auto, up.mod, inspect
    function = up.mod.function
    print(json.dumps([function(), inspect.getsource(function), function.__code__.co_filename]))
"""


@pytest.mark.parametrize("flags", [(), ("-O",), ("-OO",), ("-B", "-X", "dev")])
def test_in_a_process_of_its_own(world: World, flags: tuple[str, ...]) -> None:
    """Whatever the interpreter leaves out."""
    world.module("up.mod", "def function():\n    '''Say.'''\n    assert 0\n    return 1\n")
    alone(world, row("p", None, EDIT + ", Edit('up.mod:function', 'assert 0', 'assert 1')"))
    done = world.run(*flags, "-c", dedent(CHILD))
    assert done.returncode == 0, done.stderr
    value, source, _ = json.loads(done.stdout)
    assert (value, "assert 1\n    return 2" in source) == (2, True)


def test_with_a_home_that_cannot_be_written(world: World) -> None:
    """The text is shown from memory."""
    world.module("up.mod", MODULE)
    alone(world, row("p", None, EDIT))
    value, source, file = world.answer(CHILD, XDG_CACHE_HOME="/dev/null/cache")
    assert (value, source) == (2, MODULE.replace("1", "2"))
    assert file.startswith("<patchkit edit of ")


def test_processes_share_the_file(world: World) -> None:
    """A child that is spawned has the edit, and its code is in the same file."""
    world.module("up.mod", MODULE)
    alone(world, row("p", None, EDIT))
    answer = world.script("""
        import json, multiprocessing
        import patchkit.auto
        from up.mod import function

        def ask(answers):
            answers.put((function(), function.__code__.co_filename))

        if __name__ == "__main__":
            spawn = multiprocessing.get_context("spawn")
            answers = spawn.Queue()
            child = spawn.Process(target=ask, args=(answers,))
            child.start()
            theirs = answers.get(timeout=20)
            child.join()
            print(json.dumps([theirs, [function(), function.__code__.co_filename]]))
    """)
    theirs, ours = answer
    assert theirs == ours
    assert ours[0] == 2
    assert Path(ours[1]).read_text() == MODULE.replace("1", "2")
