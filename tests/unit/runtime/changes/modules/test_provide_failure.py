from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.undoing import apply, undo

from patchkit.errors import ApplyError, PatchkitError
from runtime.changes.modules.providing import PROVIDE, a_world, armed

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


# -- failure --------------------------------------------------------------------------------------


def test_the_failure_of_a_body_is_no_import_error(world: World) -> None:
    """A body that raises gets past `except ImportError`, which upstream has around such imports."""
    armed(world, body="raise ModuleNotFoundError('of the body')\n")
    with pytest.raises(PatchkitError) as caught:
        load("up.llm")
    assert not isinstance(caught.value, ImportError)
    with pytest.raises(ApplyError):  # and so the next time
        load("up.llm")
    with pytest.raises(ApplyError):
        importlib.util.find_spec("up.llm")


def test_a_failure_of_a_patch_that_is_not_required(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It warns once, and every import fails as without patchkit."""
    armed(world, required="False", body="raise ValueError('broken body')\n")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match=r"No module named 'up.llm'"):
            load("up.llm")
    assert capsys.readouterr().err.count("broken body") == 1


@pytest.mark.parametrize("required", ["True", "False"])
def test_another_change_of_the_row_fails(world: World, required: str) -> None:
    """A row whose other change fails provides nothing: the module that was served is withdrawn."""
    armed(world, PROVIDE, "Replace('up.llm:gone', by='build')", required=required)
    error = ApplyError if required == "True" else ModuleNotFoundError
    with pytest.raises(error):
        load("up.llm")
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")


@pytest.mark.parametrize("first", ["up.llm", "pack.patch_a"])
def test_a_body_that_asks_for_the_module_itself(world: World, first: str) -> None:
    """It gets the unfinished module as in any circle of imports, or none if it came first."""
    body = """
try:
    import up.llm
    found = True
except ModuleNotFoundError:
    found = None
"""
    armed(world, body=body)
    load(first)
    assert load("up.llm").build().run() == "run"
    assert load("pack.patch_a").found is (True if first == "up.llm" else None)


def test_a_body_that_is_imported_first(world: World) -> None:
    """The module has the very objects of a body that was imported before it."""
    armed(world)
    body = load("pack.patch_a")
    assert load("up.llm").Processor is body.Processor


# -- undo -----------------------------------------------------------------------------------------


def test_undo_and_apply_again(world: World) -> None:
    """After undo the import fails as without patchkit; applied again, the module is served."""
    session = armed(world)
    module = load("up.llm")
    undo(session, ["p"])
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    assert importlib.util.find_spec("up.llm") is None
    assert module.build().run() == "run"  # whoever holds it goes on
    apply(session, ["p"])
    assert load("up.llm").build().run() == "run"


def test_undo_leaves_what_is_somebody_elses(world: World) -> None:
    """Undo leaves another module under that name and another attribute of the parent."""
    session = armed(world)
    load("up.llm")
    other = sys.modules["up.llm"] = ModuleType("up.llm")
    try:
        load("up").llm = "other"
        undo(session)
        assert sys.modules["up.llm"] is other
        assert load("up").llm == "other"
    finally:
        del sys.modules["up.llm"]


@pytest.mark.parametrize("reload", [False, True])
def test_undo_restores_what_the_parent_had_under_that_name(
    world: World, reload: bool
) -> None:
    """After undo the parent has the attribute again that the import had hidden."""
    a_world(world)
    world.module("up.__init__", "llm = 'a function, say'\n")
    session = world.session()
    session.arm(MAIN)
    module = load("up.llm")
    assert load("up").llm is module
    if reload:
        importlib.reload(module)
    undo(session)
    assert load("up").llm == "a function, say"
