"""What upstream's module has no place for, or another thing in its place, is in no diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import World, row, world

from authoring.export.exporting import (
    REPLACE_F,
    SMALL,
    LeftOut,
    export,
    here,
    left_out,
    released,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "left_out", "released", "world"]

pytestmark = pytest.mark.usefixtures("released")


def test_a_name_that_only_upstream_has(here: Path, left_out: LeftOut) -> None:
    """What the body does not bind, or what is a builtin there, is another thing in the module."""
    errors = left_out("def f(a=1):\n    return g()\n")
    assert "it reads g, which the body does not bind" in errors
    starred = "from os import *\ndef f(a=1):\n    return g()\n"
    assert "its body imports all names of another module" in left_out(starred)
    write_wheels(here, {"1.0": {"lib": f"def len(a): return 1\n{SMALL}"}})
    errors = left_out("def f(a=1):\n    return len(a)\n")
    assert "it uses the builtin len, and up/lib.py has another" in errors


@pytest.mark.parametrize("line", [0, 3, 14])
def test_a_module_that_imports_all_names_of_another(
    line: int, here: Path, left_out: LeftOut
) -> None:
    """Which of its names are which is not in its text, above the import or below."""
    lines = SMALL.split("\n")
    lines.insert(line, "from up.other import *")
    other = "def helper():\n    return 'upstream'\ndef deep(n):\n    return n\n"
    write_wheels(here, {"1.0": {"lib": "\n".join(lines), "other": other}})
    helper = "def helper():\n    return 1\ndef f(a=1):\n    return helper()\n"
    imported = "from json import dumps\ndef f(a=dumps):\n    return 1\n"
    for body in (helper, imported, "def f(a=1):\n    return 1\n"):
        errors = left_out(body)
        assert "imports all names of another module" in errors
    body = "def late():\n    return 1\n"
    errors = left_out(body, "Add('up.lib:late', by='late')")
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
    body: str, here: Path, left_out: LeftOut
) -> None:
    """What cannot be imported within the function is not imported above it."""
    more = "from up.lib import g\ndef wide(a):\n    return a\n"
    lib = f"from up import other\n{SMALL}"
    other = "def deep(n):\n    return n\n"
    write_wheels(here, {"1.0": {"lib": lib, "other": other, "more": more}})
    assert "which may import" in left_out(body)


def test_a_replaced_import_that_may_make_a_circle(
    world: World, left_out: LeftOut
) -> None:
    """A name that the module imports from elsewhere is imported as the module is."""
    body = "from up.more import deep\n"
    change = "Replace('up.lib:deep', by='deep')"
    write_wheels(
        world.folder,
        {"1.0": {"lib": SMALL, "other": "deep = 1", "more": "deep = 2"}},
    )
    assert "which may import" in left_out(body, change)


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


def test_an_object_that_two_names_would_have_each(left_out: LeftOut) -> None:
    """A table that two changes name is one thing in the body, too."""
    changes = ("Add('up.lib:A', by='TABLE')", "Add('up.lib:B', by='TABLE')")
    assert "TABLE would be made more than once" in left_out("TABLE = []\n", *changes)


def test_a_value_that_the_module_binds_twice(here: Path, left_out: LeftOut) -> None:
    """Neither a replaced one, nor one that the body has as the module's first one."""
    write_wheels(here, {"1.0": {"lib": f"X = 1\n{SMALL}\nX = 2\n"}})
    body = "X = 1\ndef f(a=1):\n    return X\n"
    errors = left_out(body, REPLACE_F, "Replace('up.lib:X', by='X')")
    assert "more than one statement of up/lib.py sets X" in errors
    assert "it uses another X than the module has" in errors


def test_a_helper_that_means_other_things_in_the_module(
    here: Path, left_out: LeftOut
) -> None:
    """A helper of the same text is another one if the names in it are."""
    helper = "def helper():\n    return X\n"
    write_wheels(here, {"1.0": {"lib": f"X = 1\n{helper}{SMALL}"}})
    body = f"X = 2\n{helper}\ndef f(a=1):\n    return helper()\n"
    assert "it uses another helper than the module has" in left_out(body)


def test_what_type_checkers_alone_import_in_the_module(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is imported again in the function that runs with it."""
    checked = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import json\n"
    write_wheels(here, {"1.0": {"lib": f"{checked}{SMALL}"}})
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
def test_an_item_of_a_table(change: str, here: Path, left_out: LeftOut) -> None:
    """What a table has is seldom in one place of the text."""
    write_wheels(here, {"1.0": {"lib": "TABLE = {'a': 1}\n"}})
    assert "it is an item of a table" in left_out("def f(): return 1\n", change)


def test_a_new_module_that_asks_for_itself(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in the diff as it is, and the words that mean another thing there are told."""
    body = "VALUE = __name__, globals()\n__all__ = ['VALUE']\n"
    world.pack(row("one", "patch_lib", "Provide('up.new')"), patch_lib=body)
    code, diff, errors = export(capsys)
    assert code == 1
    assert "+VALUE = __name__, globals()" in diff
    assert "up.new is in the diff, where __name__ is that of the module" in errors
    assert "up.new is in the diff, where globals is that of the module" in errors


@pytest.mark.parametrize("statement", ["import osx as os", "import os.path as os"])
def test_another_import_of_a_name_that_begins_alike(
    statement: str, here: Path, left_out: LeftOut
) -> None:
    """It does not take the place of the module's own."""
    head = "import os, osx\n"
    write_wheels(here, {"1.0": {"lib": f"{head}{SMALL}"}})
    body = f"{statement}\ndef f(a=os): return a\n"
    assert "it uses another os than the module has" in left_out(body)
