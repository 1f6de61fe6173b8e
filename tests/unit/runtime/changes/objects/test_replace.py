from __future__ import annotations

import array
import copy
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest

from patchkit import Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.kinds import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """
CONSTANT = 4
def function(x): return x
class Base:
    def inherited(self, x): return ('inherited', x)
class Thing(Base):
    limit = 8
    def method(self, x): return ('old', x)
    @staticmethod
    def static(x): return ('old', x)
    @classmethod
    def klass(cls, x): return ('old', cls, x)
    @property
    def size(self): return self._size
    @size.setter
    def size(self, value): self._size = value
    class Inner: ...
instance = Thing()
"""
BODY = """
CONSTANT = 5
def function(x): return ('new', x)
def method(self, x): return ('new', x)
def size(self): return -self._size
def klass(cls, x): return ('new', cls, x)
ready = property(lambda self: 'ready-made')
class Stranger: ...
"""


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(UPSTREAM, BODY)
    bench.body.Derived = type(
        "Derived", (bench.upstream.Thing,), {"__module__": "body"}
    )
    sys.modules["upstream"] = bench.upstream
    sys.modules["body"] = bench.body
    yield bench
    del sys.modules["upstream"], sys.modules["body"]


@pytest.mark.parametrize(
    ("target", "by"),
    [
        ("CONSTANT", "CONSTANT"),
        ("function", "function"),
        ("Thing", "Derived"),
        ("Thing.method", "method"),
        ("Thing.inherited", "method"),
        ("Thing.static", "function"),
        ("Thing.klass", "klass"),
        ("Thing.size", "size"),
        ("Thing.limit", "CONSTANT"),
        ("instance.limit", "CONSTANT"),
    ],
)
def test_undo_restores_the_very_object(bench: Bench, target: str, by: str) -> None:
    """Whatever kind is replaced, undo brings back the object that was stored, where it was."""
    *outer, name = target.split(".")
    owner: Any = bench.upstream
    for part in outer:
        owner = getattr(owner, part)
    before = dict(vars(owner))
    undo = bench.apply(Replace(f"upstream:{target}", by=by))
    assert vars(owner).get(name) is not before.get(name)
    undo()
    after = dict(vars(owner))
    assert after.keys() == before.keys()
    assert all(after[key] is before[key] for key in before)


def test_a_function_becomes_the_bodys_very_object(bench: Bench) -> None:
    """A replaced function costs nothing to call: no wrapper is in between."""
    bench.apply(Replace("upstream:function", by="function"))
    assert bench.upstream.function is bench.body.function


def test_a_function_that_replaces_a_method_binds(bench: Bench) -> None:
    """A plain function of the body becomes a method."""
    thing = bench.upstream.Thing()
    bench.apply(Replace("upstream:Thing.method", by="method"))
    assert thing.method(1) == ("new", 1)


def test_a_plain_function_takes_on_the_kind_that_it_replaces(bench: Bench) -> None:
    """It becomes a staticmethod, a classmethod, or a property's getter beside the old setter."""
    thing = bench.upstream.Thing()
    bench.apply(Replace("upstream:Thing.static", by="function"))
    bench.apply(Replace("upstream:Thing.klass", by="klass"))
    bench.apply(Replace("upstream:Thing.size", by="size"))
    thing.size = 3
    assert (thing.static(1), thing.size) == (("new", 1), -3)
    assert thing.klass(1) == ("new", bench.upstream.Thing, 1)


def test_a_ready_made_descriptor_stays(bench: Bench) -> None:
    """A property of the body is put there as it is."""
    bench.apply(Replace("upstream:Thing.size", by="ready"))
    assert vars(bench.upstream.Thing)["size"] is bench.body.ready


def test_a_class_must_derive_from_the_original(bench: Bench) -> None:
    """A stranger is refused with both names and the way out, and allowed when asked for."""
    with pytest.raises(
        TargetError, match=r"derives from upstream\.Thing .*unrelated=True"
    ):
        bench.apply(Replace("upstream:Thing", by="Stranger"))
    bench.apply(Replace("upstream:Thing", by="Stranger", unrelated=True))
    assert bench.upstream.Thing is bench.body.Stranger


def test_whether_a_class_derives_is_read_from_its_bases() -> None:
    """Only the bases count: no `__subclasscheck__`, `__subclasshook__` or Protocol is asked."""
    source = """
import typing
class Shape(typing.Protocol):
    size: int
    def area(self): ...
class Meta(type):
    def __subclasscheck__(cls, other): raise TypeError('not to be asked')
class Closed(metaclass=Meta): ...
class Liar:
    @classmethod
    def __subclasshook__(cls, other): return True
"""
    bench = Bench(source, "class New: ...")
    for name in ("Shape", "Closed", "Liar"):
        original = getattr(bench.upstream, name)
        with pytest.raises(
            TargetError, match=rf"expected a class that derives from upstream\.{name}"
        ):
            bench.apply(Replace(f"upstream:{name}", by="New"))
        bench.body.Derived = type(original)("Derived", (original,), {})
        undo = bench.apply(Replace(f"upstream:{name}", by="Derived"))
        assert getattr(bench.upstream, name) is bench.body.Derived
        undo()
        assert getattr(bench.upstream, name) is original


def test_a_function_is_not_replaced_by_what_cannot_be_called(bench: Bench) -> None:
    """A constant in place of a function is refused, and allowed when asked for."""
    with pytest.raises(TargetError, match="expected something to call"):
        bench.apply(Replace("upstream:function", by="CONSTANT"))
    bench.apply(Replace("upstream:function", by="CONSTANT", unrelated=True))
    assert bench.upstream.function == 5


