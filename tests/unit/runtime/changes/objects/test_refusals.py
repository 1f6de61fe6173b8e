"""What Replace, Wrap and Add refuse since others hold it too, and what does it instead."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from patchkit import Add, AfterImport, Decorate, Replace, Wrap
from patchkit.errors import TargetError
from patchkit.runtime.changes.objects.refusals import refused_call
from runtime.changes.kinds import WATCHED, Bench

if TYPE_CHECKING:
    from patchkit.core.rows.declaration import Change


PAGE = Path(__file__).parents[5] / "docs" / "targets.md"
UPSTREAM = """
import enum, functools
class Color(enum.Enum):
    RED = 'red'
    def shout(self): return self.value.upper()
    def __call__(self): return self.value
@functools.singledispatch
def show(x): return ('any', x)
@show.register
def show_int(x: int): return ('int', x)
"""
BODY = (
    WATCHED
    + """
purple = 'purple'
def cached(x): return ('new', x)
def helper(self): return ('helped', self.name)
"""
)


@pytest.mark.parametrize(
    "change",
    [
        Add("upstream:Color.PURPLE", by="purple"),
        Add("upstream:Color['PURPLE']", by="purple"),
        Replace("upstream:Color.RED", by="purple"),
        Replace("upstream:Color.RED", by="purple", unrelated=True),
        Replace("upstream:Color['RED']", by="purple"),
        Wrap("upstream:Color.RED", by="by"),
        Wrap("upstream:Color['RED']", by="by"),
        Decorate("upstream:Color.RED", by="cached"),
    ],
)
def test_a_member_of_an_enum_is_refused(change: Change) -> None:
    """The error names what does it instead, and the enum is as it was."""
    bench = Bench(UPSTREAM, BODY)
    with pytest.raises(
        TargetError, match=r"the enum Color, whose members .* let an AfterImport"
    ):
        bench.apply(change)
    assert [color.value for color in bench.upstream.Color] == ["red"]


@pytest.mark.parametrize("hook", ["__init__", "__post_init__"])
def test_a_hook_that_a_struct_looks_for_once_is_refused(hook: str) -> None:
    """Wrap refuses a hook that msgspec looks for once, and wraps another method of the struct."""
    source = f"class Point:\n    __struct_fields__ = ()\n    def {hook}(self): ...\n"
    bench = Bench(source + "    def method(self): return 'old'\n", BODY)
    with pytest.raises(
        TargetError, match=f"msgspec.Struct Point, which looks for its {hook}"
    ):
        bench.apply(Wrap(f"upstream:Point.{hook}", by="by"))
    original = bench.upstream.Point.method
    bench.apply(Wrap("upstream:Point.method", by="by"))
    assert bench.upstream.Point.method is not original


def test_a_class_in_the_class_of_an_object_is_not_wrapped() -> None:
    """A wrapper would not be a class, wherever the class is found."""
    source = "class Holder:\n    class Inner: ...\nholder = Holder()\n"
    bench = Bench(source, WATCHED)
    with pytest.raises(TargetError, match="found the class Inner, expected a function"):
        bench.apply(Wrap("upstream:holder.Inner", by="by"))


def test_methods_of_an_enum_can_be_wrapped_and_added() -> None:
    """What is no member of an enum is wrapped and added as in any class, and undone."""
    bench = Bench(UPSTREAM, BODY)
    red = bench.upstream.Color.RED
    undos = [
        bench.apply(Wrap("upstream:Color.shout", by="by")),
        bench.apply(Add("upstream:Color.helped", by="helper")),
        bench.apply(Add("upstream:Color._private", by="purple")),
    ]
    assert red.shout() == "RED"
    assert red.helped() == ("helped", "RED")
    assert red._private == "purple"
    for undo in undos:
        undo()
    assert not hasattr(red, "helped")
    assert red.shout() == "RED"
    assert len(bench.body.calls) == 1


SLOTS = """
import dataclasses, typing
class Pair(typing.NamedTuple):
    a: int = 1
@dataclasses.dataclass(slots=True)
class Data:
    a: int = 1
class Plain:
    __slots__ = ('a',)
class Sub(Data): ...
"""


@pytest.mark.parametrize("owner", ["Pair", "Data", "Plain", "Sub"])
def test_the_default_of_a_field_in_a_slot_is_refused(
    owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace refuses a value, which would hide that of every instance, and accepts a property."""
    # dataclasses ask for it.
    monkeypatch.setitem(sys.modules, "upstream", ModuleType("upstream"))
    bench = Bench(SLOTS, "value = 2\na = property(lambda self: 'read')")
    with pytest.raises(
        TargetError, match=rf"found {owner}\.a, through which each instance reads"
    ):
        bench.apply(Replace(f"upstream:{owner}.a", by="value"))
    if owner != "Plain":
        instance = getattr(bench.upstream, owner)(a=3)
        assert instance.a == 3
        # A property is meant for all instances.
        undo = bench.apply(Replace(f"upstream:{owner}.a", by="a"))
        assert instance.a == "read"
        undo()
        assert instance.a == 3


