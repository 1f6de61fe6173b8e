"""What blocks hold, and what is left once they let go."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from support.packages import World, row

from patchkit.errors import (
    ApplyError,
    DeclarationError,
    TargetError,
    UndoError,
    UnknownPatchError,
)
from patchkit.registry import read_pack
from patchkit.runtime.process.patch_state import APPLIED, ARMED, SKIPPED

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

ASKS = """
import os
def wanted(): return True if "UP_FEATURE" in os.environ else "the feature is off"
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
"""


def test_a_block_within_a_block(world: World) -> None:
    """The end of the inner block changes nothing, and that of the outer one undoes the patch."""
    session = a_world(world, WRAP, roles="{Role.WORKER}")
    session.arm(MAIN)
    session.blocks.hold(["p"])
    session.blocks.hold(["p"])
    session.blocks.let_go(["p"])
    assert load("up.mod").function() == ("by", "old")
    assert session.states["p"].status == APPLIED
    session.blocks.let_go(["p"])
    assert load("up.mod").function() == "old"
    assert session.states["p"].status == ARMED


def test_a_block_asks_a_when_that_refused_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block applies a skipped patch once its `when` agrees; after it the patch is skipped."""
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", WRAP, when="'wanted'"), patch_a=ASKS)
    session = world.session()
    session.arm(MAIN)
    module = load("up.mod")
    state = session.states["p"]
    assert module.function() == "old"
    assert state.status == SKIPPED
    with pytest.raises(ApplyError, match="p does not apply here: the feature is off"):
        session.blocks.hold(["p"])
    monkeypatch.setenv("UP_FEATURE", "1")
    session.blocks.hold(["p"])
    assert module.function() == ("by", "old")
    session.blocks.let_go(["p"])
    state = session.states["p"]
    assert module.function() == "old"
    assert (state.status, state.reason) == (SKIPPED, "the feature is off")


def test_a_block_with_a_patch_that_a_role_has_applied(world: World) -> None:
    """A patch that the process has anyway stays applied after the block."""
    session = a_world(world, WRAP)
    session.arm(MAIN)
    module = load("up.mod")
    session.blocks.hold(["p"])
    session.blocks.let_go(["p"])
    assert module.function() == ("by", "old")
    assert session.states["p"].status == APPLIED