def test_a_misspelt_object_is_named(bench: Bench) -> None:
    """The error says which name the body lacks and which it may have meant."""
    with pytest.raises(
        TargetError, match="body body has no 'functoin'; did you mean function"
    ):
        bench.apply(Replace("upstream:function", by="functoin"))


def test_an_object_may_lie_inside_a_class_of_the_body(bench: Bench) -> None:
    """A dotted `by` names an attribute of a class of the body."""
    bench.body.Stranger.limit = 9
    bench.apply(Replace("upstream:Thing.limit", by="Stranger.limit"))
    assert bench.upstream.Thing.limit == 9


def test_a_replaced_class_pickles_by_reference(bench: Bench) -> None:
    """The body's class, an instance and a bound method of it survive pickle and deepcopy."""
    bench.apply(Replace("upstream:Thing", by="Derived"))
    cls = bench.upstream.Thing
    assert pickle.loads(pickle.dumps(cls)) is cls
    assert type(pickle.loads(pickle.dumps(cls()))) is cls
    assert copy.deepcopy(cls) is cls


def test_one_function_for_several_methods(bench: Bench) -> None:
    """Each gets a function of its own under its own name, which is what pickle goes by."""
    upstream = bench.upstream
    undo = bench.apply(Replace("upstream:Thing.method", by="method"))
    bench.apply(Replace("upstream:Thing.inherited", by="method"))
    bench.apply(Replace("upstream:Thing.klass", by="method"))
    thing = upstream.Thing()
    for name in ("method", "inherited", "klass"):
        bound = getattr(thing, name)
        assert bound.__name__ == name
        assert pickle.loads(pickle.dumps(bound))(1) == ("new", 1)
    assert (
        pickle.loads(pickle.dumps(upstream.Thing.inherited)) is upstream.Thing.inherited
    )
    assert upstream.Thing.method is bench.body.method
    assert bench.body.method.__name__ == "method"
    undo()


def test_a_method_under_another_name_is_the_same_code(bench: Bench) -> None:
    """Defaults, keyword defaults, annotations, closure, attributes and docstring come along."""

    def outer() -> Any:
        cell = "cell"

        def other(self: Any, x: int = 1, *, y: int = 2) -> Any:
            """Do it."""
            return x, y, cell

        other.mark = "mark"  # type: ignore[attr-defined]
        return other

    bench.body.other = outer()
    bench.apply(Replace("upstream:Thing.method", by="other", unrelated=True))
    method = bench.upstream.Thing.method
    assert bench.upstream.Thing().method() == (1, 2, "cell")
    assert (method.__doc__, method.mark) == ("Do it.", "mark")
    assert method.__annotations__ == bench.body.other.__annotations__
    assert (method.__module__, method.__qualname__) == ("upstream", "Thing.method")
    assert bench.body.other.__name__ == "other"


def test_a_method_of_one_instance(bench: Bench) -> None:
    """A function of the body is bound to the instance, a copy's to the copy; others keep theirs."""
    undo = bench.apply(Replace("upstream:instance.method", by="method"))
    bench.body.method.__code__ = (lambda self, x: (self, x)).__code__
    instance = bench.upstream.instance
    assert instance.method(1) == (instance, 1)
    twin = copy.deepcopy(instance)
    assert twin.method(1) == (twin, 1)
    assert bench.upstream.Thing().method(1) == ("old", 1)
    undo()
    assert vars(instance) == {}


def test_a_class_method_of_one_instance(bench: Bench) -> None:
    """A function in its place is bound to the class, as the original is."""
    undo = bench.apply(Replace("upstream:instance.klass", by="klass"))
    thing = bench.upstream.Thing
    assert bench.upstream.instance.klass(1) == ("new", thing, 1)
    assert thing.klass(1) == ("old", thing, 1)
    undo()
    assert vars(bench.upstream.instance) == {}


def test_a_property_of_an_instance_is_refused(bench: Bench) -> None:
    """A data descriptor of the class cannot be changed on one instance."""
    with pytest.raises(TargetError, match="cannot have for itself; name the class"):
        bench.apply(Replace("upstream:instance.size", by="size"))


@pytest.mark.parametrize("builtin", [str, array.array])
def test_a_class_made_in_c_is_refused(bench: Bench, builtin: type) -> None:
    """Nobody can change `str` or `array`, and the error says so."""
    bench.upstream.text = builtin
    with pytest.raises(TargetError, match="a class made in C"):
        bench.apply(Replace("upstream:text.count", by="method", unrelated=True))


def test_a_refused_attribute_leaves_no_trace() -> None:
    """A class that cannot be changed says so, and the body's function keeps its name."""
    bench = Bench(
        """
        class Frozen(type):
            def __setattr__(cls, name, value): raise AttributeError('frozen')
        class Thing(metaclass=Frozen):
            def method(self): return 'old'
        """,
        "def replacement(self): return 'new'",
    )
    with pytest.raises(
        TargetError, match=r"\(AttributeError: frozen\); use AfterImport"
    ):
        bench.apply(Replace("upstream:Thing.method", by="replacement"))
    assert bench.upstream.Thing().method() == "old"
    assert bench.body.replacement.__name__ == "replacement"


def test_replacing_below_a_wrapper_keeps_the_wrapper(bench: Bench) -> None:
    """Replace takes the place of the original, whichever of the two patches came first."""
    bench.body.by = lambda wrapped, instance, args, kwargs: (
        "wrapped",
        wrapped(*args, **kwargs),
    )
    undo_wrap = bench.apply(Wrap("upstream:function", by="by"))
    undo_replace = bench.apply(Replace("upstream:function", by="function"))
    assert bench.upstream.function(1) == ("wrapped", ("new", 1))
    undo_wrap()
    assert bench.upstream.function is bench.body.function
    undo_replace()
    assert bench.upstream.function(1) == 1
