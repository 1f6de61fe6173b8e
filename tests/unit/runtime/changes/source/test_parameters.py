from __future__ import annotations

import inspect
from typing import Any

import pytest

from patchkit.errors import TargetError
from runtime.changes.source.edits import Desk

UPSTREAM = """
    marker = object()
    LIMIT = 7
    def f(a, b=marker, *rest, c, d: int = marker, **more) -> str:
        return a, b, rest, c, d, more
    class Thing:
        SIZE = 3
        def m(self, x=SIZE, *, __y=1): return x, __y
    def outer(n):
        def inner(x=1): return x + n
        return inner
    inner = outer(5)
    def bare(): ...
"""


@pytest.fixture
def desk() -> Desk:
    return Desk(UPSTREAM)


ATTRIBUTES = (
    "__code__",
    "__defaults__",
    "__kwdefaults__",
    "__annotations__",
    "__dict__",
)


def state(function: Any) -> list[Any]:
    """The objects that an edit may set on a function."""
    return [getattr(function, name) for name in ATTRIBUTES]


def are_identical(first: list[Any], second: list[Any]) -> bool:
    """Whether two lists hold the very same objects."""
    return all(a is b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("old", "new", "signature"),
    [
        ("b=marker", "b=LIMIT", "(a, b=7, *rest, c, d: int = M, **more) -> str"),
        ("c, d:", "c=2, d:", "(a, b=M, *rest, c=2, d: int = M, **more) -> str"),
        ("d: int = marker,", "", "(a, b=M, *rest, c, **more) -> str"),
        (
            "a, b=marker",
            "a, b=marker, e=[]",
            "(a, b=M, e=[], *rest, c, d: int = M, **more) -> str",
        ),
        ("a, b=marker", "a, b", "(a, b, *rest, c, d: int = M, **more) -> str"),
        (
            "a, b=marker,",
            "b=marker, a=1,",
            "(b=M, a=1, *rest, c, d: int = M, **more) -> str",
        ),
        ("d: int", "d: 'float'", "(a, b=M, *rest, c, d: 'float' = M, **more) -> str"),
        ("-> str", "-> bytes", "(a, b=M, *rest, c, d: int = M, **more) -> bytes"),
        ("*rest, c, d", "c, d", "(a, b=M, c, d: int = M, **more) -> str"),
        ("-> str", "", "(a, b=M, *rest, c, d: int = M, **more)"),
    ],
)
def test_the_def_line_can_be_edited(
    desk: Desk, old: str, new: str, signature: str
) -> None:
    """The signature is the edited one, if that compiles; undo restores the very objects."""
    function = desk.upstream.f
    before = state(function)
    # Without `*rest`, `c` would be a parameter without a default after one that has one.
    is_invalid = "c, d: int = M" in signature and "*rest" not in signature
    if is_invalid:
        with pytest.raises(TargetError, match="does not compile"):
            desk.edit("f", old, new)
        return
    ready = desk.edit("f", old, new)
    shown = str(inspect.signature(function)).replace(repr(desk.upstream.marker), "M")
    assert shown == signature
    ready.undo()
    assert are_identical(state(function), before)


def test_edits_of_one_line_come_off_alone(desk: Desk) -> None:
    """Undo of one leaves the other's default and restores the very object of its own."""
    function = desk.upstream.f
    before = state(function)
    first = desk.edit("f", "b=marker", "b=1")
    second = desk.edit("f", "d: int = marker", "d: int = 2")
    first.undo()
    assert function.__defaults__[0] is desk.upstream.marker
    assert function.__kwdefaults__ == {"d": 2}
    second.undo()
    assert are_identical(state(function), before)


def test_defaults_that_somebody_has_set_stay(desk: Desk) -> None:
    """An edit of one default leaves another that somebody has set at run time."""
    function = desk.upstream.f
    function.__kwdefaults__ = {"d": "theirs"}
    desk.edit("f", "b=marker", "b=1")
    assert function.__kwdefaults__ == {"d": "theirs"}
    assert function.__defaults__ == (1,)


def test_an_edit_of_the_body_leaves_the_parameters(desk: Desk) -> None:
    """An edit below the `def` line leaves the very defaults and annotations."""
    function = desk.upstream.f
    before = state(function)
    ready = desk.edit("f", "return a, b", "return b, a")
    assert are_identical(state(function)[1:], before[1:])
    ready.undo()
    assert are_identical(state(function), before)


def test_a_default_may_use_names_of_the_class(desk: Desk) -> None:
    """A default may use what the class body has, and private names stay the class's."""
    desk.edit("Thing.m", "x=SIZE, *, __y=1", "x=SIZE + 1, *, __y=SIZE")
    assert desk.upstream.Thing().m() == (4, 3)
    assert desk.upstream.Thing.m.__kwdefaults__ == {"_Thing__y": 3}


def test_a_default_may_use_names_of_the_closure(desk: Desk) -> None:
    """A default may use what the function's closure holds."""
    desk.edit("inner", "x=1", "x=n * 2")
    assert desk.upstream.inner() == 15


def test_a_private_name_in_a_function_in_a_function_is_no_class_s() -> None:
    """Python changes it for the class around both, if there is one."""
    desk = Desk(
        "__x = 5\n_C__x = 6\n"
        "def outer():\n    def inner(a=1):\n        return a\n    return inner\n"
        "f = outer()\n"
        "class C:\n    def m(self):\n        def inner(a=1):\n            return a\n"
        "        return inner\n"
        "g = C().m()\n"
    )
    desk.edit("f", "a=1", "a=__x")
    desk.edit("g", "a=1", "a=__x")
    assert (desk.upstream.f(), desk.upstream.g()) == (5, 6)


def test_annotations_are_texts_where_the_module_postpones_them() -> None:
    """`from __future__ import annotations` holds for the edit too."""
    desk = Desk("from __future__ import annotations\ndef f(a: int): ...\n")
    desk.edit("f", "a: int", "a: int | Unknown, b: str = ''")
    assert desk.upstream.f.__annotations__ == {"a": "int | Unknown", "b": "str"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("b=marker", "b=missing", "the edited `def` line raises NameError"),
        ("d: int", "d: 1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_def_line_that_raises_is_refused(
    desk: Desk, old: str, new: str, words: str
) -> None:
    """The error names the exception that the edited line raises, and nothing is changed."""
    before = state(desk.upstream.f)
    with pytest.raises(TargetError, match=words):
        desk.edit("f", old, new)
    assert are_identical(state(desk.upstream.f), before)


def test_parameters_for_a_function_without_any(desk: Desk) -> None:
    """An edit gives a function its first defaults, and undo takes them away again."""
    ready = desk.edit("bare", "()", "(x=1, *, y=2)")
    assert desk.upstream.bare.__defaults__ == (1,)
    ready.undo()
    assert desk.upstream.bare.__defaults__ is desk.upstream.bare.__kwdefaults__ is None