def test_a_block_without_names(world: World) -> None:
    """Holding no names holds every patch that applies here, and returns their names."""
    world.module("up.mod", UPSTREAM)
    unmet = row("q", "patch_a", REPLACE, requires="('up>=2',)")
    world.pack(row("p", "patch_a", WRAP, roles="{Role.WORKER}"), unmet, patch_a=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    assert session.blocks.hold([]) == ("p",)
    assert load("up.mod").function() == ("by", "old")
    session.blocks.let_go(["p"])
    assert load("up.mod").function() == "old"


def test_a_block_without_names_skips_what_a_when_refuses(world: World) -> None:
    """A patch whose `when` refuses is skipped by a block without names, and armed after it."""
    world.module("up.mod", UPSTREAM)
    refused = row("q", "patch_b", WRAP, when="'wanted'")
    world.pack(row("p", "patch_a", WRAP), refused, patch_a=BODY, patch_b=ASKS)
    session = world.session()
    session.arm(frozenset(), lent=True)
    held = session.blocks.hold([])
    state = session.states["q"]
    assert load("up.mod").function() == ("by", "old")
    assert (state.status, state.reason) == (SKIPPED, "the feature is off")
    session.blocks.let_go(held)
    assert load("up.mod").function() == "old"
    assert (state.status, state.holders) == (ARMED, 0)


def test_a_block_with_a_patch_that_is_not_for_here(world: World) -> None:
    """A block raises before it applies the others where one patch does not apply here."""
    world.module("up.mod", UPSTREAM)
    unmet = row("q", "patch_a", REPLACE, requires="('up>=2',)")
    world.pack(row("p", "patch_a", WRAP), unmet, patch_a=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    with pytest.raises(
        ApplyError, match=r"q does not apply here: up 1\.0 is outside >=2"
    ):
        session.blocks.hold(["p", "q"])
    assert not {"up.mod", "pack.patch_a"} & sys.modules.keys()
    assert session.states["p"].holders == 0


def test_a_block_with_an_unknown_name(world: World) -> None:
    """The error for an unknown name lists the names of all patches, or says that there is none."""
    world.pack(row("p", "patch_a", WRAP), row("q", "patch_a", REPLACE), patch_a=BODY)
    with pytest.raises(
        UnknownPatchError, match=r"found 'r', expected a patch's name: p, q$"
    ):
        world.session().blocks.hold(["r"])
    session = world.session()
    session.arm(frozenset(), lent=True)
    for name in list(session.states):
        session.blocks.schedule.remove(name)
    with pytest.raises(UnknownPatchError, match=r"expected a patch's name: none$"):
        session.blocks.hold(["r"])


def test_a_block_whose_target_somebody_has_set_meanwhile(world: World) -> None:
    """The end of the block raises an UndoError, and leaves what the other has set."""
    session = a_world(world, WRAP, roles="{Role.WORKER}")
    session.arm(frozenset(), lent=True)
    session.blocks.hold(["p"])
    load("up.mod").function = theirs = object()
    with pytest.raises(UndoError, match=r"up\.mod.*function"):
        session.blocks.let_go(["p"])
    assert load("up.mod").function is theirs
    load("up.mod").function = None


def test_a_block_imports_what_it_changes(world: World) -> None:
    """A block imports its target, which is then in `sys.modules`, and changed."""
    session = a_world(world, WRAP)
    session.arm(frozenset(), lent=True)
    assert "up.mod" not in sys.modules
    session.blocks.hold(["p"])
    assert sys.modules["up.mod"].function() == ("by", "old")
    session.blocks.let_go(["p"])


def test_a_block_changes_what_was_imported_before(world: World) -> None:
    """A block changes a target that was imported before, and its end restores the original."""
    session = a_world(world, WRAP)
    session.arm(frozenset(), lent=True)
    module = load("up.mod")
    session.blocks.hold(["p"])
    assert module.function() == ("by", "old")
    session.blocks.let_go(["p"])
    assert module.function() == "old"


def test_a_block_with_patches_that_conflict(world: World) -> None:
    """A block whose patches conflict raises before any target or body executes."""
    world.module("seen")
    world.module("up.mod", UPSTREAM + "import seen\n")
    rows = row("p", "patch_a", WRAP, conflicts="('q',)"), row("q", "patch_a", WRAP)
    world.pack(*rows, patch_a=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    with pytest.raises(
        ApplyError, match=r"p \(pack\.patch_a\) failed: ApplyError: it conflicts"
    ):
        session.blocks.hold(["p", "q"])
    assert not {"up.mod", "pack.patch_a", "seen"} & sys.modules.keys()
    assert [state.holders for state in session.states.values()] == [0, 0]


@pytest.mark.parametrize("required", ["True", "False"])
def test_a_block_with_a_patch_that_fails(world: World, required: str) -> None:
    """A block raises with the cause where a patch fails, also one that is not required."""
    session = a_world(world, "Wrap('up.mod:absent', by='by')", WRAP, required=required)
    session.arm(frozenset(), lent=True)
    with pytest.raises(
        ApplyError, match=r"^patch p \(pack\.patch_a\) failed: TargetError"
    ) as caught:
        session.blocks.hold(["p"])
    assert isinstance(caught.value.__cause__, TargetError)
    state = session.states["p"]
    assert (state.holders, state.status) == (0, ARMED)
    assert load("up.mod").function() == "old"


def test_a_block_with_a_patch_that_has_failed_before(world: World) -> None:
    """A block raises the earlier failure of its patch, and does not try to apply it again."""
    session = a_world(world, "Wrap('up.mod:absent', by='by')", required="False")
    session.arm(MAIN)
    load("up.mod").absent = lambda: "there by now"
    with pytest.raises(
        ApplyError, match=r"^patch p \(pack\.patch_a\) failed: TargetError"
    ):
        session.blocks.hold(["p"])
    assert session.states["p"].holders == 0


def test_a_block_whose_target_cannot_be_imported(world: World) -> None:
    """The block's error names the patch, and has the error of the import as its cause."""
    world.module("up.mod", "raise OSError('no device')")
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    text = (
        r"patch p: its target's module up\.mod cannot be imported: OSError: no device"
    )
    with pytest.raises(ApplyError, match=text) as caught:
        session.blocks.hold(["p"])
    assert isinstance(caught.value.__cause__, OSError)


def test_a_block_imports_only_what_it_changes_here(world: World) -> None:
    """A block does not import the target of a change that is for other versions."""
    absent = "Wrap('up.absent:function', by='by', requires=('up>=2',))"
    session = a_world(world, WRAP, absent)
    session.arm(frozenset(), lent=True)
    session.blocks.hold(["p"])
    assert load("up.mod").function() == ("by", "old")
    session.blocks.let_go(["p"])


def test_a_block_does_not_import_the_module_of_a_before_import(world: World) -> None:
    """The module of a `BeforeImport` is not imported; an import within the block makes the call."""
    world.module("counter", "executed = 0\n")
    world.module("up.mod", UPSTREAM)
    body = "import counter\ndef before(): counter.executed += 1\n"
    world.pack(
        row("p", "patch_a", "BeforeImport('up.mod', call='before')"), patch_a=body
    )
    session = world.session()
    session.arm(frozenset(), lent=True)
    session.blocks.hold(["p"])
    assert "up.mod" not in sys.modules
    load("up.mod")
    assert load("counter").executed == 1
    session.blocks.let_go(["p"])


def test_a_block_within_the_import_of_its_target(world: World) -> None:
    """A block that begins while its target is still importing raises, and holds nothing."""
    world.module("seen", "")
    world.module("up.mod", UPSTREAM + "import seen\nseen.meanwhile()\n")
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    messages: list[str] = []

    def meanwhile() -> None:
        with pytest.raises(ApplyError) as error:
            session.blocks.hold(["p"])
        messages.append(str(error.value))

    load("seen").meanwhile = meanwhile
    assert load("up.mod").function() == "old"
    text = "patch p cannot be applied while up.mod or pack.patch_a is still importing"
    (message,) = messages
    assert message.partition(";")[0] == text
    assert session.states["p"].holders == 0


def test_a_block_applies_what_a_thread_has_loaded_meanwhile(world: World) -> None:
    """A block applies a patch whose body a thread had begun to import before arming."""
    gate: Any = load(world.module("gate").stem)
    gate.reached, gate.go = threading.Event(), threading.Event()
    world.module("up.mod", UPSTREAM + "def other(): ...\n")
    slow = BODY + "import gate\ngate.reached.set()\nassert gate.go.wait(20)\n"
    quick = BODY + "import gate\ngate.end()\n"
    rows = (
        row("p", "patch_slow", WRAP),
        row("q", "patch_quick", "Wrap('up.mod:other', by='by')"),
    )
    world.pack(*rows, patch_slow=slow, patch_quick=quick)
    session = world.session()
    thread = threading.Thread(target=load, args=("pack.patch_slow",))

    def end() -> None:
        gate.go.set()
        thread.join(20)

    gate.end = end
    load("up.mod")
    thread.start()
    assert gate.reached.wait(20)
    session.arm(frozenset(), lent=True)
    session.blocks.hold(["p", "q"])
    assert load("up.mod").function() == ("by", "old")
    session.blocks.let_go(["p", "q"])
    assert load("up.mod").function() == "old"


def test_a_block_waits_for_the_thread_that_loads_its_body(world: World) -> None:
    """A block begins once the thread that imports its patch's body has finished."""
    gate: Any = load(world.module("gate").stem)
    gate.reached, gate.never = threading.Event(), threading.Event()
    world.module("up.mod", UPSTREAM)
    slow = BODY + "import gate\ngate.reached.set()\ngate.never.wait(0.3)\n"
    world.pack(row("p", "patch_slow", WRAP), patch_slow=slow)
    session = world.session()
    session.arm(frozenset(), lent=True)
    thread = threading.Thread(target=load, args=("pack.patch_slow",))
    thread.start()
    assert gate.reached.wait(20)
    session.blocks.hold(["p"])
    assert load("up.mod").function() == ("by", "old")
    thread.join(20)
    session.blocks.let_go(["p"])
    assert load("up.mod").function() == "old"


# -- rows that blocks bring along -----------------------------------------------------------------


@pytest.fixture
def session(world: World) -> Session:
    """A session that knows `p` of one pack, and not yet `o` and `o2` of another pack."""
    world.pack(
        row("o", "patch_o", WRAP),
        row("o2", "patch_o", WRAP),
        name="other",
        patch_o=BODY,
    )
    session = a_world(world, WRAP)
    session.arm(frozenset(), lent=True)
    return session


def test_rows_that_a_block_brings(session: Session) -> None:
    """A row that a block has brought applies within a block only: no role applies it."""
    session.blocks.meet(read_pack("other"))
    session.enter(*MAIN)
    assert load("up.mod").function() == ("by", "old")
    session.blocks.hold(["o"])
    assert load("up.mod").function() == ("by", ("by", "old"))
    session.blocks.let_go(["o"])
    assert load("up.mod").function() == ("by", "old")


def test_rows_that_come_with_targets_of_their_own(
    world: World, session: Session
) -> None:
    """A target of a row that came late is patched again when it is imported again."""
    world.module("up.late", UPSTREAM)
    late = row("l", "patch_l", "Wrap('up.late:function', by='by')")
    world.pack(late, name="latecomer", patch_l=BODY)
    session.blocks.meet(read_pack("latecomer"))
    session.blocks.hold(["l"])
    del sys.modules["up.late"]
    assert load("up.late").function() == ("by", "old")
    session.blocks.let_go(["l"])


def test_rows_that_are_known_already(session: Session) -> None:
    """Rows that are known already keep their states when their pack is met again."""
    p_before = session.states["p"]
    session.blocks.meet(read_pack("pack"))
    session.blocks.meet(read_pack("other"))
    o_before = session.states["o"]
    session.blocks.meet(read_pack("other"))
    assert session.states["p"] == p_before
    assert session.states["o"] == o_before
    assert list(session.states) == ["p", "o", "o2"]


def test_rows_of_a_name_that_is_taken(world: World, session: Session) -> None:
    """Meeting a second pack with a row of the same name raises, and the first row stays."""
    world.pack(row("p", "patch_a", WRAP), name="namesake", patch_a=BODY)
    with pytest.raises(DeclarationError, match="namesake"):
        session.blocks.meet(read_pack("namesake"))
    assert session.states["p"].row.pack == "pack"


def test_forget_removes_rows_that_nobody_holds(session: Session) -> None:
    """`forget` removes the rows that no block holds and no role has, of all packs or of some."""
    session.blocks.meet(read_pack("other"))
    session.blocks.forget({"pack", "absent"})
    assert list(session.states) == ["p", "o", "o2"]
    session.blocks.hold(["o"])
    session.blocks.forget({"other"})
    assert list(session.states) == ["p", "o"]
    session.blocks.forget()
    assert list(session.states) == ["p", "o"]
    session.blocks.let_go(["o"])
    session.blocks.forget()
    assert list(session.states) == ["p"]
    with pytest.raises(UnknownPatchError):
        session.blocks.hold(["o"])