def test_the_functions_that_the_page_on_targets_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They put a member in an enum and a function in a dispatcher, and take both out again."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (example,) = (block for block in blocks if "def add_purple" in block)
    bench = Bench(UPSTREAM, example)
    monkeypatch.setitem(sys.modules, "upstream", bench.upstream)
    color = bench.upstream.Color
    show = bench.upstream.show
    before = {name: repr(value) for name, value in vars(color).items()}
    undos = [
        bench.apply(AfterImport("upstream", call=call))
        for call in ("add_purple", "show_numbers")
    ]
    purple = color("purple")
    assert (
        purple is color.PURPLE is color["PURPLE"] is pickle.loads(pickle.dumps(purple))
    )
    assert (list(color), purple.shout()) == ([color.RED, purple], "PURPLE")
    assert (show(7), show("a")) == ("number 7", ("any", "a"))
    for undo in undos:
        undo()
    assert {name: repr(value) for name, value in vars(color).items()} == before
    assert list(color) == [color.RED]
    assert show(7) == ("int", 7)


def function_of(parameters: str) -> Any:
    """Make a function that takes some parameters."""
    return eval(f"lambda {parameters}: None")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a, b", "a, b"),
        ("a, b", "x, y"),
        ("a, b", "*args"),
        ("a, b=1", "a, b=2, c=3"),
        ("a, *, k", "a, *, k, other=1"),
        ("a, *, k", "*args, **kwargs"),
        ("a, *args, **kwargs", "a"),
        ("", ""),
    ],
)
def test_a_function_that_can_be_called_alike_is_accepted(old: str, new: str) -> None:
    """`refused_call` accepts other names by position, further defaults and open arguments."""
    assert refused_call(function_of(old), function_of(new)) is None


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("a, b", "a", "too many positional arguments"),
        ("a", "a, b", "missing a required argument: 'b'"),
        ("a, b=1", "a, b", "missing a required argument: 'b'"),
        ("a, b=1", "a", "too many positional arguments"),
        ("a, *, k=1", "a", "unexpected keyword argument 'k'"),
        ("a", "a, *, k", "missing a required"),
    ],
)
def test_a_function_that_cannot_be_called_alike_is_refused(
    old: str, new: str, fault: str
) -> None:
    """`refused_call` says what is wrong, with the signature of the new function."""
    message = refused_call(function_of(old), function_of(new))
    assert message is not None
    assert fault in message
    assert f"takes ({new})" in message


def test_descriptors_are_compared_by_their_functions() -> None:
    """`refused_call` compares the functions in descriptors, and accepts what has no signature."""
    unary = function_of("a")
    binary = function_of("a, b")
    assert refused_call(staticmethod(unary), staticmethod(binary))
    assert refused_call(classmethod(unary), classmethod(binary))
    assert refused_call(property(unary), property(binary))
    assert refused_call(len, binary) is None
    assert refused_call(unary, object()) is None


SPECIAL = """
class Net:
    def __call__(self): return 'call'
    def __deepcopy__(self, memo): return 'copied'
net = Net()
"""


@pytest.mark.parametrize(
    "change",
    [
        Wrap("upstream:net.__call__", by="by"),
        Replace("upstream:net.__call__", by="method"),
        Add("upstream:net.__len__", by="method"),
        Add("upstream:net.__radd__", by="method"),
        Wrap("upstream:net.__repr__", by="by"),
    ],
)
def test_what_python_looks_up_on_the_class_is_refused(change: Change) -> None:
    """On one object it would be `applied`, and never called; the error names the class."""
    bench = Bench(SPECIAL, WATCHED + "def method(self): return 1")
    with pytest.raises(TargetError, match=r"upstream\.Net'>, .*; name the class$"):
        bench.apply(change)
    assert vars(bench.upstream.net) == {}
    bench.apply(Wrap("upstream:Net.__call__", by="by"))
    assert (bench.upstream.net(), len(bench.body.calls)) == ("call", 1)


def test_what_is_read_off_the_object_is_wrapped() -> None:
    """`copy.deepcopy` asks the object itself."""
    bench = Bench(SPECIAL)
    bench.apply(Wrap("upstream:net.__deepcopy__", by="by"))
    assert copy.deepcopy(bench.upstream.net) == "copied"
    assert len(bench.body.calls) == 1
