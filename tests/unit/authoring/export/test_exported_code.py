"""Where the code of a body stands in a diff, and with which decorators and imports."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import World, row, world

from authoring.export.exporting import BODY, applied, export, here

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]


@pytest.mark.parametrize(
    ("change", "body", "reason"),
    [
        (
            "Replace('up.lib:LIMIT', by='same')",
            "same = 1",
            "the release has it already",
        ),
        (
            "Replace('up.lib:f', by='calls')",
            "from up.lib import f\ndef calls(a):\n    return f(a)",
            "it uses f as upstream has it, and the patch replaces that",
        ),
        (
            "Replace('up.lib:f', by='far')",
            "from .helpers import helper\ndef far(a):\n    return helper(a)",
            "it uses helper of pack.helpers, which upstream does not have",
        ),
        (
            "Replace('up.lib:f', by='early')",
            "from up.lib import LIMIT\ndef early(a=LIMIT):\n    return a",
            "it reads LIMIT, which up/lib.py does not bind by then",
        ),
        (
            "Replace('up.lib:f', by='own')",
            "def own(a):\n    return missing(a)",
            "it reads missing, which the body does not bind",
        ),
        (
            "Replace('up.lib:f', by='shadow')",
            "import json as os\ndef shadow(a, b=os):\n    return os.dumps(a)",
            "it uses another os than the module has",
        ),
        (
            "Replace('up.lib:f', by='builtin')",
            "def len(a):\n    return 1\ndef builtin(a):\n    return len(a)",
            "it uses a len of its own, which is a builtin elsewhere",
        ),
        (
            "Replace('up.lib:dataclass', by='other')",
            "def other(cls):\n    return cls",
            "up.lib only imports it (from dataclasses import dataclass)",
        ),
        (
            "Provide('up.other')",
            "__all__ = []",
            "the release has a file up/other.py already",
        ),
        (
            "Provide('up.new')",
            "from pack import helpers\n__all__ = ['helpers']",
            "it uses helpers of pack, which upstream does not have",
        ),
    ],
)
def test_code_that_would_do_something_else_is_listed(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    body: str,
    reason: str,
) -> None:
    """What cannot be imported, or would mean another thing there, is left out with the reason."""
    world.pack(row("one", "patch_lib", change), patch_lib=body)
    code, diff, errors = export(capsys)
    assert reason in errors
    assert (code, diff) == (1, "")


def test_a_decorator_that_a_replacement_lacks_goes(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What says which kind of method it is stays, and so does what patchkit asks again."""
    upstream = """
    import functools

    def named(function):
        return function

    @named
    def f(a):
        return a

    class C:
        @staticmethod
        @named
        def s(a):
            return a

        @functools.lru_cache(maxsize=2)
        def cached(self):
            return 1
    """
    write_wheels(here, {"1.0": {"lib": dedent(upstream)}})
    body = "def f(a):\n    return a\ndef cached(self):\n    return 2\n"
    changes = (
        "Replace('up.lib:f', by='f')",
        "Replace('up.lib:C.s', by='f')",
        "Replace('up.lib:C.cached', by='cached')",
    )
    world.pack(row("one", "patch_lib", *changes), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    changed = [line for line in diff.splitlines() if line[:1] in "+-"][2:]
    assert changed == [
        "-@named",
        "-    @named",
        "-        return 1",
        "+        return 2",
    ]


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize("is_imported", [False, True])
def test_what_type_checkers_alone_import(
    is_lazy: bool,
    is_imported: bool,
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A module has to leave its annotations as text, too, and to import the same names."""
    checked = """
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        from collections.abc import Sequence
    """
    head = "from __future__ import annotations\n" if is_lazy else ""
    if is_imported:
        head += dedent(checked)
    text = f"{head}\nclass C:\n    def m(self):\n        return 1\n"
    write_wheels(here, {"1.0": {"lib": text}})
    method = "    def m(self, other: D | None = None) -> Sequence[int]: return [1]\n"
    imports = (
        f"from __future__ import annotations\nfrom up import lib\n{dedent(checked)}"
    )
    body = f"{imports}\nclass D(lib.C):\n{method}"
    change = "Replace('up.lib:C', by='D')"
    world.pack(row("one", "patch_lib", change), patch_lib=body)
    code, diff, errors = export(capsys)
    if is_lazy and is_imported:
        assert (code, errors) == (0, "")
        assert "def m(self, other: C | None = None) -> Sequence[int]:" in diff
    else:
        assert (code, diff) == (1, "")
        assert "its annotations have Sequence, which up/lib.py does not" in errors


@pytest.mark.processes
def test_what_is_defined_under_a_condition_is_changed_there(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class in a `try`, which is None without a package, keeps its place and its margin."""
    text = """
    try:
        import json

        class C:
            def m(self):
                return 1

    except ImportError:
        C = None

    if json:
        def f():
            return 1
    else:
        def f():
            return 2
    """
    write_wheels(here, {"1.0": {"lib": dedent(text)}})
    body = """
    from up.lib import C

    def helper():
        return 2

    def f():
        return 3

    class D(C):
        def m(self):
            return helper()
    """
    changes = ("Replace('up.lib:C', by='D')", "Replace('up.lib:f', by='f')")
    world.pack(row("one", "patch_lib", *changes), patch_lib=dedent(body))
    code, diff, errors = export(capsys)
    assert code == 1
    assert "up.lib:f is not in the diff" in errors
    assert errors.count("\n") == 1
    applied(here, diff)
    program = "import up.lib as m; print(m.C().m(), m.f())"
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=here / "tree", check=True, capture_output=True, timeout=30
    )
    assert done.stdout.split() == [b"2", b"1"]


@pytest.mark.processes
def test_what_is_added_stands_before_what_needs_it(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that a class calls as it is made is added above the class."""
    text = "class C:\n    size = 1\n\n\nif __name__ == '__main__':\n    print(C)\n"
    write_wheels(here, {"1.0": {"lib": text}})
    changes = (
        "Add('up.lib:make', by='make')",
        "Add('up.lib:late', by='late')",
        "Replace('up.lib:C.size', by='size')",
    )
    body = (
        "def make():\n    return 2\n\n\ndef late():\n    return 3\n\n\nsize = make()\n"
    )
    world.pack(row("one", "patch_lib", *changes), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    patched = applied(here, diff)
    order = [name for name in patched.named if "." not in name]
    assert order == ["make", "C", "late"]
    assert patched.text(patched.named["C.size"]) == "    size = make()"


def test_an_import_that_comes_from_elsewhere_takes_the_place_of_the_old_one(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that a body only imports is imported by the module from there."""
    imports = "from json import dumps, loads\nfrom up.other import deep\n"
    text = f"{imports}\n\ndef f(a):\n    return dumps(loads(a))\n"
    write_wheels(here, {"1.0": {"lib": text, "other": "deep = loads = str"}})
    change = "Replace('up.lib:loads', by='loads')"
    world.pack(row("one", "patch_lib", change), patch_lib="from up.other import loads")
    code, diff, errors = export(capsys)
    assert "+from json import dumps\n" in diff
    assert "+from up.other import deep, loads\n" in diff
    assert (code, errors) == (0, "")


def test_an_added_name_of_another_module_is_no_obstacle(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that is added under such a name is in the diff under that name."""
    change = "Add('up.lib:os', by='helper')"
    world.pack(row("one", "patch_lib", change), patch_lib=BODY)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert "+def os(a):" in diff


def test_a_method_that_names_its_class_and_instance_for_super(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Outside of a class `super()` needs both, inside it does not."""
    text = "class C:\n    def m(self):\n        return 1\n"
    write_wheels(here, {"1.0": {"lib": text}})
    body = "from up.lib import C\ndef m(self):\n    return super(C, self).m()\n"
    world.pack(row("one", "patch_lib", "Replace('up.lib:C.m', by='m')"), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert "+        return super().m()\n" in diff
