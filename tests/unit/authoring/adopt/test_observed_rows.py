"""Rows of what a pile's functions are seen to change, where reading does not tell it."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from authoring.adopt.pile_of_up import PROBE, World, adopt, here, kinds, world

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["here", "world"]

PROJECT = """
[project]
name = "pile"
dependencies = [{dependencies}]
[project.entry-points."vllm.general_plugins"]
pile = "pile.start:register"
"""
ROWS = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
START = "import pile.start\npile.start.register()\n"


def observed(
    here: World,
    capsys: pytest.CaptureFixture[str],
    modules: Mapping[str, str],
    *words: str,
) -> dict[str, Any]:
    """Write a pile whose entry point is `pile.start:register`, and adopt what it does."""
    project = PROJECT.format(dependencies="")
    (here.folder / "pyproject.toml").write_text(project, "utf-8")
    texts = {name: dedent(text) for name, text in modules.items()}
    return adopt(here, capsys, texts, "--observe", *words)


def both(here: World) -> tuple[Any, Any]:
    """What upstream does once the pile's function was called, and with the rows in its place."""
    theirs = here.answer(f"{START}{PROBE}", PATCHKIT="0")
    ours = here.answer(f"{ROWS}{START}{PROBE}")
    return theirs, ours


CALLS = {
    "a closure": """
        from up import lib

        def register():
            original = lib.f

            def f(a, b=0):
                return ("new", *original(a, b))

            lib.f = f
        """,
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
    (changes,) = kinds(report).values()
    assert [kind for kind, _ in changes] == ["AfterImport"]
    assert set(report["observed"]["depths"].values()) == {"called"}
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")
