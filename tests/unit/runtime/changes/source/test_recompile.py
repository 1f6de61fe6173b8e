from __future__ import annotations

import dataclasses
import inspect
import linecache
import py_compile
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import load

from patchkit.errors import TargetError
from patchkit.runtime.changes.source.recompile import Source
from runtime.changes.source.edits import loaded

if TYPE_CHECKING:
    from types import FunctionType

    from support.packages import World


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
    """The functions of a module that was made of NESTED, by a short name."""
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
    # Without this way to compile the function, the other one is taken.
    disabled = "alone" if name == "inner" else "whole"
    monkeypatch.setattr(Source, disabled, lambda *_: None)
    source = Source(function)
    code = source.compiled(source.text.text, function.__code__.co_filename)
    assert code == function.__code__
    assert list(code.co_lines()) == list(function.__code__.co_lines())
    assert code.co_freevars == function.__code__.co_freevars
    assert code.co_flags == function.__code__.co_flags


def compiled(name: str, old: str, new: str) -> Any:
    """The code of a function of NESTED with one text in the place of another."""
    function = functions(loaded(NESTED))[name]
    source = Source(function)
    assert source.text.text.count(old) == 1
    return source.compiled(source.text.text.replace(old, new), "edited")


def test_a_variable_that_is_needed_no_more_stays_in_the_closure() -> None:
    """The new code fits the function's cells, runs, and keeps the order of its lines."""
    function = functions(loaded(NESTED))["inner"]
    new = compiled("inner", "return a, b", "return a")
    assert new.co_freevars == ("a", "b")
    lines = [line for *_, line in new.co_lines() if line]
    assert lines == sorted(lines)
    function.__code__ = new
    assert (function(5), function(5)) == (6, 11)


def test_the_class_cell_stays_too() -> None:
    """An edit that takes the only `super()` away leaves `__class__` among the free variables."""
    new = compiled("method", "super().__len__(), self.__private, __class__", "0")
    assert new.co_freevars == ("__class__",)


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("plain", "1", "super().__len__()", r"write super\(Class, self\)"),
        (
            "inner",
            "return a, b",
            "return a, c",
            "uses c of the function around it.* holds a, b",
        ),
        ("inner", "return a, b", "b = 1", "makes b local"),
        ("plain", "1", "(", "does not compile"),
        (
            "conditional",
            "conditional()",
            "other()",
            "defines no function 'conditional'",
        ),
        ("plain", "return 1", "yield = 1", "does not compile"),
    ],
)
def test_what_does_not_fit_is_refused(
    name: str, old: str, new: str, words: str
) -> None:
    """A text that the function's class, closure or syntax rules out is refused with the reason."""
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


def test_a_function_is_compiled_with_the_imports_of_its_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its text has the imports, as Python compiles a call on an imported name in another way."""
    monkeypatch.setattr(Source, "whole", lambda *_: None)
    assert "dumps" in Source(loaded(IMPORTS).f).text.text


def test_an_async_function_stays_one() -> None:
    """An async function whose only `await` is edited away is still a coroutine function."""
    new = compiled("coroutine", "await coroutine()", "1")
    assert new.co_flags & inspect.CO_COROUTINE


world = packages.world
MODULE = """
VALUE = 1

class Thing:
    def method(self):
        return VALUE

# after
"""


def test_the_text_of_a_function_and_of_its_module(world: World) -> None:
    """The function's text is its own lines; with another in its place the module is whole."""
    file = world.module("up", MODULE)
    source = Source(load("up").Thing.method)
    assert source.text.text == "    def method(self):\n        return VALUE\n"
    assert source.whole(source.text.text) == file.read_text()
    assert str(source.place) == f"{file}:5"


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("VALUE\n\n#", "2\n\n#"),
        lambda text: text.replace("    def", "\n    def"),
        lambda text: text.replace("VALUE = 1\n", ""),
        lambda text: "",
        lambda text: text[: text.index("return")] + "'open",
    ],
)
def test_a_file_that_has_changed_is_refused(world: World, edit: object) -> None:
    """What is on disk must be what is loaded, whatever an installer did meanwhile."""
    file = world.module("up", MODULE)
    up = load("up")
    linecache.getlines(str(file))
    file.write_text(edit(file.read_text()) + " ")  # type: ignore[operator]
    with pytest.raises(TargetError, match=r"not what is loaded|found no source"):
        Source(up.Thing.method)


def test_a_file_in_which_only_a_comment_has_changed_is_accepted(world: World) -> None:
    """The text is that of the file as it is now, with the new comment."""
    file = world.module("up", MODULE)
    up = load("up")
    file.write_text(
        file.read_text().replace("return VALUE", "return VALUE  # the value")
    )
    assert "# the value" in Source(up.Thing.method).text.text


def test_code_that_somebody_else_has_changed_is_refused(world: World) -> None:
    """A function whose code is not that of its text is refused."""
    world.module("up", MODULE)
    up = load("up")
    up.Thing.method.__code__ = up.Thing.method.__code__.replace(co_consts=("other",))
    with pytest.raises(TargetError, match="somebody else has changed the function"):
        Source(up.Thing.method)


def test_a_module_without_source_is_refused(world: World) -> None:
    """A function that was loaded from a `.pyc` alone is refused."""
    file = world.module("up", MODULE)
    py_compile.compile(str(file), str(file.with_suffix(".pyc")), doraise=True)
    file.unlink()
    with pytest.raises(TargetError, match=r"found no source of Thing\.method"):
        Source(load("up").Thing.method)


def test_a_generated_function_is_refused() -> None:
    """The `__init__` of a dataclass and a function that `exec` made have no source."""
    made = dataclasses.make_dataclass("Made", ["x"])
    names: dict[str, object] = {}
    exec("def f(): ...", names)
    for function in (made.__init__, names["f"]):
        with pytest.raises(TargetError, match=r"found no source|is not what is loaded"):
            Source(function)  # type: ignore[arg-type]


def test_a_lambda_is_refused() -> None:
    """A lambda is refused, as its lines do not tell where it begins and ends."""
    with pytest.raises(TargetError, match="found a lambda"):
        Source(loaded("f = lambda: 1").f)


def test_a_module_of_an_archive_has_a_source() -> None:
    """The text of a function is read from `linecache` where there is no file."""
    assert Source(loaded("def f(): return 1").f).text.text == "def f(): return 1\n"


def test_a_qualified_name_that_is_wrong() -> None:
    """The function of a renamed class is compiled with its module, in the class it stands in."""
    module = loaded("""
        class A:
            def f(self): return super().__repr__(), self.__x
        A.f.__qualname__ = 'B.C.D.f'
    """)
    source = Source(module.A.f)
    code = source.compiled(source.text.text, "edited")
    assert "_A__x" in code.co_names


@pytest.mark.parametrize(
    "text",
    [
        "def f[T](x: T) -> T: return x, T\n",
        "class A[T]:\n    def f(self) -> T: return T, super().f\nf = A.f\n",
    ],
)
def test_type_parameters_are_free_variables(text: str) -> None:
    """A generic function compiled alone keeps them; before Python 3.12 there are none."""
    if sys.version_info < (3, 12):
        with pytest.raises(SyntaxError):
            compile(text, "text", "exec")
        return
    function = loaded(text).f
    source = Source(function)
    code = source.compiled(source.text.text, "edited")
    assert code.co_freevars == function.__code__.co_freevars
