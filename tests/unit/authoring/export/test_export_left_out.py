"""Code of a body that would do something else in any other module is in no diff."""

from __future__ import annotations

import pytest
from support.packages import World, row, world

from authoring.export.exporting import (
    REPLACE_F,
    LeftOut,
    export,
    here,
    left_out,
    released,
)

__all__ = ["here", "left_out", "released", "world"]

pytestmark = pytest.mark.usefixtures("released")


@pytest.mark.parametrize(
    "binding",
    [
        "X = 1\nX = 2",
        "X = 1\nif X:\n    X = 2",
        "if len('a'):\n    X = 1\nelse:\n    X = 2",
        "X = 1\nX += 1",
        "X = [1]\nfor X in X: pass",
        "X = 1\ndef X(): return 2",
        "from os import sep as X\nX = 2",
        "from os import sep as X\nfrom os import name as X",
        "def X(): return 1\ndef X(): return 2",
        "X = 1\ntry:\n    from os import sep as X\nexcept ImportError: pass",
        "X = 1\nY = (X := 2)",
        "X = 1\ndef other():\n    global X\n    X = 2",
        "def other(a=(X := 2)): pass\nX = 1",
        "import up.other as X, up.more as X",
    ],
)
def test_a_name_that_a_body_binds_more_than_once(
    binding: str, left_out: LeftOut
) -> None:
    """Which value it has is not in one statement that could be moved."""
    body = f"{binding}\n\ndef f(a=1):\n    return X\n"
    assert "up.lib:f is not in the diff: it uses X, which " in left_out(body)


@pytest.mark.parametrize(
    "change",
    [
        "Replace('up.lib:Worker.run', by='Holder.run')",
        "Replace('up.lib:Worker', by='Patched')",
        "Replace('up.lib:Worker', by='Twice')",
    ],
)
def test_a_member_that_its_class_binds_more_than_once(
    change: str, left_out: LeftOut
) -> None:
    """Nor is a method that is defined twice, in a class of its own or in a subclass."""
    body = """
    from up import lib
    class Holder:
        def run(self): return 1
        def run(self): return 2
    class Patched(lib.Worker):
        def run(self): return 1
        if True:
            def run(self): return 2
    class Twice(lib.Worker):
        def run(self): return 1
        def run(self): return 2
    """
    assert "which no statement of the body alone sets" in left_out(body, change)


@pytest.mark.parametrize(
    "effect",
    [
        "TABLE['a'] = f",
        "helper.flag = True",
        "helper.flag, other = True, 1",
        "TABLE.update(a=1)",
        "del TABLE['a']",
        "for name in 'ab':\n    TABLE[name] = 1",
        "with open('x') as file:\n    TABLE['a'] = 1",
        "try:\n    TABLE['a'] = 1\nexcept KeyError:\n    pass",
        "if TABLE:\n    helper.flag = True",
        "while not TABLE:\n    TABLE['a'] = 1",
        "DONE = TABLE.setdefault('a', 1)",
        "DONE = fill()",
        "if fill():\n    DONE = 1",
        "@TABLE.register\ndef other(): pass",
        "@register\ndef other(): pass",
        "@lib.register('op')\ndef other(): pass",
        "class Other(Base): pass",
        "def other(a=fill()): pass",
        "import warnings\nwarnings.filterwarnings('ignore')",
        "lib.SETTING = 1",
        "import up.other as other_module",
        "from up.other import deep as other_deep",
    ],
)
def test_what_a_body_does_as_it_is_imported(effect: str, left_out: LeftOut) -> None:
    """A body that does more than define is in no diff, for that would not do it."""
    body = f"""
from up import lib

TABLE = {{}}

class Base:
    def __init_subclass__(cls):
        TABLE[cls] = 1

def helper():
    return TABLE, Base

def register(function):
    TABLE[function.__name__] = function
    return function

def fill():
    TABLE["a"] = 1

def f(a=1):
    return helper()

{effect}
"""
    assert "as the body is imported" in left_out(body)


