"""Items of dicts and lists; those of enums, dispatchers and operators have tests of their own."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit import Replace, Wrap
from patchkit.errors import TargetError, UndoError
from runtime.changes.kinds import WATCHED, Bench

if TYPE_CHECKING:
    from collections.abc import Callable

UPSTREAM = """
import collections, types
def first(x): return ('first', x)
class Entry:
    def __init__(self, name): self.name = name
    def load(self): return self.name
class Registry:
    def __init__(self): self.models = {'a': Entry('a'), 'b': Entry('b')}
registry = Registry()
TABLE = {'f': first, 1: 'one', None: 'none'}
ROWS = [first, first, 'last']
MADE = collections.defaultdict(list, here=[])
FIXED = types.MappingProxyType({'a': 1})
PAIR = (1, 2)
DEEP = {'x': [{'y': first}]}
"""
BODY = (
    WATCHED
    + """
def second(x): return ('second', x)
value = 'new'
class entry: ...
def load(self): return 'loaded'
"""
)


@pytest.fixture
def bench() -> Bench:
    return Bench(UPSTREAM, BODY)


def replace(
    bench: Bench, target: str, by: str = "value", **options: Any
) -> Callable[[], None]:
    """Replace a target of upstream; return the undo."""
    return bench.apply(Replace(f"upstream:{target}", by=by, **options))


def contents(container: Any) -> list[Any]:
    """The items of a dict or a list, in order."""
    return list(container.items()) if isinstance(container, dict) else list(container)


@pytest.mark.parametrize(
    ("target", "by"),
    [
        ("TABLE['f']", "second"),
        ("TABLE[1]", "value"),
        ("TABLE[None]", "value"),
        ("ROWS[0]", "second"),
        ("ROWS[-1]", "value"),
        ("registry.models['a']", "entry"),
        ("DEEP['x'][0]['y']", "second"),
    ],
)
def test_an_item_is_replaced_and_comes_back(bench: Bench, target: str, by: str) -> None:
    """The container stays the same object in the same order, and undo restores the very item."""
    outer, _, key = target.rpartition("[")
    owner = eval(outer, vars(bench.upstream))
    position = eval(key.rstrip("]"))
    before = contents(owner)
    original = owner[position]
    undo = replace(bench, target, by)
    assert owner[position] is getattr(bench.body, by)
    assert len(owner) == len(before)
    undo()
    assert owner[position] is original
    assert contents(owner) == before


def test_a_function_in_a_container_is_wrapped(bench: Bench) -> None:
    """Only that item is wrapped, and its wrapper gets no instance; undo restores the function."""
    undo = bench.apply(Wrap("upstream:TABLE['f']", by="by"))
    assert bench.upstream.TABLE["f"](1) == ("first", 1)
    assert bench.body.calls == [(None, (1,), {})]
    assert bench.upstream.first is bench.upstream.ROWS[0]
    undo()
    assert bench.upstream.TABLE["f"] is bench.upstream.first


def test_an_attribute_of_an_item_is_replaced(bench: Bench) -> None:
    """An attribute of an item is a target, too: one entry of a registry loads something else."""
    undo = replace(bench, "registry.models['b'].load", "load")
    models = bench.upstream.registry.models
    assert (models["a"].load(), models["b"].load()) == ("a", "loaded")
    undo()
    assert vars(models["b"]) == {"name": "b"}


def test_a_list_counted_from_either_end(bench: Bench) -> None:
    """`[-1]` and `[2]` name one place, so changes of both come off in any order."""
    undo_first = replace(bench, "ROWS[-1]")
    undo_second = replace(bench, "ROWS[2]", "entry")
    undo_first()
    assert bench.upstream.ROWS[2] is bench.body.entry
    undo_second()
    assert bench.upstream.ROWS[2] == "last"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (
            "FIXED['a']",
            "found a mappingproxy, expected a dict or list, .*; name that behind it",
        ),
        ("PAIR[0]", "found a tuple, expected a dict or list"),
        ("MADE['gone']", r"defaultdict has no item \['gone'\]"),
        ("ROWS[7]", r"list has no item \[7\]"),
        ("TABLE['g']", "did you mean f|has no item"),
        ("TABLE['f']", "expected something to call"),
    ],
)
def test_an_item_that_cannot_be_replaced_is_refused(
    bench: Bench, target: str, words: str
) -> None:
    """The error says what was found, and nothing is changed: a defaultdict makes no item."""
    with pytest.raises(TargetError, match=words):
        replace(bench, target)
    assert list(bench.upstream.MADE) == ["here"]
    assert list(bench.upstream.TABLE) == ["f", 1, None]


def test_undo_of_an_item_that_somebody_took_out(bench: Bench) -> None:
    """Undo raises UndoError, and does not bring the item back."""
    undo = replace(bench, "TABLE[1]")
    del bench.upstream.TABLE[1]
    with pytest.raises(UndoError):
        undo()
    assert 1 not in bench.upstream.TABLE


@given(
    kind=st.sampled_from([dict, OrderedDict]),
    keys=st.lists(st.text("abc", min_size=1), unique=True, min_size=1),
    data=st.data(),
)
def test_the_order_of_a_mapping_survives(
    kind: Any, keys: list[str], data: st.DataObject
) -> None:
    """A replaced item keeps its place, and its value comes back there."""
    bench = Bench("", "value = 7")
    bench.upstream.TABLE = kind((key, object()) for key in keys)
    before = list(bench.upstream.TABLE.items())
    key = data.draw(st.sampled_from(keys))
    undo = replace(bench, f"TABLE[{key!r}]")
    assert list(bench.upstream.TABLE) == keys
    assert bench.upstream.TABLE[key] == 7
    undo()
    assert list(bench.upstream.TABLE.items()) == before
