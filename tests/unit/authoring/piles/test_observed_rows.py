"""Rows of what a pile's functions are seen to change, where reading does not tell it."""

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

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["here", "world"]

CALLS = {
    "several targets and a closure": """
        from up import lib, user

        def g():
            return "new g"

        def register():
            original = lib.C.m
            lib.C.m = lambda self, a, b=0: ("new", *original(self, a, b))
            lib.g = user.g = g
            lib.TABLE["a"] = 2
            lib.C.new = 5
            lib.D.m = lib.C.m
            lib.C.size += 1
        """,
    "a state of its own": """
        from up import lib

        def g():
            return ("new", original())

        def register():
            global original
            original = lib.g
            lib.g = g
        """,
    "a state in a table of its own": """
        from up import lib

        KEPT = {}

        def g():
            return ("new", KEPT["g"]())

        def register():
            KEPT["g"] = lib.g
            lib.g = g
        """,
    "an object of a module whose names change": """
        from up import lib

        word = "new"

        def g():
            return word

        def rename(other):
            global word
            word = other

        def register():
            lib.g = g
        """,
    "a loop over names that are worked out": """
        from up import lib

        def register():
            for name in [name for name in vars(lib) if name in "fg"]:
                old = getattr(lib, name)
                setattr(lib, name, lambda *args, old=old, **words: ("new", old(*args, **words)))
        """,
    "in place": """
        from up import lib

        def register():
            lib.TABLE.update(a=3, b=4)
            lib.C.s = staticmethod(lambda a: ("new", a))
        """,
}


