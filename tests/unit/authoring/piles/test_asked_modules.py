"""Conditions of a pile that ask upstream, in bodies that are loaded while upstream is imported."""

from __future__ import annotations

import pytest

from authoring.piles.pile_of_up import (
    PROBE,
    ROWS,
    World,
    adopt,
    answers,
    here,
    world,
)

__all__ = ["here", "world"]

CONDITIONS = {
    "a test of an attribute": """
        import up
        import up.lib

        if hasattr(up, "late"):
            up.lib.f = lambda a, b=0: ("late", a)
        """,
    "a test in an else": """
        import os
        import up as upstream
        import up.lib as lib

        if os.environ.get("NOBODY_SETS_THIS"):
            lib.f = None
        elif getattr(upstream, "late", 0):
            lib.f = lambda a, b=0: ("late", a)
        """,
    "an import that is tried": """
        import up.lib

        try:
            from up import late
            up.lib.f = lambda a, b=0: ("late", a)
        except ImportError:
            pass
        """,
}


@pytest.mark.processes
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_asks_upstream_once_that_is_whole(
    here: World, capsys: pytest.CaptureFixture[str], condition: str
) -> None:
    """The row is due when `up.lib` has executed, and what the condition asks for comes later."""
    here.module("up.__init__", "import up.lib\n\nlate = 1\n")
    adopt(here, capsys, {"patches": CONDITIONS[condition]}, "--no-observe")
    theirs, ours = answers(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


@pytest.mark.processes
def test_a_condition_around_the_import_of_a_module_asks_so_too(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the `when` of the module's rows."""
    here.module("up.__init__", "import up.lib\n\nlate = 1\n")
    guard = "import up\n\nif hasattr(up, 'late'):\n    from pile import patches\n"
    patches = "import up.lib\n\nup.lib.f = lambda a, b=0: ('late', a)\n"
    adopt(here, capsys, {"every": guard, "patches": patches}, "--no-observe")
    theirs = here.answer(f"import pile.every\n{PROBE}", PATCHKIT="0")
    ours = here.answer(f"{ROWS}import pile.every\n{PROBE}")
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


@pytest.mark.parametrize(
    "text",
    [
        "import up.lib\nup.lib.f = print\n",
        "import os\nimport up.lib\nif os.environ.get('A'):\n    up.lib.f = print\n",
    ],
)
def test_a_body_whose_conditions_ask_nothing_of_upstream_does_not_wait(
    here: World, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """Its rows are applied as soon as the module of their target has executed."""
    adopt(here, capsys, {"patches": text}, "--no-observe")
    body = (here.folder / "mine" / "patch_patches.py").read_text()
    assert "wait_for" not in body
