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
    return [getattr(function, name) for name in ATTRIBUTES]


def same(first: list[Any], second: list[Any]) -> bool:
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
    """The signature is the edited one; unedited defaults are the very objects; undo is whole."""
    function = desk.upstream.f
    before = state(function)
    if "c, d: int = M" in signature and "*rest" not in signature:
        with pytest.raises(TargetError, match="does not compile"):
            desk.edit("f", old, new)
        return
    ready = desk.edit("f", old, new)
    shown = str(inspect.signature(function)).replace(repr(desk.upstream.marker), "M")
    assert shown == signature
    ready.undo()
    assert same(state(function), before)


def test_edits_of_one_line_come_off_alone(desk: Desk) -> None:
    """What is left is what the other one has edited, and the very objects of before."""
    function = desk.upstream.f
    before = state(function)
    first = desk.edit("f", "b=marker", "b=1")
    second = desk.edit("f", "d: int = marker", "d: int = 2")
    first.undo()
    assert function.__defaults__[0] is desk.upstream.marker
    assert function.__kwdefaults__ == {"d": 2}
    second.undo()
    assert same(state(function), before)


def test_defaults_that_somebody_has_set_stay(desk: Desk) -> None:
    """They are not in the text; only the edited one is the text's."""
    function = desk.upstream.f
    function.__kwdefaults__ = {"d": "theirs"}
    desk.edit("f", "b=marker", "b=1")
    assert function.__kwdefaults__ == {"d": "theirs"}
    assert function.__defaults__ == (1,)


def test_the_body_does_not_touch_them(desk: Desk) -> None:
    """An edit below the `def` line leaves the objects where they are."""
    function = desk.upstream.f
    before = state(function)
    ready = desk.edit("f", "return a, b", "return b, a")
    assert same(state(function)[1:], before[1:])
    ready.undo()
    assert same(state(function), before)


def test_names_of_the_class(desk: Desk) -> None:
    """A default may use what the class body has, and private names stay the class's."""
    desk.edit("Thing.m", "x=SIZE, *, __y=1", "x=SIZE + 1, *, __y=SIZE")
    assert desk.upstream.Thing().m() == (4, 3)
    assert desk.upstream.Thing.m.__kwdefaults__ == {"_Thing__y": 3}


def test_names_of_the_closure(desk: Desk) -> None:
    """A default may use what the function's closure holds."""
    desk.edit("inner", "x=1", "x=n * 2")
    assert desk.upstream.inner() == 15


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
def test_text_that_raises_is_refused(
    desk: Desk, old: str, new: str, words: str
) -> None:
    """Nothing is changed, and the error has the expression."""
    before = state(desk.upstream.f)
    with pytest.raises(TargetError, match=words):
        desk.edit("f", old, new)
    assert same(state(desk.upstream.f), before)


def test_parameters_where_there_were_none(desk: Desk) -> None:
    """And undo takes them away again."""
    ready = desk.edit("bare", "()", "(x=1, *, y=2)")
    assert desk.upstream.bare.__defaults__ == (1,)
    ready.undo()
    assert desk.upstream.bare.__defaults__ is desk.upstream.bare.__kwdefaults__ is None
