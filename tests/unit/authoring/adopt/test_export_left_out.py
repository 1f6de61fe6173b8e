"""Code of a body that would do something else in upstream's module is in no diff."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import World, row, world

from authoring.adopt.exporting import export, here

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]

UPSTREAM = """\
from up.other import deep


def f(a=1):
    return deep(a)


class Worker:
    def run(self):
        return 1


def g():
    return 1
"""
REPLACE_F = "Replace('up.lib:f', by='f')"


def left_out(
    world: World, capsys: pytest.CaptureFixture[str], body: str, *changes: str
) -> str:
    """Export one row, of which nothing must be in the diff, and return what is said."""
    world.pack(row("one", "patch_lib", *changes), patch_lib=dedent(body))
    code, diff, errors = export(capsys)
    assert (code, diff) == (1, ""), errors
    return errors


@pytest.fixture(autouse=True)
def released(here: Path) -> None:
    """A release that has `f`, `g` and `Worker`."""
    other = "VALUE = 1\n\n\ndef deep(n):\n    return n\n"
    write_wheels(here, {"1.0": {"lib": UPSTREAM, "other": other}})


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
    ],
)
def test_a_name_that_a_body_binds_more_than_once(
    binding: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which value it has is not in one statement that could be moved."""
    body = f"{binding}\n\ndef f(a=1):\n    return X\n"
    errors = left_out(world, capsys, body, REPLACE_F)
    assert "up.lib:f is not in the diff: it uses X, which " in errors


