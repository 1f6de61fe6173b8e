"""AfterImports with `sets`: the pile's function is called, and its changes are as a row's own."""

from __future__ import annotations

import importlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, row

from patchkit.errors import ApplyError
from patchkit.runtime.process.effects import CALLED, NEVER_CALLED
from patchkit.runtime.process.patch_state import APPLIED, ARMED, FAILED

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

UP = """
def function(): return ('old',)
def beside(): return 'old'
class Base:
    def inherited(self): return ('base',)
class Thing(Base):
    def method(self): return 'old'
TABLE = {'key': 'old'}
"""
USER = "from up.mod import function"
PILE = """
import up.mod, up.user
calls = []
def function(): return ('pile', *original())
def inherited(self): return ('pile', *up.mod.Base.inherited(self))
def register():
    global original
    calls.append(up.mod.function())
    original = up.mod.function
    up.mod.function = function
    up.mod.Thing.inherited = inherited
    up.mod.TABLE['key'] = 'pile'
"""
BODY = """
from pile.patches import register
def new(): return ('new',)
def by(wrapped, instance, args, kwargs): return ('by', *wrapped(*args, **kwargs))
def loud(wrapped): return lambda: ('loud', *wrapped())
"""
TARGETS = ("up.mod:function", "up.mod:Thing.inherited", "up.mod:TABLE['key']")
CALL = f"AfterImport('up.mod', call='register', sets={TARGETS!r})"


def write(world: World, *rows: str, up: str = UP, pile: str = PILE) -> None:
    """Write upstream, a pile, and a pack with rows whose body has the pile's `register`."""
    world.module("up.mod", up)
    world.module("up.user", USER)
    world.module("pile.patches", pile)
    world.pack(*rows, patch_a=BODY)


def a_pile(
    world: World, *rows: str, up: str = UP, pile: str = PILE, arm: bool = True
) -> Session:
    """Return a session of rows whose body has the `register` of a pile."""
    write(world, *(rows or (row("p", "patch_a", CALL),)), up=up, pile=pile)
    session = world.session()
    session.journal.directory = str(world.journal)
    if arm:
        session.arm(MAIN)
    else:
        session.arm(frozenset(), lent=True)
    return session


def sets_of(session: Session) -> list[dict[str, Any]]:
    """The entries about calls with `sets`, without what is in every entry."""
    return [
        {name: entry[name] for name in ("name", "call", "left", "unnamed")}
        for entry in session.journal.entries
        if entry["event"] == "sets"
    ]


def test_undo_puts_back_each_named_target(world: World) -> None:
    """A function, an inherited method, an item and a copy are as they were."""
    session = a_pile(world, arm=False)
    up = load("up.mod")
    original = load("up.user").function
    before = dict(vars(up.Thing))
    session.blocks.hold(["p"])
    assert session.states["p"].status == APPLIED
    assert up.function() == load("up.user").function() == ("pile", "old")
    assert up.Thing().inherited() == ("pile", "base")
    assert up.TABLE == {"key": "pile"}
    session.blocks.let_go(["p"])
    assert up.function is load("up.user").function is original
    assert dict(vars(up.Thing)) == before
    assert up.TABLE == {"key": "old"}


def test_a_reload_calls_again(world: World) -> None:
    """The call finds the module as it is executed anew, and undo restores what that has."""
    session = a_pile(world, arm=False)
    session.blocks.hold(["p"])
    up = load("up.mod")
    importlib.reload(up)
    assert load("pile.patches").calls == [("old",), ("old",)]
    assert up.function() == ("pile", "old")
    session.blocks.let_go(["p"])
    assert up.function() == ("old",)
    assert up.Thing().inherited() == ("base",)


def test_what_the_function_returns_is_called_at_undo(world: World) -> None:
    """It may put back what it has found, without the patches of other rows that lie above."""
    pile = f"{PILE}    return restore\ndef restore(): up.mod.function = original\n"
    wrap = row("w", "patch_a", "Wrap('up.mod:function', by='by')")
    session = a_pile(world, row("p", "patch_a", CALL), wrap, pile=pile, arm=False)
    session.blocks.hold(["p", "w"])
    up = load("up.mod")
    assert up.function() == ("by", "pile", "old")
    session.blocks.let_go(["p"])
    assert up.function() == ("by", "old")
    session.stop_if_failed()
    assert session.states["w"].status == APPLIED
    session.blocks.let_go(["w"])
    assert up.function() == ("old",)


ROWS = {
    "call": "AfterImport('up.mod', call='register', sets=('up.mod:function',))",
    "wrap": "Wrap('up.mod:function', by='by')",
    "late": "Wrap('up.mod:function', by='by')",
    "new": "Replace('up.mod:function', by='new')",
}


