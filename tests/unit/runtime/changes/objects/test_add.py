from __future__ import annotations

import functools
import pickle
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit import Add
from patchkit.errors import TargetError, UndoError
from runtime.changes.kinds import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """
import collections, types
there = 1
TABLE = {'a': 1, 'b': 2}
MADE = collections.defaultdict(list)
ROWS = [1, 2]
NAMES = {1}
FIXED = types.MappingProxyType({'a': 1})
class Base:
    nothing = None
    def inherited(self): return 'base'
class Thing(Base):
    own = 1
class Slotted:
    __slots__ = ()
thing = Thing()
slotted = Slotted()
text = str
"""
BODY = """
import functools
def function(self=None): return ('new', self)
def another_name(self): return type(self).__name__
static = staticmethod(lambda: 'static')
klass = classmethod(lambda cls: cls.__name__)
@functools.cached_property
def cached(self): return object()
class Holder:
    @staticmethod
    def static(): return 'held'
    @property
    def size(self): return 3
value = 7
"""


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(UPSTREAM, BODY)
    sys.modules["upstream"] = bench.upstream
    sys.modules["body"] = bench.body
    yield bench
    del sys.modules["upstream"], sys.modules["body"]


def add(bench: Bench, target: str, by: str = "value") -> Any:
    """Add an object of the body to upstream; return the undo."""
    return bench.apply(Add(f"upstream:{target}", by=by))


@pytest.mark.parametrize("owner", ["", "Thing.", "thing."])
def test_an_attribute_comes_and_goes(bench: Bench, owner: str) -> None:
    """A module, a class and an instance get it, and undo leaves no trace."""
    holder: Any = functools.reduce(getattr, owner.split(".")[:-1], bench.upstream)
    before = dict(vars(holder))
    undo = add(bench, f"{owner}fresh")
    assert vars(holder)["fresh"] == 7
    undo()
    undo()
    assert dict(vars(holder)) == before
    assert list(vars(holder)) == list(before)


def test_a_function_becomes_a_method(bench: Bench) -> None:
    """It binds, and pickles under the name that it was added by, not the body's."""
    add(bench, "Thing.fresh", "another_name")
    thing = bench.upstream.Thing()
    assert thing.fresh() == "Thing"
    assert bench.body.another_name.__name__ == "another_name"
    assert thing.fresh.__name__ == "fresh"
    assert (
        pickle.loads(pickle.dumps(bench.upstream.Thing.fresh))
        is bench.upstream.Thing.fresh
    )


@pytest.mark.parametrize(
    ("by", "result"),
    [("static", "static"), ("klass", "Thing"), ("Holder.static", "held")],
)
def test_what_the_body_has_decorated_stays_so(
    bench: Bench, by: str, result: str
) -> None:
    """A static or class method serves as one, also from inside a class of the body."""
    add(bench, "Thing.fresh", by)
    assert bench.upstream.Thing.fresh() == bench.upstream.Thing().fresh() == result


def test_a_property_and_a_cached_property_are_added(bench: Bench) -> None:
    """A descriptor is told its name, also where the body knows it by another or uses it twice."""
    add(bench, "Thing.length", "Holder.size")
    add(bench, "Thing.first", "cached")
    add(bench, "Thing.second", "cached")
    thing = bench.upstream.Thing()
    assert thing.length == 3
    assert thing.first is thing.first
    assert thing.first is not thing.second


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("there", "upstream has it: found 1"),
        ("Thing.own", "upstream has it: found 1"),
        ("Thing.inherited", r"upstream's upstream\.Base has it"),
        ("Thing.nothing", r"upstream's upstream\.Base has it: found None"),
        ("thing.inherited", r"upstream's upstream\.Base has it"),
        ("thing.own", r"upstream's upstream\.Thing has it"),
        ("TABLE['a']", "upstream has it: found 1"),
        ("ROWS[0]", "upstream has it"),
        ("ROWS", "AfterImport"),
        ("NAMES", "AfterImport"),
    ],
)
def test_a_target_that_upstream_has_by_now_is_refused(
    bench: Bench, target: str, words: str
) -> None:
    """The error says what is there, whose it is, and the ways out."""
    with pytest.raises(TargetError, match=words) as caught:
        add(bench, target)
    assert f"Add({f'upstream:{target}'!r})" in str(caught.value)
    assert "Replace" in str(caught.value)