@pytest.mark.parametrize(
    "change",
    [
        "Replace('up.lib:Worker.run', by='Holder.run')",
        "Replace('up.lib:Worker', by='Patched')",
        "Replace('up.lib:Worker', by='Twice')",
    ],
)
def test_a_member_that_its_class_binds_more_than_once(
    change: str, world: World, capsys: pytest.CaptureFixture[str]
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
    errors = left_out(world, capsys, body, change)
    assert "which no statement of the body alone sets" in errors


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
def test_what_a_body_does_as_it_is_imported(
    effect: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
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
    errors = left_out(world, capsys, body, REPLACE_F)
    assert "as the body is imported" in errors


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
    code: str, word: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code that asks for its own module is in no diff, nor what uses such code."""
    direct = f"import sys\ndef f(a=1):\n    return {code}\n"
    errors = left_out(world, capsys, direct, REPLACE_F)
    assert f"it uses {word}, which is of its module" in errors
    through = f"import sys\nVALUE = lambda: {code}\ndef f(a=1):\n    return VALUE()\n"
    errors = left_out(world, capsys, through, REPLACE_F)
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
    owner: str,
    method: str,
    reason: str,
    world: World,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A method that asks for its own class is in no diff as a method of another one."""
    body = f"def run(self):\n    {method}\n"
    by = "run"
    if owner:
        body = f"class {owner}:\n    def run(self):\n        {method}\n"
        by = f"{owner}.run"
    change = f"Replace('up.lib:Worker.run', by={by!r})"
    assert reason in left_out(world, capsys, body, change)


def test_a_default_that_is_of_the_class_of_a_method(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module may have another thing of that name."""
    body = """
    SIZE = 1
    class Holder:
        SIZE = 2
        def run(self, size=SIZE): return size
    """
    change = "Replace('up.lib:Worker.run', by='Holder.run')"
    assert "SIZE" in left_out(world, capsys, body, change)


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
    statement: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A relative import would mean a module of upstream."""
    body = f"def f(a=1):\n    {statement}\n    return 1\n"
    errors = left_out(world, capsys, body, REPLACE_F)
    assert "which upstream does not have" in errors


def test_a_global_that_a_function_sets(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would set one of upstream's module."""
    body = "def f(a=1):\n    global g\n    g = 2\n"
    errors = left_out(world, capsys, body, REPLACE_F)
    assert "it sets g, a global of the body" in errors


def test_a_name_that_only_upstream_has(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the body does not bind, or what is a builtin there, is another thing in the module."""
    errors = left_out(world, capsys, "def f(a=1):\n    return g()\n", REPLACE_F)
    assert "it reads g, which the body does not bind" in errors
    starred = "from os import *\ndef f(a=1):\n    return g()\n"
    errors = left_out(world, capsys, starred, REPLACE_F)
    assert "its body imports all names of another module" in errors
    write_wheels(here, {"1.0": {"lib": f"def len(a): return 1\n{UPSTREAM}"}})
    errors = left_out(world, capsys, "def f(a=1):\n    return len(a)\n", REPLACE_F)
    assert "it uses the builtin len, and up/lib.py has another" in errors


@pytest.mark.parametrize("line", [0, 3, 14])
def test_a_module_that_imports_all_names_of_another(
    line: int, here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which of its names are which is not in its text, above the import or below."""
    lines = UPSTREAM.split("\n")
    lines.insert(line, "from up.other import *")
    other = "def helper():\n    return 'upstream'\ndef deep(n):\n    return n\n"
    write_wheels(here, {"1.0": {"lib": "\n".join(lines), "other": other}})
    helper = "def helper():\n    return 1\ndef f(a=1):\n    return helper()\n"
    imported = "from json import dumps\ndef f(a=dumps):\n    return 1\n"
    for body in (helper, imported, "def f(a=1):\n    return 1\n"):
        errors = left_out(world, capsys, body, REPLACE_F)
        assert "imports all names of another module" in errors
    body = "def late():\n    return 1\n"
    errors = left_out(world, capsys, body, "Add('up.lib:late', by='late')")
    assert "imports all names of another module" in errors


@pytest.mark.parametrize(
    "body",
    [
        "from up.more import wide\ndef f(a=1): return wide(a)\n",
        "from up.more import wide\ndef f(a=wide):\n    return a\n",
        "from up import lib\ndef f(a=1): return lib.g()\n",
        "import up.lib\ndef f(a=1): return up.lib.g()\n",
        "from up import more\ndef f(a=1): return more.wide(a)\n",
        "import torch_npu\ndef f(a=1): return torch_npu\n",
    ],
)
def test_an_import_that_may_make_a_circle(
    body: str, here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be imported within the function is not imported above it."""
    more = "from up.lib import g\ndef wide(a):\n    return a\n"
    lib = f"from up import other\n{UPSTREAM}"
    other = "def deep(n):\n    return n\n"
    write_wheels(here, {"1.0": {"lib": lib, "other": other, "more": more}})
    errors = left_out(world, capsys, body, REPLACE_F)
    assert "which may import" in errors


def test_a_replaced_import_that_may_make_a_circle(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that the module imports from elsewhere is imported as the module is."""
    body = "from up.more import deep\n"
    change = "Replace('up.lib:deep', by='deep')"
    write_wheels(
        world.folder,
        {"1.0": {"lib": UPSTREAM, "other": "deep = 1", "more": "deep = 2"}},
    )
    assert "which may import" in left_out(world, capsys, body, change)


@pytest.mark.parametrize(
    "helper",
    [
        "class X: pass",
        "X = {}",
        "import functools\n@functools.cache\ndef X(): ...",
    ],
)
def test_an_object_that_two_modules_would_have_each(
    helper: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class, a table and a cache are one thing in the body."""
    body = f"{helper}\ndef f(a=1):\n    return X\ndef deep(n):\n    return X\n"
    changes = (REPLACE_F, "Replace('up.other:deep', by='deep')")
    world.pack(row("one", "patch_lib", *changes), patch_lib=body)
    code, diff, errors = export(capsys)
    assert code == 1
    assert "X would be in both up/lib.py and up/other.py" in errors
    assert diff.count("diff --git") == 1


def test_an_object_that_two_names_would_have_each(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table that two changes name is one thing in the body, too."""
    changes = ("Add('up.lib:A', by='TABLE')", "Add('up.lib:B', by='TABLE')")
    errors = left_out(world, capsys, "TABLE = []\n", *changes)
    assert "TABLE would be made more than once" in errors


def test_a_value_that_the_module_binds_twice(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a replaced one, nor one that the body has as the module's first one."""
    write_wheels(here, {"1.0": {"lib": f"X = 1\n{UPSTREAM}\nX = 2\n"}})
    body = "X = 1\ndef f(a=1):\n    return X\n"
    errors = left_out(world, capsys, body, REPLACE_F, "Replace('up.lib:X', by='X')")
    assert "more than one statement of up/lib.py sets X" in errors
    assert "it uses another X than the module has" in errors


def test_a_helper_that_means_other_things_in_the_module(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A helper of the same text is another one if the names in it are."""
    helper = "def helper():\n    return X\n"
    write_wheels(here, {"1.0": {"lib": f"X = 1\n{helper}{UPSTREAM}"}})
    body = f"X = 2\n{helper}\ndef f(a=1):\n    return helper()\n"
    errors = left_out(world, capsys, body, REPLACE_F)
    assert "it uses another helper than the module has" in errors


def test_what_type_checkers_alone_import_in_the_module(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is imported again in the function that runs with it."""
    checked = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import json\n"
    write_wheels(here, {"1.0": {"lib": f"{checked}{UPSTREAM}"}})
    body = "import json\ndef f(a=1):\n    return json.dumps(a)\n"
    world.pack(row("one", "patch_lib", REPLACE_F), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert "+    import json\n+    return json.dumps(a)\n" in diff


@pytest.mark.parametrize(
    "change",
    [
        "Replace('up.lib:TABLE[\"a\"]', by='f')",
        "Add('up.lib:TABLE[\"b\"]', by='f')",
    ],
)
def test_an_item_of_a_table(
    change: str, here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a table has is seldom in one place of the text."""
    write_wheels(here, {"1.0": {"lib": "TABLE = {'a': 1}\n"}})
    errors = left_out(world, capsys, "def f(): return 1\n", change)
    assert "it is an item of a table" in errors


@pytest.mark.parametrize("code", ["__name__", "__file__", "globals()"])
def test_a_new_module_that_asks_for_itself(
    code: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A body has another name and another file than the module that it becomes."""
    body = f"VALUE = {code}\n__all__ = ['VALUE']\n"
    errors = left_out(world, capsys, body, "Provide('up.new')")
    assert "which is of its module" in errors


@pytest.mark.parametrize("statement", ["import osx as os", "import os.path as os"])
def test_another_import_of_a_name_that_begins_alike(
    statement: str, here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does not take the place of the module's own."""
    head = "import os, osx\n"
    write_wheels(here, {"1.0": {"lib": f"{head}{UPSTREAM}"}})
    body = f"{statement}\ndef f(a=os): return a\n"
    errors = left_out(world, capsys, body, REPLACE_F)
    assert "it uses another os than the module has" in errors
