"""Calls of AfterImports whose row names what they set, between two modules in memory."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import pytest

from patchkit import AfterImport, Wrap
from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.context import Context
from patchkit.runtime.changes.set_by_call import PreparedSets
from patchkit.runtime.process.making import prepare
from runtime.changes.kinds import Bench

UP = """
import enum
def function(): return 'old'
class Base:
    def method(self): return 'base'
class Thing(Base):
    size = 1
    class Inner:
        size = 1
    __slots__ = ('slot',)
Alias = Thing
class Color(enum.Enum):
    RED = 1
TABLE = {'key': 'old'}
def __getattr__(name):
    if name == 'lazy': return 'made'
    raise AttributeError(name)
"""


def prepared_of(bench: Bench, *targets: str, call: str = "call") -> PreparedSets:
    """Prepare a call that sets some targets."""
    change = AfterImport("upstream", call=call, sets=targets)
    context = Context(bench.upstream, bench.body, bench.sites, "p", (1, 0))
    prepared = prepare(change, context)
    assert isinstance(prepared, PreparedSets)
    return prepared


@pytest.mark.parametrize(
    ("target", "statement"),
    [
        ("upstream:function", "upstream.function = 'new'"),
        ("upstream:Thing", "upstream.Thing = type('Thing', (upstream.Thing,), {})"),
        ("upstream:Thing.size", "upstream.Thing.size = 2"),
        ("upstream:Thing.method", "upstream.Thing.method = None"),
        ("upstream:Alias.size", "upstream.Thing.size = 2"),
        ("upstream:TABLE['key']", "upstream.TABLE['key'] = 'new'"),
        ("upstream:lazy", "upstream.lazy = 'new'"),
    ],
)
def test_what_a_call_sets_is_put_back(target: str, statement: str) -> None:
    """Attributes of any kind of owner are as they were, also those that were inherited."""
    bench = Bench(UP, f"def call(module): upstream = module; {statement}")
    spaces = [bench.upstream, bench.upstream.Thing, bench.upstream.Base]
    before = [dict(vars(space)) for space in spaces]
    table = dict(bench.upstream.TABLE)
    prepared = prepared_of(bench, target)
    prepared.apply()
    assert [str(changed) for changed, _ in prepared.changed] == [target]
    assert prepared.result == {"call": "call", "left": [], "unnamed": []}
    prepared.undo()
    assert [dict(vars(space)) for space in spaces] == before
    assert table == bench.upstream.TABLE
    prepared.undo()
    assert [dict(vars(space)) for space in spaces] == before


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("upstream:gone", "no 'gone'"),
        ("upstream:Gone.method", "no 'Gone'"),
        ("upstream:Color.RED", "whose members are not changed"),
        ("upstream:Thing.slot", "each instance reads a value"),
        ("nowhere.at.all:f", "its module cannot be imported"),
    ],
)
def test_a_target_that_cannot_be_set_is_refused(target: str, error: str) -> None:
    """The function is not called then."""
    bench = Bench(UP, "seen = []\ndef call(): seen.append(1)")
    with pytest.raises(TargetError, match=error):
        prepared_of(bench, target)
    assert bench.body.seen == []


@pytest.mark.parametrize(
    ("statement", "unnamed"),
    [
        ("upstream.Base.method = None", ["upstream:Base.method"]),
        ("upstream.Thing.method = None", ["upstream:Thing.method"]),
        ("upstream.Thing.Inner.size = 2", ["upstream:Thing.Inner.size"]),
        ("del upstream.Thing.size", ["upstream:Thing.size"]),
        ("upstream.TABLE = {}", ["upstream:TABLE"]),
        ("upstream.TABLE['key'] = 1", []),
        ("upstream.is_done = True", []),
        ("upstream.Thing.__annotations__", []),
        ("upstream.function = upstream.function", []),
    ],
)
def test_what_else_a_call_changes_is_found(statement: str, unnamed: list[str]) -> None:
    """Attributes of the module and of its classes; not what is new, nor what Python keeps."""
    body = f"def call(upstream):\n    upstream.function = None\n    {statement}"
    if "function = upstream.function" in statement:
        body = f"def call(upstream): {statement}"
    bench = Bench(UP, body)
    prepared = prepared_of(bench, "upstream:function")
    prepared.apply()
    assert prepared.result["unnamed"] == unnamed
    assert "__annotations__" not in str(prepared.left)


def test_what_no_undo_takes_back_is_what_is_not_named() -> None:
    """With an undo of the function's own, that is nothing."""
    body = """
def call(upstream):
    upstream.function = upstream.is_done = None
    upstream.Base.method = None
def returns(upstream):
    call(upstream)
    return lambda: None
"""
    bench = Bench(UP, body)
    prepared = prepared_of(bench, "upstream:function")
    prepared.apply()
    assert sorted(words.partition(" ")[0] for words in prepared.left) == [
        "upstream:Base.method",
        "upstream:is_done",
    ]
    bench = Bench(UP, body)
    prepared = prepared_of(bench, "upstream:function", call="returns")
    prepared.apply()
    assert prepared.left == ()