def test_what_another_patch_has_added_to_a_base_is_refused(bench: Bench) -> None:
    """The error says that another patch has given it to the base."""
    undo = add(bench, "Base.fresh")
    with pytest.raises(TargetError, match=r"another patch's upstream\.Base has it"):
        add(bench, "Thing.fresh")
    undo()
    add(bench, "Thing.fresh")()


def test_what_every_object_has_may_be_added(bench: Bench) -> None:
    """A class that has only object's `__repr__` can get one of its own."""
    undo = add(bench, "Thing.__repr__", "another_name")
    assert repr(bench.upstream.thing) == "Thing"
    undo()
    assert "__repr__" not in vars(bench.upstream.Thing)


@pytest.mark.parametrize("name", ["__call__", "register", "mro"])
def test_what_only_the_metaclass_has_may_be_added(name: str) -> None:
    """A class may get a method that only its metaclass has, as its instances have none."""
    bench = Bench(
        "import abc\nclass Thing(abc.ABC): ...", "def function(self): return 'new'"
    )
    undo = bench.apply(Add(f"upstream:Thing.{name}", by="function"))
    assert getattr(bench.upstream.Thing(), name)() == "new"
    with pytest.raises(TargetError, match="another patch"):
        bench.apply(Add(f"upstream:Thing.{name}", by="function"))
    undo()
    assert name not in vars(bench.upstream.Thing)
    assert callable(getattr(bench.upstream.Thing, name))


def test_a_property_of_the_metaclass_is_refused() -> None:
    """A property of the metaclass would take the value in the class's place, so Add refuses it."""
    source = """
class Meta(type):
    @property
    def limit(cls): return 1
    @limit.setter
    def limit(cls, value): raise AssertionError
class Thing(metaclass=Meta): ...
"""
    with pytest.raises(TargetError, match="upstream has it: found 1"):
        Bench(source, "value = 2").apply(Add("upstream:Thing.limit", by="value"))


def test_an_attribute_that_another_patch_has_added_is_refused(bench: Bench) -> None:
    """The second patch to add it is refused, and the message does not blame upstream alone."""
    undo = add(bench, "fresh")
    with pytest.raises(TargetError, match="another patch"):
        add(bench, "fresh")
    undo()
    add(bench, "fresh")()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("FIXED['b']", "found a mappingproxy, expected a dict"),
        ("ROWS[2]", "found a list, expected a dict"),
        ("NAMES[2]", "found a set, expected a dict"),
        ("text.fresh", "a class made in C"),
        ("slotted.fresh", "cannot have for itself"),
        ("missing.fresh", "upstream has no 'missing'"),
    ],
)
def test_a_place_that_takes_nothing_is_refused(
    bench: Bench, target: str, words: str
) -> None:
    """The error says what the target lies in and why nothing can be added to it."""
    with pytest.raises(TargetError, match=words):
        add(bench, target)


def test_undo_of_an_added_attribute_that_somebody_overwrote(bench: Bench) -> None:
    """Undo leaves a stranger's value and says so."""
    undo = add(bench, "fresh")
    bench.upstream.fresh = "stranger"
    with pytest.raises(UndoError, match="overwritten by somebody else"):
        undo()
    assert bench.upstream.fresh == "stranger"


def test_looking_at_a_defaultdict_makes_nothing(bench: Bench) -> None:
    """Only the item that is added is there, and none after undo."""
    undo = add(bench, "MADE['fresh']")
    assert bench.upstream.MADE == {"fresh": 7}
    undo()
    assert dict(bench.upstream.MADE) == {}
    with pytest.raises(TargetError):
        add(bench, "MADE['other'].attribute")
    assert dict(bench.upstream.MADE) == {}


@given(
    kind=st.sampled_from([dict, OrderedDict]),
    keys=st.lists(st.text("abc", min_size=1), unique=True),
    added=st.text("xyz", min_size=1),
)
def test_the_order_of_a_mapping_survives(
    kind: Any, keys: list[str], added: str
) -> None:
    """Whatever was there keeps its place while an item is added, and after undo."""
    bench = Bench("", "value = 7")
    bench.upstream.TABLE = kind((key, None) for key in keys)
    undo = bench.apply(Add(f"upstream:TABLE[{added!r}]", by="value"))
    assert list(bench.upstream.TABLE.items()) == [
        *((key, None) for key in keys),
        (added, 7),
    ]
    undo()
    assert list(bench.upstream.TABLE) == keys
