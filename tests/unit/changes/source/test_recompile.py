from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from changes.source.edits import loaded
from patchkit.changes.source.recompile import arrange_alone, arrange_whole, same_code
from patchkit.changes.source.source_text import Source
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
def test_a_function_compiled_alone_is_what_its_module_makes(name: str) -> None:
    """Class cells, private names, closures, flags, names and every line are those of the module."""
    function = functions(loaded(NESTED))[name]
    source = Source(function)
    assert source._arrange is (arrange_whole if name == "inner" else arrange_alone)
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


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("return 1", "\n\n    return  1  # c", True),
        ("return 1", "return 1.0", False),
        ("return 1", "return True", False),
        ("return 0.0", "return -0.0", False),
        ("return (1, 'a')", "return (1.0, 'a')", False),
        ("return x in {1, 2}", "return x in {2, 1}", True),
        ("return lambda: 1", "return lambda: 2", False),
        ("return x.a", "return x.b", False),
        ("y = 1", "z = 1", False),
        ("'Say.'", "'Tell.'", False),
        ("return x", "yield x", False),
    ],
)
def test_same_code(one: str, other: str, is_same: bool) -> None:
    """Only where lines are and what the file is called does not count."""
    codes = [loaded(f"def f(x):\n    {body}\n").f.__code__ for body in (one, other)]
    assert same_code(*codes) is is_same


def test_an_async_function_stays_one() -> None:
    """The flags are the text's."""
    new = compiled("coroutine", "await coroutine()", "1")
    assert new.co_flags & inspect.CO_COROUTINE