def expected(names: tuple[str, ...], applied: set[str]) -> tuple[str, ...]:
    """What the function returns: replaced by the last that replaces it, wrapped by the others."""
    result: tuple[str, ...] = ("old",)
    for name in names:
        if name in applied and name == "new":
            result = ("new",)
        if name in applied and name == "call":
            result = ("pile", *result)
    return ("by",) * len(applied & {"wrap", "late"}) + result


@pytest.mark.parametrize("names", list(itertools.permutations(ROWS)))
def test_rows_of_any_kind_on_one_target_in_any_order(
    world: World, names: tuple[str, ...]
) -> None:
    """Whichever order they have, and come and go in, the order of rows says what a call does."""
    pile = PILE.split("    up.mod.Thing", maxsplit=1)[0]
    rows = [row(name, "patch_a", ROWS[name]) for name in names]
    session = a_pile(world, *rows, pile=pile, arm=False)
    up = load("up.mod")
    original = up.function
    for coming in (names, names[::-1]):
        applied: set[str] = set()
        for name in coming:
            session.blocks.hold([name])
            applied.add(name)
            if coming == names:
                assert up.function() == expected(names, applied)
        going = [*coming[1::2], *coming[::2]]
        for name in going:
            session.blocks.let_go([name])
            assert session.states[name].status == ARMED
        assert up.function is load("up.user").function is original


def test_a_call_that_raises_leaves_the_named_targets_as_they_were(world: World) -> None:
    """Also where others lie on them, and a layer was lifted for the call."""
    pile = PILE.replace("    up.mod.TABLE['key'] = 'pile'", "    raise OSError('no')")
    rows = [row("w", "patch_a", ROWS["wrap"]), row("p", "patch_a", CALL)]
    session = a_pile(world, *rows, pile=pile, arm=False)
    up = load("up.mod")
    before = dict(vars(up.Thing))
    session.blocks.hold(["w"])
    with pytest.raises(ApplyError, match="no"):
        session.blocks.hold(["p"])
    assert up.function() == ("by", "old")
    assert dict(vars(up.Thing)) == before


def test_a_call_that_removes_a_named_target_fails(world: World) -> None:
    """Its patch fails, and the target is there again."""
    pile = PILE.replace("up.mod.function = function", "del up.mod.function")
    session = a_pile(world, pile=pile)
    with pytest.raises(ApplyError, match=r"register\(\) has removed up.mod:function"):
        load("up.mod")
    assert session.states["p"].status == FAILED


def test_what_was_named_and_left_and_what_was_changed_unnamed(world: World) -> None:
    """The journal tells both; new attributes and submodules are no change of upstream's."""
    pile = f"""{PILE}
    up.mod.Base.inherited = lambda self: ('based',)
    up.mod.Thing.method = inherited
    up.mod.is_registered = True
    import up.other as other
"""
    world.module("up.other", "")
    call = CALL.replace("up.mod:function", "up.mod:beside")
    session = a_pile(world, row("p", "patch_a", call), pile=pile)
    load("up.mod")
    left = ["up.mod:beside"]
    unnamed = ["up.mod:Base.inherited", "up.mod:Thing.method", "up.mod:function"]
    (entry,) = sets_of(session)
    assert entry | {"unnamed": sorted(entry["unnamed"])} == {
        "name": "p",
        "call": "register",
        "left": left,
        "unnamed": unnamed,
    }


def test_without_sets_nothing_is_compared(world: World) -> None:
    """As before: no entry, and the module itself is the target."""
    call = row("p", "patch_a", "AfterImport('up.mod', call='register')")
    session = a_pile(world, call)
    load("up.mod")
    assert sets_of(session) == []
    assert session.states["p"].groups[0].made.targets == ["up.mod"]


def test_functions_of_the_pile_show_that_it_is_in_effect(world: World) -> None:
    """They are not of the pack; and the call itself shows no effect of what it has set."""
    session = a_pile(world, row("p", "patch_a", ROWS["call"]))
    up = load("up.mod")
    words: dict[str, str] = {}

    def look() -> dict[str, str]:
        session.lookout.effects.look()
        for entry in session.journal.entries:
            if entry["event"] == "in-effect":
                words.update(entry["patches"]["p"])
        return words

    assert look() == {"up.mod:function": NEVER_CALLED}
    up.function()
    assert look() == {"up.mod:function": CALLED}


def test_who_overwrites_a_set_target_is_found(world: World) -> None:
    """As for a Replace: the patch fails."""
    session = a_pile(world)
    up = load("up.mod")
    changed, up.function = up.function, len
    with pytest.raises(ApplyError, match="overwritten"):
        session.stop_if_failed()
    up.function = changed


