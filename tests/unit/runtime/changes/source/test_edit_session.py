from __future__ import annotations

import importlib
import json
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import row
from support.undoing import apply, undo

from patchkit.errors import ApplyError

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


EDIT = "Edit('up.mod:function', old='return 1', new='return 2')"
MODULE = "def function():\n    return 1\n"


def write_pack_without_body(world: World, *rows: str) -> None:
    """Write a pack that needs no body."""
    world.pack(*rows, notes="")


def test_a_patch_of_edits_needs_no_body(world: World) -> None:
    """An Edit is applied on import, again after a reload, and taken back by undo."""
    world.module("up.mod", MODULE)
    world.module("up.user", "from up.mod import function")
    write_pack_without_body(world, row("p", None, EDIT))
    session = world.session()
    session.arm(MAIN)
    function = load("up.user").function
    assert function() == 2
    importlib.reload(load("up.mod"))
    assert load("up.mod").function() == 2
    undo(session)
    assert load("up.mod").function() == 1


def test_rows_that_edit_one_function_come_off_alone(world: World) -> None:
    """The second row's edit is undone and applied again, and the first one's stays."""
    world.module("up.mod", "def function():\n    return 'a', 'b'\n")
    write_pack_without_body(
        world,
        row("one", None, "Edit('up.mod:function', \"'a'\", \"'A'\")"),
        row("two", None, "Edit('up.mod:function', \"'A', 'b'\", \"'A', 'B'\")"),
    )
    session = world.session()
    function = load("up.mod").function
    code = function.__code__
    session.arm(MAIN)
    assert function() == ("A", "B")
    undo(session, ["two"])
    assert function() == ("A", "b")
    apply(session, ["two"])
    assert function() == ("A", "B")
    undo(session)
    assert function.__code__ is code


def test_a_row_that_fails_leaves_the_function(world: World) -> None:
    """If the second edit of a row does not match, the first one is not made either."""
    world.module("up.mod", MODULE)
    write_pack_without_body(world, row("p", None, EDIT, EDIT))
    session = world.session()
    code = load("up.mod").function.__code__
    with pytest.raises(ApplyError, match="not found, expected once"):
        session.arm(MAIN)
    assert load("up.mod").function.__code__ is code


CHILD = """
    import json, patchkit.auto, up.mod, inspect
    function = up.mod.function
    print(json.dumps([function(), inspect.getsource(function), function.__code__.co_filename]))
"""


@pytest.mark.processes
@pytest.mark.parametrize("flags", [(), ("-O",), ("-OO",), ("-B", "-X", "dev")])
def test_in_a_process_of_its_own(world: World, flags: tuple[str, ...]) -> None:
    """An Edit acts in a new process, also where `-O` or `-OO` leave code out."""
    world.module(
        "up.mod", "def function():\n    '''Say.'''\n    assert 0\n    return 1\n"
    )
    write_pack_without_body(
        world,
        row("p", None, EDIT + ", Edit('up.mod:function', 'assert 0', 'assert 1')"),
    )
    completed = world.run(*flags, "-c", dedent(CHILD))
    assert completed.returncode == 0, completed.stderr
    value, source, _ = json.loads(completed.stdout)
    assert value == 2
    assert "assert 1\n    return 2" in source


@pytest.mark.processes
def test_with_a_home_that_cannot_be_written(world: World) -> None:
    """Without a cache folder the edit acts, and `inspect` shows its text from memory."""
    world.module("up.mod", MODULE)
    write_pack_without_body(world, row("p", None, EDIT))
    value, source, file = world.answer(CHILD, XDG_CACHE_HOME="/dev/null/cache")
    assert (value, source) == (2, MODULE.replace("1", "2"))
    assert file.startswith("<patchkit edit of ")


@pytest.mark.processes
def test_processes_share_the_edited_file(world: World) -> None:
    """A child that is spawned has the edit, and its code is in the same file."""
    world.module("up.mod", MODULE)
    write_pack_without_body(world, row("p", None, EDIT))
    answer = world.script("""
        import json, multiprocessing
        import patchkit.auto
        from up.mod import function

        def ask(answers):
            answers.put((function(), function.__code__.co_filename))

        if __name__ == "__main__":
            spawn = multiprocessing.get_context("spawn")
            answers = spawn.Queue()
            child = spawn.Process(target=ask, args=(answers,))
            child.start()
            theirs = answers.get(timeout=20)
            child.join()
            print(json.dumps([theirs, [function(), function.__code__.co_filename]]))
    """)
    theirs, ours = answer
    assert theirs == ours
    assert ours[0] == 2
    assert Path(ours[1]).read_text() == MODULE.replace("1", "2")
