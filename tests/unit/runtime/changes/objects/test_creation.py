"""What Python does when it creates a class, and what Replace, Add and Wrap do after it."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import pytest

from patchkit import Add, AddField, Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.fields.groups import Upstream, upstream_of
from runtime.changes.kinds import WATCHED

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """
import abc, dataclasses, enum
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
    def name(self): return 'shape'
class Square(Shape): ...
class Circle(Shape):
    def area(self): return 'circle'
class Mixin: ...
class Mixed(Mixin, Shape): ...
class Plain:
    def method(self): return 'plain'
@dataclasses.dataclass
class Point:
    x: int = 1
@dataclasses.dataclass
class Point3(Point):
    z: int = 3
class NoFields: ...
@dataclasses.dataclass
class Fields(NoFields):
    x: int = 1
class Color(enum.Enum):
    RED = 'red'
    def __init__(self, word): self.word = word
class NoColor(enum.Enum):
    def __init__(self, word): self.word = word
class Own(dict): ...
"""
BODY = (
    WATCHED
    + """
import abc, upstream
def area(self): return 'new'
@abc.abstractmethod
def abstract(self): ...
def equal(self, other): return True
def hashed(self): return 7
def post_init(self): self.sum = self.x + 1
def init_subclass(cls, **options): cls.seen = options
def class_getitem(cls, item): return (cls, item)
def new(cls, *args, **options): return (cls, options)
slots = ()
"""
)


@pytest.fixture
def bench() -> Iterator[Upstream]:
    yield from upstream_of(UPSTREAM, BODY)


def abstract(*classes: Any) -> list[set[str]]:
    """The names of the abstract methods of classes."""
    return [set(cls.__abstractmethods__) for cls in classes]


def test_a_class_whose_abstract_method_was_replaced_makes_objects(
    bench: Upstream,
) -> None:
    """A class and its subclasses have no abstract method then, and their own lists after undo."""
    up = bench.module
    lists = [vars(cls)["__abstractmethods__"] for cls in (up.Shape, up.Square)]
    undo = bench.apply(Replace("upstream:Shape.area", by="area"))
    assert (up.Shape().area(), up.Square().area()) == ("new", "new")
    assert up.Circle().area() == "circle"
    undo()
    with pytest.raises(TypeError, match="abstract"):
        up.Square()
    for cls, names in zip((up.Shape, up.Square), lists, strict=True):
        assert vars(cls)["__abstractmethods__"] is names


def test_a_method_becomes_abstract(bench: Upstream) -> None:
    """A concrete method that is replaced by an abstract one keeps objects from being made."""
    up = bench.module
    undo = bench.apply(Replace("upstream:Circle.area", by="abstract"))
    assert abstract(up.Circle) == [{"area"}]
    undo()
    assert up.Circle().area() == "circle"


def test_a_missing_method_that_comes_with_a_mixin(bench: Upstream) -> None:
    """A method that a base without a list of its own is given makes subclasses concrete."""
    undo = bench.apply(Add("upstream:Mixin.area", by="area"))
    assert bench.module.Mixed().area() == "new"
    undo()
    assert abstract(bench.module.Mixed) == [{"area"}]


def test_a_subclass_that_was_made_while_the_patch_was_on(bench: Upstream) -> None:
    """After undo it is as abstract as if there had been no patch."""
    undo = bench.apply(Replace("upstream:Shape.area", by="area"))
    late = type("Late", (bench.module.Shape,), {})
    assert abstract(late) == [set()]
    undo()
    assert abstract(late) == [{"area"}]


def test_a_list_that_somebody_has_set_by_hand(bench: Upstream) -> None:
    """A test that makes objects of an abstract class by emptying its list goes on doing so."""
    bench.module.Square.__abstractmethods__ = frozenset()
    bench.apply(Replace("upstream:Shape.area", by="area"))()
    assert abstract(bench.module.Shape, bench.module.Square) == [{"area"}, set()]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_patches_of_an_abstract_method(
    bench: Upstream, order: tuple[int, ...]
) -> None:
    """Undone in any order, the list says of each moment whether the method is abstract."""
    undos = [
        bench.apply(Replace("upstream:Shape.area", by="area")),
        bench.apply(Replace("upstream:Shape.area", by="area")),
    ]
    for index in order:
        assert abstract(bench.module.Square) == [set()]
        undos[index]()
    assert abstract(bench.module.Square) == [{"area"}]


def test_an_equality_takes_the_hash_away(bench: Upstream) -> None:
    """As in a class that is written with `__eq__` alone; a hash that is added too stays."""
    plain = bench.module.Plain
    undo = bench.apply(Add("upstream:Plain.__eq__", by="equal"))
    with pytest.raises(TypeError, match="unhashable"):
        hash(plain())
    undo_hash = bench.apply(Add("upstream:Plain.__hash__", by="hashed"))
    assert hash(plain()) == 7
    undo()
    assert hash(plain()) == 7
    undo_hash()
    assert plain() != plain()
    assert not {"__eq__", "__hash__"} & set(vars(plain))


def test_both_equality_and_hash_in_one_group(bench: Upstream) -> None:
    """Whichever comes first, the class has the hash that the body gives it."""
    hashed = Add("upstream:Plain.__hash__", by="hashed")
    bench.apply(hashed, Add("upstream:Plain.__eq__", by="equal"))
    assert hash(bench.module.Plain()) == 7


def test_a_generated_constructor_calls_a_new_post_init(bench: Upstream) -> None:
    """So do those of the subclasses that dataclasses made; undo gives the very ones back."""
    classes = (bench.module.Point, bench.module.Point3)
    constructors = [cls.__init__ for cls in classes]
    undo = bench.apply(Add("upstream:Point.__post_init__", by="post_init"))
    assert [cls(x=5).sum for cls in classes] == [6, 6]
    undo()
    assert [cls.__init__ for cls in classes] == constructors
    assert not hasattr(classes[0](x=5), "sum")


@pytest.mark.parametrize("field_first", [True, False])
def test_a_new_post_init_beside_a_new_field(bench: Upstream, field_first: bool) -> None:
    """Both are in the constructor, in whichever order they come, and each goes by itself."""
    point = bench.module.Point
    constructor = point.__init__
    changes: list[Any] = [
        AddField("upstream:Point", name="y", type=int, default=2),
        Add("upstream:Point.__post_init__", by="post_init"),
    ]
    if not field_first:
        changes.reverse()
    first, second = (bench.apply(change) for change in changes)
    made = point(x=1, y=4)
    assert (made.y, made.sum) == (4, 2)
    first()
    if field_first:
        assert point(x=1).sum == 2
    else:
        assert not hasattr(point(x=1, y=3), "sum")
    second()
    assert point.__init__ is constructor


def test_methods_that_python_makes_class_methods_unasked(bench: Upstream) -> None:
    """A plain function works under these names as in the body of a class, for subclasses too."""
    plain = bench.module.Plain
    undos = [
        bench.apply(Add("upstream:Plain.__init_subclass__", by="init_subclass")),
        bench.apply(Add("upstream:Plain.__class_getitem__", by="class_getitem")),
    ]
    sub: Any = type("Sub", (plain,), {}, option=1)  # type: ignore[call-overload]
    assert sub.seen == {"option": 1}
    assert sub[3] == (sub, 3)
    for undo in undos:
        undo()
    assert not hasattr(plain, "__class_getitem__")


def test_a_new_in_place_of_one_in_c(bench: Upstream) -> None:
    """A plain function becomes a static method, as `__new__` does in the body of a class."""
    undo = bench.apply(Replace("upstream:Own.__new__", by="new", unrelated=True))
    own = bench.module.Own
    assert type(vars(own)["__new__"]) is staticmethod
    assert own(a=1) == (own, {"a": 1})
    undo()
    assert own(a=1) == {"a": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            Add("upstream:Plain.__slots__", by="slots"),
            "__slots__, which Python reads only",
        ),
        (
            Add("upstream:NoFields.__post_init__", by="post_init"),
            "whose generated __init__ calls none; name Fields, or Wrap its __init__",
        ),
        (Wrap("upstream:Color.__init__", by="by"), "ran when its members were made"),
    ],
)
def test_what_python_reads_only_once_is_refused(
    bench: Upstream, change: Any, message: str
) -> None:
    """What has no effect once the class is made; the error says what to do instead."""
    with pytest.raises(TargetError, match=message):
        bench.apply(change)


def test_an_enum_without_members_may_still_get_some(bench: Upstream) -> None:
    """Its constructor is wrapped, and runs for the members of an enum that derives from it."""
    bench.apply(Wrap("upstream:NoColor.__init__", by="by"))
    color = bench.module.NoColor("C", {"RED": "red"})
    assert (color.RED.word, len(bench.body.calls)) == ("red", 1)


def test_abc_agrees(bench: Upstream) -> None:
    """The list is the one that `abc.update_abstractmethods` makes."""
    bench.apply(Replace("upstream:Shape.area", by="area"))
    for cls in (bench.module.Shape, bench.module.Square, bench.module.Mixed):
        names = cls.__abstractmethods__
        assert abc.update_abstractmethods(cls).__abstractmethods__ == names