@pytest.mark.processes
@pytest.mark.parametrize("form", CALLS)
def test_a_function_is_called_by_a_row(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """All that it changes is in the row; the plugin loader's own call does nothing then."""
    report = observed(here, capsys, {"start": CALLS[form]})
    assert report["left"] == []
    assert len(kinds(report)) == 1
    assert set(report["observed"]["depths"].values()) == {"taken"}
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


@pytest.mark.processes
def test_the_function_is_named_on_the_command_line(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--call` names one that no entry point does."""
    text = "from up import lib\n\n\ndef put():\n    lib.g = lambda: 'new'\n"
    words = ("--observe", "--call", "pile.start:put")
    report = adopt(here, capsys, {"start": text}, *words)
    assert report["left"] == []
    assert report["observed"]["depths"] == {"up.lib:g": "decorated"}
    start = "import pile.start\npile.start.put()\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{start}{PROBE}") == theirs


@pytest.mark.processes
def test_a_call_is_made_although_nobody_imports_the_pile(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second row imports the module that the first one waits for, whoever comes first."""
    text = "from up import lib\n\n\ndef put():\n    del lib.TABLE['a']\n"
    words = ("--observe", "--call", "pile.start:put")
    report = adopt(here, capsys, {"start": text}, *words)
    assert list(kinds(report)) == ["pile-start-put", "begin-pile-start-put"]
    start = "import pile.start\npile.start.put()\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == theirs
    assert here.answer(f"{ROWS}{start}{PROBE}") == theirs
    assert here.answer(f"import up.lib\n{ROWS}{PROBE}") == theirs


@pytest.mark.processes
def test_a_function_whose_name_has_underscores_beside_each_other(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of its row has one hyphen there, as a pack with two cannot be loaded."""
    text = "from up import lib\n\n\ndef _put__it():\n    lib.g = lambda: 'new'\n"
    words = ("--observe", "--call", "pile.start:_put__it")
    report = adopt(here, capsys, {"start": text}, *words)
    assert list(kinds(report)) == ["pile-start-put-it"]


@pytest.mark.processes
def test_a_function_beside_rows_that_were_read(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pack has the module's text; who calls its function gets one that does nothing."""
    text = """
        from up import lib

        def f(a, b=0):
            return ("new", a, b)

        lib.f = f

        def register():
            original = lib.g
            lib.g = lambda: ("new", original())
        """
    report = observed(here, capsys, {"start": text})
    assert report["left"] == []
    assert report["observed"]["depths"] == {
        "up.lib:f": "read",
        "up.lib:g": "decorated",
    }
    theirs, ours = both(here)
    assert ours == theirs


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
    assert set(report["observed"]["depths"].values()) == {form}
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


@pytest.mark.processes
def test_what_the_import_sets_and_a_call_sets_again(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row of the import is read, and the row of the call comes after it."""
    text = """
        from up import lib

        def f(a, b=0):
            return "at import"

        lib.f = f

        def register():
            old = lib.f
            lib.f = lambda *args, **words: ("called", old(*args, **words))
        """
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["depths"] == {"up.lib:f": "decorated"}
    theirs, ours = both(here)
    assert ours == theirs


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


LEFT = {
    "it fails": (
        "lib.g = str; raise ValueError('no device')",
        "up.lib:g",
        "no device",
    ),
    "it returns something": (
        "del lib.TABLE['a']; return 'a.platform'",
        "up.lib:TABLE['a']",
        "it returned something",
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize("form", LEFT)
def test_a_call_that_no_row_makes_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The reason says why, beside the statement that was read."""
    statements, target, _reason = LEFT[form]
    text = f"from up import lib\n\n\ndef register():\n    {statements}\n"
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["depths"] == {target: "in no row"}
    places = [place["place"] for place in report["left"]]
    assert places == [target.replace(":", ".", 1)]
    assert report["patches"] == []


@pytest.mark.processes
def test_it_observes_by_itself_where_upstream_is(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it cannot be imported, a line says so, and the pile is read alone."""
    (here.folder / "pyproject.toml").write_text(PROJECT.format(dependencies=""))
    here.module("pile.start", dedent(A_CLOSURE))
    words = [word for word in INTO_MINE if word != "--no-observe"]
    assert main(["adopt", "pile", *words, "--dry-run"]) == 0
    assert "observed 1 change: 1 decorated" in capsys.readouterr().out
    here.module("pile.start", "open('was_run', 'w')\n" + dedent(A_CLOSURE))
    init = here.folder / "up" / "__init__.py"
    init.write_text("raise ImportError('no device')\n", "utf-8")
    assert main(["adopt", "pile", *words, "--dry-run"]) == 1
    out, err = capsys.readouterr()
    assert "not observed: up cannot be imported here (ImportError: no device)" in err
    assert "it is set when register runs" in out
    assert main(["adopt", "pile", *words, "--dry-run", "--observe"]) == 2
    assert "--observe: up cannot be imported here" in capsys.readouterr().err
    assert not (here.folder / "was_run").exists()


@pytest.mark.processes
def test_the_report_names_statements_that_were_not_run(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may be for another device, or dead."""
    text = """\
        from up import lib

        def register():
            lib.g = lambda: "new"
            if hasattr(lib, "device"):
                lib.f = None
        """
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["not_run"] == ["pile/start.py:6"]
    assert [place["place"] for place in report["left"]] == ["up.lib.f"]


@pytest.mark.processes
def test_a_child_that_takes_too_long_is_ended(here: World) -> None:
    """The error says what to do."""
    here.module("up.slow", "import time\ntime.sleep(60)\n")
    child = ChildProcess(here.folder, limit=0.5)
    with pytest.raises(ScaffoldError, match=r"took longer than 0[.]5 s; --no-observe"):
        observe([], ["up.slow"], [], ["up"], child)


def test_releases_come_from_the_pile_s_metadata(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it pins one, and none is named."""
    project = PROJECT.format(dependencies='"up[all]==1.0"')
    (here.folder / "pyproject.toml").write_text(project, "utf-8")
    here.module("pile.start", "from up.lib import C\nC.new = 1\n")
    words = ["adopt", "pile", "--into", "mine", "--of", "up", "--no-observe"]
    assert main([*words, "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "pile requires up==1.0" in err
    assert "for up==1.0" in out


@pytest.mark.processes
def test_the_python_of_another_environment(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The child runs there; one that cannot be started is an error."""
    here.module("pile.start", dedent(A_CLOSURE))
    words = ["adopt", "pile", *INTO_MINE, "--observe", "--call", "pile.start:register"]
    assert main([*words, "--python", sys.executable, "--dry-run"]) == 0
    assert "1 decorated" in capsys.readouterr().out
    assert main([*words, "--python", "/no/python", "--dry-run"]) == 2
    assert "--python: cannot start /no/python" in capsys.readouterr().err


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