def test_a_part_of_a_class_that_a_call_replaces_goes_onto_that(world: World) -> None:
    """A later row wraps the method of the class that is there, whichever was applied first."""
    pile = """
import up.mod
class Thing(up.mod.Thing):
    def method(self): return ('pile',)
def register(): up.mod.Thing = Thing
"""
    call = "AfterImport('up.mod', call='register', sets=('up.mod:Thing',))"
    rows = [
        row("p", "patch_a", call),
        row("w", "patch_a", "Wrap('up.mod:Thing.method', by='by')"),
    ]
    session = a_pile(world, *rows, pile=pile, arm=False)
    up = load("up.mod")
    for names in (("p", "w"), ("w", "p")):
        for name in names:
            session.blocks.hold([name])
        assert up.Thing().method() == ("by", "pile")
        session.blocks.let_go(["p"])
        assert up.Thing().method() == ("by", *"old")
        session.blocks.let_go(["w"])
        assert up.Thing().method() == "old"


def test_what_a_call_has_set_outlives_that_others_are_made_anew(world: World) -> None:
    """A row with a call, and a change in a class that an earlier row brings, which comes later."""
    rows = [
        row("c", "patch_a", "Replace('up.mod:Thing', by='Other', unrelated=True)"),
        row("p", "patch_a", ROWS["call"], "Wrap('up.mod:Thing.method', by='by')"),
    ]
    session = a_pile(
        world, *rows, pile=PILE.split("    up.mod.Thing", maxsplit=1)[0], arm=False
    )
    world.module(
        "pack.patch_a",
        f"{BODY}\nclass Other:\n    def method(self): return ('other',)\n",
    )
    up = load("up.mod")
    session.blocks.hold(["p"])
    session.blocks.hold(["c"])
    assert up.Thing().method() == ("by", "other")
    assert up.function() == ("pile", "old")
    assert len(load("pile.patches").calls) == 1
    made = session.states["p"].groups[0].made
    assert {target for target, _ in made.sites} == {
        "up.mod:function",
        "up.mod:Thing.method",
    }
    session.blocks.let_go(["p"])
    assert up.function() == ("old",)
    session.blocks.let_go(["c"])
    assert up.Thing().method() == "old"


def test_a_target_in_another_module_is_imported_before_the_call(world: World) -> None:
    """It has its original then, also if the pile imports the module itself."""
    world.module("up.trigger", "")
    call = ROWS["call"].replace("'up.mod',", "'up.trigger',")
    session = a_pile(world, row("p", "patch_a", call), arm=False)
    session.blocks.hold(["p"])
    load("up.trigger")
    assert load("up.mod").function() == ("pile", "old")
    session.blocks.let_go(["p"])
    assert load("up.mod").function() == ("old",)


def test_a_reload_of_the_module_of_a_target_calls_again(world: World) -> None:
    """The module is not the one that the call waits for."""
    world.module("up.trigger", "")
    call = ROWS["call"].replace("'up.mod',", "'up.trigger',")
    session = a_pile(world, row("p", "patch_a", call), arm=False)
    session.blocks.hold(["p"])
    up = load("up.mod")
    importlib.reload(up)
    session.stop_if_failed()
    assert up.function() == ("pile", "old")
    assert load("pile.patches").calls == [("old",), ("old",)]
    session.blocks.let_go(["p"])
    assert up.function() == ("old",)


def test_a_call_waits_for_the_module_of_its_target(world: World) -> None:
    """The module is half imported when it imports the one that the call waits for."""
    world.module("up.trigger", "")
    call = ROWS["call"].replace("'up.mod',", "'up.trigger',")
    up = f"import up.trigger\n{UP}"
    pile = PILE.replace("import up.mod, up.user\n", "import up\n")
    session = a_pile(world, row("p", "patch_a", call), up=up, pile=pile)
    assert load("up.mod").function() == ("pile", "old")
    assert session.states["p"].status == APPLIED


@pytest.mark.processes
def test_status_reports_what_a_call_has_set_otherwise(world: World) -> None:
    """In words, in JSON and by the exit code; and a fork reports it no second time."""
    targets = ("up.mod:function", "up.mod:beside")
    call = f"AfterImport('up.mod', call='register', sets={targets!r})"
    write(world, row("p", "patch_a", call))
    code = """
import os
import patchkit.auto
import up.mod
assert up.mod.function() == ("pile", "old")
if os.fork() == 0:
    assert up.mod.function() == ("pile", "old")
else:
    os.wait()
"""
    done = world.run("-c", code)
    assert done.returncode == 0, done.stderr
    words = ("-m", "patchkit", "status", str(world.journal))
    told = world.run(*words)
    assert told.returncode == 1
    text = " ".join(told.stdout.split())
    for message in (
        "p: register() has left up.mod:beside as it was, and sets names it",
        "p: register() has changed up.mod:Thing.inherited, and sets does not name it",
    ):
        assert text.count(message) == 1, told.stdout
    data = json.loads(world.run(*words, "--format", "json").stdout)
    patches = data["processes"][0]["patches"]
    (patch,) = (patch for patch in patches if patch["name"] == "p")
    assert patch["targets"] == {"up.mod:function": CALLED}
    assert patch["sets"] == {
        "register": {"left": ["up.mod:beside"], "unnamed": ["up.mod:Thing.inherited"]}
    }