@pytest.mark.parametrize(
    "harmless",
    [
        "assert X == 1",
        "import logging\nlogger = logging.getLogger('up')",
        "if TYPE_CHECKING:\n    from up.other import deep",
        "try:\n    import json\nexcept ImportError:\n    json = None",
        "import up\ndef other(a: 'up.other'): pass",
        "if __name__ == '__main__':\n    print(X)",
        "import functools\n@functools.cache\ndef other(): return 1",
        "class Other:\n    def m(self): return X",
        "OTHER = len('a')",
    ],
)
def test_what_a_body_defines_besides(
    harmless: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names that the changed code does not use keep nothing from a diff."""
    body = f"from typing import TYPE_CHECKING\nX = 1\ndef f(a=1):\n    return X\n{harmless}\n"
    world.pack(row("one", "patch_lib", REPLACE_F), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert "+X = 1\n" in diff


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("globals()['f']", "globals"),
        ("locals()", "locals"),
        ("vars()", "vars"),
        ("dir()", "dir"),
        ("__name__", "__name__"),
        ("__file__", "__file__"),
        ("__package__", "__package__"),
        ("__spec__", "__spec__"),
        ("__doc__", "__doc__"),
        ("sys.modules[__name__]", "__name__"),
        ("eval('X')", "eval"),
        ("exec('X')", "exec"),
        ("f.__globals__['X']", "__globals__"),
        ("sys._getframe().f_globals", "f_globals"),
        ("f.__module__", "__module__"),
    ],
)
def test_what_means_another_thing_in_another_module(
    code: str, word: str, left_out: LeftOut
) -> None:
    """Code that asks for its own module is in no diff, nor what uses such code."""
    direct = f"import sys\ndef f(a=1):\n    return {code}\n"
    assert f"it uses {word}, which is of its module" in left_out(direct)
    through = f"import sys\nVALUE = lambda: {code}\ndef f(a=1):\n    return VALUE()\n"
    errors = left_out(through)
    assert f"it uses VALUE, which uses {word}, which is of its module" in errors


@pytest.mark.parametrize("owner", ["", "Holder"])
@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("return super().run()", "it uses super() of its class"),
        ("return (lambda: super().run())()", "it uses super() of its class"),
        ("return __class__", "it uses __class__"),
        ("return self.__hidden", "it uses __hidden, which is private to its class"),
    ],
)
def test_what_means_another_thing_in_another_class(
    owner: str, method: str, reason: str, left_out: LeftOut
) -> None:
    """A method that asks for its own class is in no diff as a method of another one."""
    body = f"def run(self):\n    {method}\n"
    by = "run"
    if owner:
        body = f"class {owner}:\n    def run(self):\n        {method}\n"
        by = f"{owner}.run"
    change = f"Replace('up.lib:Worker.run', by={by!r})"
    assert reason in left_out(body, change)


def test_a_default_that_is_of_the_class_of_a_method(left_out: LeftOut) -> None:
    """A module may have another thing of that name."""
    body = """
    SIZE = 1
    class Holder:
        SIZE = 2
        def run(self, size=SIZE): return size
    """
    change = "Replace('up.lib:Worker.run', by='Holder.run')"
    assert "SIZE" in left_out(body, change)


@pytest.mark.parametrize(
    "statement",
    [
        "from .helpers import helper",
        "from . import helpers",
        "from pack.helpers import helper",
        "import pack.helpers",
        "from patchkit import Patch",
    ],
)
def test_an_import_in_a_function_of_what_upstream_lacks(
    statement: str, left_out: LeftOut
) -> None:
    """A relative import would mean a module of upstream."""
    body = f"def f(a=1):\n    {statement}\n    return 1\n"
    assert "which upstream does not have" in left_out(body)


def test_a_global_that_a_function_sets(left_out: LeftOut) -> None:
    """It would set one of upstream's module."""
    body = "def f(a=1):\n    global g\n    g = 2\n"
    assert "it sets g, a global of the body" in left_out(body)


def test_a_body_that_sets_names_by_their_texts(left_out: LeftOut) -> None:
    """Which names it sets is not in its text."""
    body = "def fill():\n    globals()['X'] = 2\nX = 1\nDONE = fill()\ndef f(a=1): return X\n"
    assert "its body may set any name by globals()" in left_out(body)


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ("Decorate('up.lib:f', by='X')", ["up.lib:f is not in the diff: Decorate"]),
        (
            "AfterImport('up.lib', call='X', sets=('up.lib:f', 'up.lib:g'))",
            [
                "up.lib is not in the diff: AfterImport",
                "up.lib:f is not in the diff: AfterImport",
                "up.lib:g is not in the diff: AfterImport",
            ],
        ),
        ("BeforeImport('up.lib', call='X')", ["up.lib is not in the diff: Before"]),
    ],
)
def test_what_code_makes_of_a_target_is_listed(
    change: str, lines: list[str], left_out: LeftOut
) -> None:
    """No text says what a decorator returns or what a call sets: each target is named."""
    errors = left_out("def X(target):\n    return target\n", change)
    for line in lines:
        assert f"one: {line}" in errors
