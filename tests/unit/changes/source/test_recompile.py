from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from changes.source.edits import loaded
from patchkit.changes.source.recompile import Source
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from types import FunctionType

NESTED = """
    from __future__ import annotations
    import functools

    def mark(function):
        function.marked = True
        return function

    class Outer:
        class Inner(list):
            @mark
            @functools.lru_cache
            def method(self, x: int = 1):
                return (super().__len__(), self.__private, __class__, x)

            def plain(self): return 1

    if True:
        def conditional(): return 'a'

    def outer(a, b):
        c = [1]
        def inner(x):
            nonlocal a
            a = a + x
            return a, b
        return inner

    inner = outer(1, 2)
    async def coroutine(): return await coroutine()
    def generator(): yield 1
"""


def functions(module: Any) -> dict[str, FunctionType]:
    inner = module.Outer.Inner
    return {
        "method": inner.method.__wrapped__,
        "plain": inner.plain,
        "conditional": module.conditional,
        "inner": module.inner,
        "coroutine": module.coroutine,
        "generator": module.generator,
    }


@pytest.mark.parametrize("name", list(functions(loaded(NESTED))))
def test_a_function_compiled_alone_is_what_its_module_makes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Class cells, private names, closures, flags, names and every line are those of the module."""
    function = functions(loaded(NESTED))[name]
    monkeypatch.setattr(Source, "whole" if name != "inner" else "alone", lambda *_: None)
    source = Source(function)
    code = source.compiled(source.text.text, function.__code__.co_filename)
    assert code == function.__code__
    assert list(code.co_lines()) == list(function.__code__.co_lines())
    assert code.co_freevars == function.__code__.co_freevars
    assert code.co_flags == function.__code__.co_flags


def compiled(name: str, old: str, new: str) -> Any:
    function = functions(loaded(NESTED))[name]
    source = Source(function)
    assert source.text.text.count(old) == 1
    return source.compiled(source.text.text.replace(old, new), "edited")


def test_a_variable_that_is_needed_no_more_stays_in_the_closure() -> None:
    """Otherwise the code would not fit the function's cells; it runs, and lines stay."""
    function = functions(loaded(NESTED))["inner"]
    new = compiled("inner", "return a, b", "return a")
    assert new.co_freevars == ("a", "b")
    assert [line for *_, line in new.co_lines() if line] == sorted(
        line for *_, line in new.co_lines() if line
    )
    function.__code__ = new
    assert (function(5), function(5)) == (6, 11)


def test_the_class_cell_stays_too() -> None:
    """An edit that takes the only `super()` away leaves a method that has the cell."""
    assert compiled("method", "super().__len__(), self.__private, __class__", "0").co_freevars == (
        "__class__",
    )


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("plain", "1", "super().__len__()", r"write super\(Class, self\)"),
        ("inner", "return a, b", "return a, c", "uses c of the function around it.* holds a, b"),
        ("inner", "return a, b", "b = 1", "makes b local"),
        ("plain", "1", "(", "does not compile"),
        ("conditional", "conditional()", "other()", "defines no function 'conditional'"),
        ("plain", "return 1", "yield = 1", "does not compile"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, old: str, new: str, words: str) -> None:
    """The error says what to write, or what is there."""
    with pytest.raises(TargetError, match=words):
        compiled(name, old, new)


IMPORTS = """\
import os, sys as system
import xml.dom.minidom  # a comment
from json import (
    dumps,  # one
    loads as read,
)
def f(): return os.getpid(), system.exit(), xml.dom, dumps(1), read.sub(), other.call()
"""


def test_the_imports_of_its_module_stand_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python compiles a call on an imported name in another way; without them nothing would fit."""
    monkeypatch.setattr(Source, "whole", lambda *_: None)
    assert "dumps" in Source(loaded(IMPORTS).f).text.text


def test_an_async_function_stays_one() -> None:
    """The flags are the text's."""
    new = compiled("coroutine", "await coroutine()", "1")
    assert new.co_flags & inspect.CO_COROUTINE
