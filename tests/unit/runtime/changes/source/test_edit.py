"""`Edit`: text of a function is replaced, and the function recompiled in its place."""

from __future__ import annotations

import bdb
import copy
import inspect
import linecache
import operator
import pickle
import sys
import traceback
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import load

from patchkit.errors import TargetError
from runtime.changes.source.edits import Desk

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


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
    # Not `upstream`: the folder of tests of that name may be imported already.
    world.module("edited", UPSTREAM)
    return Desk(load("edited"))


def test_the_function_object_stays(desk: Desk) -> None:
    """Aliases, subclasses, pickles and copies have the edit; everything else is what it was."""
    upstream = desk.upstream
    method = upstream.Thing.method
    thing = upstream.Thing()
    bound = thing.method
    signature = inspect.signature(method)
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
    """`inspect` shows the edited function, in a file that is the whole module with the edit."""
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
    assert Path(file).name == "edited.py"
    assert Path(file).read_text() == UPSTREAM.replace(
        "y = x + 1", "y = x\n        y += 2"
    )
    assert inspect.getmodule(method) is desk.upstream
    assert inspect.getsourcelines(method)[1] == method.__code__.co_firstlineno


def test_a_traceback_has_the_edited_line(desk: Desk) -> None:
    """A traceback through an edited closure has the edited file, line number and text."""
    desk.edit("fail", "raise ValueError(x + n)", "z = x\nraise KeyError(\n    z + n)")
    with pytest.raises(KeyError, match="3") as caught:
        desk.upstream.fail(2)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno) == (
        desk.upstream.fail.__code__.co_filename,
        5,
    )
    assert frame.line == "raise KeyError("


class _Debugger(bdb.Bdb):
    """A debugger that notes where it stops."""

    def __init__(self) -> None:
        super().__init__()
        self.stops: list[tuple[str, int]] = []

    def user_line(self, frame: Any) -> None:
        if self.break_here(frame):
            self.stops.append((frame.f_code.co_filename, frame.f_lineno))


def test_a_breakpoint_in_the_edited_text_is_hit(desk: Desk) -> None:
    """A debugger stops at a line that the edit has put in."""
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
    """A trace function, such as coverage's, finds each line that runs in the edited file."""
    desk.edit("Thing.method", "y = x + 1", "y = x\ny += 2")
    code = desk.upstream.Thing.method.__code__
    lines: list[str] = []

    def trace(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code is code and event == "line":
            lines.append(linecache.getline(code.co_filename, frame.f_lineno).strip())
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        desk.upstream.Thing().method()
    finally:
        sys.settrace(former)
    assert lines == ["y = x", "y += 2", "return y"]


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


def test_a_running_generator_goes_on_with_the_code_that_it_began_with() -> None:
    """A generator that was begun before the edit yields the old values, a new one the edited."""
    desk = Desk("def f():\n    yield 1\n    yield 2\n")
    running = desk.upstream.f()
    assert next(running) == 1
    desk.edit("f", "2", "3")
    assert (next(running), list(desk.upstream.f())) == (2, [1, 3])


@pytest.mark.parametrize(
    ("old", "new", "count", "words"),
    [
        ("y = x + 3", "y = x", 1, "nearest match:\n    12          y = x \\+ 1"),
        ("y", "z", 1, "found 2 times, lines 12, 13, expected once"),
        ("y = x + 1", "y = (", 1, "does not compile"),
        ("y = x + 1", "super().method()", 1, r"write super\(Class, self\)"),
        ("def method", "def other", 1, "defines no function 'method'"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(
    desk: Desk, old: str, new: str, count: int, words: str
) -> None:
    """The error names the target, and nothing is changed."""
    before = desk.upstream.Thing.method.__code__
    with pytest.raises(TargetError, match=words) as caught:
        desk.edit("Thing.method", old, new, count)
    assert str(caught.value).startswith("Edit('upstream:Thing.method'): ")
    assert desk.upstream.Thing.method.__code__ is before


CACHED = """
import functools
@functools.lru_cache
def cached(x): return ('old', x)
class Thing:
    @staticmethod
    @functools.cache
    def size(x): return ('old', x)
def plain(x): return ('old', x)
once = functools.lru_cache(maxsize=None)(plain)
"""


@pytest.mark.parametrize(
    ("target", "call"),
    [("cached", "cached"), ("Thing.size", "Thing.size"), ("plain", "once")],
)
def test_no_answer_outlives_the_code_that_gave_it(target: str, call: str) -> None:
    """Each edit and undo clears a cache around the function, also one under another name."""
    desk = Desk(CACHED)
    ask = operator.attrgetter(call)(desk.upstream)
    assert ask(1) == ("old", 1)
    first = desk.edit(target, "'old'", "'new'")
    assert ask(1) == ("new", 1)
    second = desk.edit(target, ", x)", ", -x)")
    assert ask(1) == ("new", -1)
    first.undo()
    assert ask(1) == ("old", -1)
    second.undo()
    assert ask(1) == ("old", 1)


@pytest.mark.parametrize("new", ["x + 1", "  x + 1\n"])
def test_an_edit_that_changes_nothing_is_refused(new: str) -> None:
    """An Edit whose new text equals the old but for layout is refused."""
    desk = Desk("def f(x): return x + 1")
    with pytest.raises(TargetError, match="equals old: the Edit changes nothing"):
        desk.edit("f", "x + 1", new)


def test_a_later_edit_sees_the_text_that_the_earlier_left() -> None:
    """The same `old` twice is refused, as it is gone by then; what the first put in is found."""
    desk = Desk("def f(x): return x + 1")
    desk.edit("f", "x + 1", "x + 2")
    with pytest.raises(TargetError, match="not found, expected once"):
        desk.edit("f", "x + 1", "x + 3")
    assert desk.upstream.f(0) == 2
    desk.edit("f", "x + 2", "x + 3")
    assert desk.upstream.f(0) == 3
