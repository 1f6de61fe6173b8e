"""Rows of what a pile is seen to change: its own objects, decorated ones, and what imports set."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from authoring.index_of_up import INTO_MINE
from authoring.piles.pile_of_up import (
    A_CLOSURE,
    PROBE,
    PROJECT,
    ROWS,
    World,
    adopt,
    answers,
    both,
    here,
    kinds,
    observed,
    world,
)
from patchkit.authoring.piles.observed import ChildProcess, observe
from patchkit.cli import main
from patchkit.errors import ScaffoldError

__all__ = ["here", "world"]

OWN = {
    "own object": """
        from up import lib, user

        def g():
            return "new g"

        class C(lib.C):
            size = 4

        def m(self, a, b=0):
            return ("own", a, b)

        def register():
            lib.g = user.g = g
            lib.C.fresh = m
            lib.D.m = m
            user.C = C
        """,
    "decorated": """
        import functools
        from up import lib

        def loud(original):
            @functools.wraps(original)
            def inner(*args, **words):
                return ("loud", original(*args, **words))

            return inner

        def register():
            lib.f = loud(lib.f)
            lib.C.m = loud(lib.C.m)
        """,
}


@pytest.mark.processes
@pytest.mark.parametrize("form", OWN)
def test_a_row_names_the_pile_s_own_object(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """A function or class of a module, or the function that was given the original."""
    report = observed(here, capsys, {"start": OWN[form]})
    assert report["left"] == []
    # Under `functools.wraps`, no code tells its function before Python 3.11: a call has the value.
    is_told = form != "decorated" or sys.version_info >= (3, 11)
    depth = form if is_told else "taken"
    assert set(report["observed"]["depths"].values()) == {depth}
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


@pytest.mark.processes
def test_an_object_of_another_module(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its module has a stand-in; the entry point's own module stays, and does nothing."""
    modules = {
        "start": "from pile import impl\nfrom up import lib\n\n\n"
        "def register():\n    lib.g = impl.g\n",
        "impl": "from pile.words import WORD\nimport up.lib\n\n\n"
        "def g():\n    return WORD\n",
        "words": "WORD = 'new'\n",
    }
    report = observed(here, capsys, modules)
    assert report["left"] == []
    assert report["observed"]["depths"] == {"up.lib:g": "own object"}
    theirs, ours = both(here)
    assert ours == theirs


@pytest.mark.processes
def test_a_module_that_patches_at_import_is_not_copied(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A body with its text would patch as the body is loaded."""
    text = """
        from up import lib

        lib.C.size += 1

        def g():
            return "new"

        def register():
            lib.g = g
        """
    report = observed(here, capsys, {"start": text})
    depths = {"up.lib:C.size": "in no row", "up.lib:g": "taken"}
    assert report["observed"]["depths"] == depths
    theirs, ours = both(here)
    assert ours == theirs


@pytest.mark.processes
def test_an_item_counts_once(here: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Other modules have names for the same table."""
    here.module("up.other", "from up.lib import TABLE\n")
    text = """
        import up.other
        from up import lib

        def register():
            lib.TABLE["a"] = 5
        """
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["depths"] == {"up.lib:TABLE['a']": "taken"}
    assert report["expressed"] == 1


IMPORTS = {
    "in place": "from up import lib\n\nlib.C.size += 1\nlib.TABLE.update(a=2)\n",
    "by exec": "from up import lib\n\nexec('lib.f = lambda a, b=0: a')\n",
    "by a name": "import up.lib\n\n\ndef f(a, b=0):\n    return ('new', a)\n\n\n"
    "for name in vars(up.lib):\n    if name == 'f':\n        setattr(up.lib, name, f)\n",
}


@pytest.mark.processes
@pytest.mark.parametrize("form", IMPORTS)
def test_a_row_runs_a_module_that_only_changes_as_no_row_does(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The pile's own module has a stand-in, and the pack runs its text for what it sets."""
    here.module("pile.patches", IMPORTS[form])
    (here.folder / "pile" / "__init__.py").write_text("from pile import patches\n")
    report = adopt(here, capsys, {}, "--observe")
    assert report["left"] == []
    assert set(report["observed"]["depths"].values()) == {"taken"}
    theirs, ours = answers(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


@pytest.mark.processes
def test_a_helper_that_sets_may_lie_in_the_package_itself(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package and its module import each other: one of them has to be imported."""
    helper = "def put(owner, name, new):\n    setattr(owner, name, new)\n\n\n"
    here.module(
        "pile.patches", "from pile import put\nfrom up import lib\nput(lib, 'g', str)\n"
    )
    init = here.folder / "pile" / "__init__.py"
    init.write_text(f"{helper}from pile import patches\n")
    report = adopt(here, capsys, {}, "--observe")
    assert report["left"] == []
    assert set(report["observed"]["depths"]) == {"up.lib:g"}


@pytest.mark.processes
@pytest.mark.parametrize("path", ["one.py", "one/__init__.py", "src/one/__init__.py"])
def test_a_pile_of_one_module(
    here: World,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
) -> None:
    """It has no stand-in, as it lies in no package: the row names what it has there."""
    text = "from up import lib\n\n\ndef g():\n    return 'new'\n\n\n"
    text += "def register():\n    lib.g = g\n"
    folder = here.folder / "project"
    monkeypatch.setenv("PYTHONPATH", str(here.folder))
    file = folder / path
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    words = [*INTO_MINE, "--observe", "--call", "one:register"]
    assert main(["adopt", str(folder), *words]) == 0
    assert "observed 1 change: 1 own object" in capsys.readouterr().out
    start = f"import sys\nsys.path[:0] = [{str(folder)!r}, {str(folder / 'src')!r}]\n"
    call = "import one\none.register()\n"
    theirs = here.answer(f"{start}{call}{PROBE}", PATCHKIT="0")
    ours = here.answer(f"{start}{ROWS}{call}{PROBE}")
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")