def test_the_call_finds_targets_without_what_will_lie_above() -> None:
    """A wrapper runs around what the call sets, and not in it again."""
    bench = Bench(
        UP,
        """
def call(upstream):
    original = upstream.function
    upstream.function = lambda: ('called', original())
def by(wrapped, instance, args, kwargs): return ('by', wrapped())
""",
    )
    undo_wrap = bench.apply(Wrap("upstream:function", by="by"))
    prepared = prepared_of(bench, "upstream:function")
    prepared.apply()
    assert bench.upstream.function() == ("by", ("called", "old"))
    undo_wrap()
    assert bench.upstream.function() == ("called", "old")
    prepared.undo()
    assert bench.upstream.function() == "old"


def test_an_inherited_method_stays_the_original() -> None:
    """A wrapper above runs around the base's method again once the call is undone."""
    bench = Bench(
        UP,
        """
def call(upstream): upstream.Thing.method = lambda self: 'called'
def by(wrapped, instance, args, kwargs): return ('by', wrapped())
""",
    )
    before = dict(vars(bench.upstream.Thing))
    prepared = prepared_of(bench, "upstream:Thing.method")
    prepared.apply()
    undo_wrap = bench.apply(Wrap("upstream:Thing.method", by="by"))
    assert bench.upstream.Thing().method() == ("by", "called")
    prepared.undo()
    assert bench.upstream.Thing().method() == ("by", "base")
    undo_wrap()
    assert dict(vars(bench.upstream.Thing)) == before


def test_what_cannot_be_wrapped_again_is_refused() -> None:
    """Then the wrapper of the other row is where it was, and so is what it wraps."""
    bench = Bench(
        UP,
        """
def call(upstream): upstream.function = 3
def by(wrapped, instance, args, kwargs): return ('by', wrapped())
""",
    )
    undo_wrap = bench.apply(Wrap("upstream:function", by="by"))
    prepared = prepared_of(bench, "upstream:function")
    with pytest.raises(TypeError, match="found 3, expected something to call"):
        prepared.apply()
    prepared.undo()
    assert bench.upstream.function() == ("by", "old")
    undo_wrap()
    assert bench.upstream.function() == "old"


def test_what_somebody_else_has_set_since_is_left() -> None:
    """The error names the target; the others are put back, and the function's undo is called."""
    body = """
undone = []
def call(upstream):
    upstream.function = upstream.Thing.size = None
    return lambda: undone.append(1)
"""
    bench = Bench(UP, body)
    prepared = prepared_of(bench, "upstream:function", "upstream:Thing.size")
    prepared.apply()
    bench.upstream.function = len
    with pytest.raises(UndoError, match=r"upstream.function"):
        prepared.undo()
    assert bench.upstream.function is len
    assert bench.upstream.Thing.size == 1
    assert bench.body.undone == [1]


@pytest.mark.parametrize("call", ["register", "partial", "instance"])
def test_the_package_of_the_function(call: str) -> None:
    """Its functions are those that show that the call is in effect."""
    pile: Any = ModuleType("pile.patches")
    exec("def register(): ...\nclass Caller:\n    def __call__(self): ...", vars(pile))
    bench = Bench(UP, "")
    bench.body.register = pile.register
    bench.body.partial = functools.partial(pile.register)
    bench.body.instance = pile.Caller()
    assert prepared_of(bench, "upstream:function", call=call).package == "pile"
