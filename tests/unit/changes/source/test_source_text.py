from __future__ import annotations

import dataclasses
import linecache
import py_compile
import sys
from typing import TYPE_CHECKING

import packages
import pytest
from one_patch import load

from changes.source.edits import loaded
from patchkit.changes.source.recompile import Source
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from packages import World

world = packages.world
MODULE = """
VALUE = 1

class Thing:
    def method(self):
        return VALUE

# after
"""


def test_the_text_and_what_is_around_it(world: World) -> None:
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


def test_a_comment_that_has_changed_is_none(world: World) -> None:
    """Only what is compiled counts."""
    file = world.module("up", MODULE)
    up = load("up")
    file.write_text(file.read_text().replace("return VALUE", "return VALUE  # the value"))
    assert "# the value" in Source(up.Thing.method).text.text


def test_code_that_somebody_else_has_changed_is_refused(world: World) -> None:
    """An edit of the text would undo what they have made."""
    world.module("up", MODULE)
    up = load("up")
    up.Thing.method.__code__ = up.Thing.method.__code__.replace(co_consts=("other",))
    with pytest.raises(TargetError, match="somebody else has changed the function"):
        Source(up.Thing.method)


def test_a_module_without_source(world: World) -> None:
    """A `.pyc` alone cannot be edited."""
    file = world.module("up", MODULE)
    py_compile.compile(str(file), str(file.with_suffix(".pyc")), doraise=True)
    file.unlink()
    with pytest.raises(TargetError, match=r"found no source of Thing\.method"):
        Source(load("up").Thing.method)


def test_what_was_generated_has_no_source() -> None:
    """The `__init__` of a dataclass, and what `exec` made."""
    made = dataclasses.make_dataclass("Made", ["x"])
    names: dict[str, object] = {}
    exec("def f(): ...", names)
    for function in (made.__init__, names["f"]):
        with pytest.raises(TargetError, match="found no source"):
            Source(function)  # type: ignore[arg-type]


def test_a_lambda_is_refused() -> None:
    """Where it begins and ends cannot be told from its lines."""
    with pytest.raises(TargetError, match="found a lambda"):
        Source(loaded("f = lambda: 1").f)


def test_an_archive_is_read_by_its_loader() -> None:
    """A module whose lines only `linecache` knows has a source."""
    assert Source(loaded("def f(): return 1").f).text.text == "def f(): return 1\n"


def test_the_qualified_name_may_lie() -> None:
    """A class that was renamed after its body has its functions compiled with the module."""
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
def test_type_parameters(text: str) -> None:
    """They are the closure of a generic function; before Python 3.12 there are none."""
    if sys.version_info < (3, 12):
        with pytest.raises(SyntaxError):
            compile(text, "text", "exec")
        return
    function = loaded(text).f
    source = Source(function)
    assert source.compiled(source.text.text, "edited").co_freevars == function.__code__.co_freevars
