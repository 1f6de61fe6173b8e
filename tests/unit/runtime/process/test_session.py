from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from typing import Any

import pytest
from support import packages
from support.one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from support.packages import World, row
from support.undoing import apply, undo

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import APPLIED, ARMED

world = packages.world


# -- when ------------------------------------------------------------------------------------------


def test_arming_imports_nothing(world: World) -> None:
    """Neither upstream nor a body is imported before somebody asks for the target."""
    session = a_world(world)
    session.arm(MAIN)
    assert {"up", "up.mod", "pack.patch_a"}.isdisjoint(sys.modules)
    assert session.states["p"].status == ARMED


def test_a_patch_applies_when_its_target_is_imported(world: World) -> None:
    """Whoever imports the target gets it patched, and the journal names the module."""
    session = a_world(world)
    session.arm(MAIN)
    assert load("up.mod").function() == ("new", "old")
    assert session.states["p"].status == APPLIED
    entry = session.journal.entries[-1]
    assert entry["module"] == "up.mod"
    assert entry["status"] == APPLIED


def test_a_patch_waits_for_its_role(world: World) -> None:
    """A process has the original until it enters the patch's role, which applies the patch."""
    session = a_world(world, roles="{Role.WORKER}")
    session.arm(MAIN)
    module = load("up.mod")
    assert module.function() == "old"
    assert "pack.patch_a" not in sys.modules
    session.enter(Role.WORKER)
    assert module.function() == ("new", "old")


def test_a_patch_of_several_roles_applies_once(world: World) -> None:
    """A process that enters several roles of a patch wraps its target once."""
    session = a_world(world, WRAP, roles="{Role.MAIN, Role.WORKER}")
    session.arm(MAIN)
    module = load("up.mod")
    session.enter(Role.WORKER)
    session.enter(Role.ENGINE_CORE)
    assert module.function() == ("by", "old")
    assert session.roles == set(Role)


def test_a_module_that_was_imported_before_arming(world: World) -> None:
    """Arming patches a target that was imported before."""
    session = a_world(world)
    module = load("up.mod")
    session.arm(MAIN)
    assert module.function() == ("new", "old")


def test_applying_twice_changes_nothing(world: World) -> None:
    """Arming, entering and importing again leave an applied patch as it is."""
    session = a_world(world, WRAP)
    session.arm(MAIN)
    function = load("up.mod").function
    session.arm(MAIN)
    session.enter(Role.MAIN)
    apply(session, ["p"])
    session.imported("up.mod", load("up.mod"))
    assert load("up.mod").function is function


def test_a_row_may_touch_two_modules(world: World) -> None:
    """The changes of a row in two modules are made in each when it is imported."""
    world.module("up.other", "value = 1")
    session = a_world(world, REPLACE, "Replace('up.other:value', by='original')")
    session.arm(MAIN)
    assert load("up.mod").function() == ("new", "old")
    assert callable(load("up.other").value)


def test_a_change_for_another_version_is_left_out(world: World) -> None:
    """Of two changes for different versions, only the one for this version is made."""
    moved = "Replace('up.mod:gone', by='function', requires=('up<1',))"
    session = a_world(world, moved, REPLACE)
    session.arm(MAIN)
    assert load("up.mod").function() == ("new", "old")


def test_patches_of_one_target_apply_in_order(world: World) -> None:
    """A row with `after` wraps outside of the one that it names, wherever it is declared."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("outer", "patch_b", WRAP, after="('inner',)"),
        row("inner", "patch_a", WRAP),
        patch_a="def by(w, i, a, k): return ('inner', w())",
        patch_b="def by(w, i, a, k): return ('outer', w())",
    )
    world.session().arm(MAIN)
    assert load("up.mod").function() == ("outer", ("inner", "old"))


def test_becoming_another_role_and_back(world: World) -> None:
    """A process that becomes other roles has the patches of those only, each time."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("main", "patch_a", WRAP),
        row("both", "patch_b", WRAP, roles="{Role.MAIN, Role.WORKER}"),
        patch_a="def by(w, i, a, k): return ('main', w())",
        patch_b="def by(w, i, a, k): return ('both', w())",
    )
    session = world.session()
    session.arm(MAIN)
    module = load("up.mod")
    assert module.function() == ("both", ("main", "old"))
    session.become({Role.WORKER})
    assert module.function() == ("both", "old")
    assert session.states["main"].status == ARMED
    session.become(MAIN)
    assert module.function() == ("both", ("main", "old"))


def test_a_body_that_enters_the_role_again(world: World) -> None:
    """A body that enters the role that is being entered does not load later bodies early."""
    world.module("up.mod", UPSTREAM)
    world.module("gate")
    by = "def by(w, i, a, k): return ({!r}, w())\n"
    world.pack(
        row("one", "patch_a", WRAP, roles="{Role.WORKER}"),
        row("two", "patch_b", WRAP, roles="{Role.WORKER}", after="('one',)"),
        patch_a=by.format("one") + "import gate\ngate.enter()\n",
        patch_b=by.format("two") + "import up.mod\nas_loaded = up.mod.function()\n",
    )
    session = world.session()
    load("gate").enter = lambda: session.enter(Role.WORKER)
    session.arm(MAIN)
    load("up.mod")
    session.enter(Role.WORKER)
    assert load("pack.patch_b").as_loaded == ("one", "old")
    assert load("up.mod").function() == ("two", ("one", "old"))


# -- copies ----------------------------------------------------------------------------------------


def test_copies_made_before_a_late_apply_are_repointed(world: World) -> None:
    """A late apply repoints a copy by name elsewhere, and the undo points it back."""
    session = a_world(world)
    world.module("up.user", "from up.mod import function as theirs")
    user = load("up.user")
    session.arm(MAIN)
    assert user.theirs() == ("new", "old")
    assert session.journal.entries[-1]["rebound"] == ["up.user:theirs"]
    undo(session)
    assert user.theirs() == "old"


def test_a_circular_importer_is_repointed(world: World) -> None:
    """A module that copied a name while the target was half imported gets the new function."""
    session = a_world(world)
    world.module("up.mod", UPSTREAM + "import up.friend\n")
    world.module("up.friend", "from up.mod import function\n")
    session.arm(MAIN)
    load("up.mod")
    assert load("up.friend").function() == ("new", "old")
    assert session.journal.entries[-1]["rebound"] == ["up.friend:function"]


def test_a_circular_importer_that_came_first_is_patched(world: World) -> None:
    """A module whose import imports the target gets the new function in the first place."""
    session = a_world(world)
    world.module("up.mod", UPSTREAM + "import up.friend\n")
    world.module("up.friend", "from up.mod import function\n")
    session.arm(MAIN)
    assert load("up.friend").function() == ("new", "old")


def test_rebind_may_be_refused(world: World) -> None:
    """A change with `rebind=False` changes its target, and leaves copies as they are."""
    session = a_world(world, REPLACE.replace(")", ", rebind=False)"))
    world.module("up.user", "from up.mod import function")
    user = load("up.user")
    session.arm(MAIN)
    assert user.function() == "old"
    assert load("up.mod").function() == ("new", "old")


def test_a_copy_made_between_two_patches_follows(world: World) -> None:
    """A patch of a later role repoints a copy of the function that the first one put there."""
    world.module("up.mod", UPSTREAM)
    world.module("up.user", "from up.mod import function")
    world.pack(
        row("first", "patch_a", WRAP),
        row("second", "patch_b", WRAP, roles="{Role.WORKER}"),
        patch_a="def by(w, i, a, k): return ('first', w())",
        patch_b="def by(w, i, a, k): return ('second', w())",
    )
    session = world.session()
    session.arm(MAIN)
    user = load("up.user")
    session.enter(Role.WORKER)
    assert user.function() == ("second", ("first", "old"))


def test_undo_reaches_copies_made_since(world: World) -> None:
    """Undo gives the original to a module that was imported while the patch was applied."""
    session = a_world(world, WRAP)
    session.arm(MAIN)
    world.module("up.user", "from up.mod import function")
    user = load("up.user")
    undo(session, ["p"])
    assert user.function is load("up.mod").function
    assert user.function() == "old"


def test_subclasses_are_out_of_reach(world: World) -> None:
    """The journal names a class that derives from the original, as it goes on to do so."""
    world.module("up.mod", UPSTREAM)
    world.module("user", "import up.mod\nclass Sub(up.mod.Thing): ...")
    world.pack(
        row("p", "patch_a", "Replace('up.mod:Thing', by='Thing')"),
        patch_a="import up.mod\nclass Thing(up.mod.Thing): ...",
    )
    load("user")
    session = world.session()
    session.arm(MAIN)
    assert session.journal.entries[-1]["out_of_reach"] == ["user:Sub (derives from it)"]


# -- reload and eviction ---------------------------------------------------------------------------


def test_reload_applies_again(world: World) -> None:
    """A reloaded module is patched anew, once, and undo restores what the reload made."""
    session = a_world(world, WRAP)
    session.arm(MAIN)
    module = load("up.mod")
    importlib.reload(module)
    assert module.function() == ("by", "old")
    undo(session)
    assert module.function() == "old"


def test_a_body_executes_again_with_its_target(world: World) -> None:
    """A reload executes the body again, or imports it where somebody has thrown it out."""
    session = a_world(world)
    session.arm(MAIN)
    module = load("up.mod")
    first = module.function
    body = sys.modules["pack.patch_a"]
    importlib.reload(module)
    second = module.function
    assert second is not first
    assert sys.modules["pack.patch_a"] is body
    del sys.modules["pack.patch_a"]
    importlib.reload(module)
    assert module.function is not second
    assert sys.modules["pack.patch_a"] is not body


def test_eviction_and_a_second_import_apply_again(world: World) -> None:
    """A module thrown out of `sys.modules` and imported again is patched like the first."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod")
    del sys.modules["up.mod"]
    second = load("up.mod")
    assert second.function() == ("new", "old")
    assert sys.modules["pack.patch_a"].original.__code__ is not second.function.__code__


def test_a_second_import_replaces_the_second_class(world: World) -> None:
    """After an eviction, the body executes again and derives from the class of the new module."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("p", "patch_a", "Replace('up.mod:Thing', by='Thing')"),
        patch_a="import up.mod\nclass Thing(up.mod.Thing): ...",
    )
    world.session().arm(MAIN)
    first = load("up.mod").Thing
    del sys.modules["up.mod"]
    second = load("up.mod").Thing
    assert second.__module__ == "pack.patch_a"
    assert not issubclass(second, first.__mro__[1])


def _private_copy(module: Any) -> Any:
    """Execute a module once more, without `sys.modules`."""
    spec: Any = importlib.util.spec_from_file_location(module.__name__, module.__file__)
    copied = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    return copied


def test_a_private_copy_of_a_module_leaves_the_module_alone(world: World) -> None:
    """The module keeps its patch and its package's name; the copy has it once it stands there."""
    session = a_world(world, WRAP)
    session.arm(MAIN)
    module = load("up.mod")
    copied = _private_copy(module)
    assert (module.function(), copied.function()) == (("by", "old"), "old")
    assert load("up").mod is module
    sys.modules["up.mod"] = copied
    session.lookout.look_again()
    assert copied.function() == ("by", "old")


def test_a_private_copy_of_a_module_that_is_not_imported(world: World) -> None:
    """The copy has the patch; its package has nothing of that name, as in plain Python."""
    session = a_world(world, WRAP)
    world.module("pack.patch_a", "def by(w, i, a, k): return ('by', w())")
    module = load("up.mod")
    del sys.modules["up.mod"], load("up").mod
    session.arm(MAIN)
    assert _private_copy(module).function() == ("by", "old")
    assert not hasattr(load("up"), "mod")
    assert load("up.mod").function() == ("by", "old")
    assert load("up").mod is load("up.mod")


def test_reload_of_a_module_that_only_reexports(world: World) -> None:
    """A reload does not wrap a class twice that the module only imports from elsewhere."""
    world.module("up.inner", "class Thing:\n    def method(self): return 'old'\n")
    world.module("up.mod", "from up.inner import Thing")
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:Thing.method', by='by')"),
        patch_a="def by(w, i, a, k): return ('by', w())",
    )
    session = world.session()
    session.arm(MAIN)
    module = load("up.mod")
    importlib.reload(module)
    assert module.Thing().method() == ("by", "old")
    undo(session)
    assert module.Thing().method() == "old"


# -- looking again ---------------------------------------------------------------------------------


def test_looking_again_patches_a_module_whose_import_was_missed(world: World) -> None:
    """A look patches a target that it finds in `sys.modules`, once."""
    session = a_world(world)
    session.arm(MAIN)
    session.stand_down()
    module = load("up.mod")
    assert module.function() == "old"
    session.lookout.look_again()
    assert module.function() == ("new", "old")
    session.lookout.look_again()
    assert module.function() == ("new", "old")


def test_looking_again_finds_what_was_overwritten(world: World) -> None:
    """A look raises where somebody has overwritten an applied target."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod").function = len
    with pytest.raises(ApplyError, match="overwritten"):
        session.lookout.look_again()


def test_a_fork_while_another_thread_loads_a_body(world: World) -> None:
    """In a forked child, no thread is loading the body any more."""
    gate: Any = load(world.module("gate").stem)
    gate.reached, gate.go = threading.Event(), threading.Event()
    world.module("up.mod", UPSTREAM)
    slow = "import gate\ngate.reached.set()\nassert gate.go.wait(20)\n"
    world.pack(row("p", "patch_slow", WRAP), patch_slow=slow + BODY)
    session = world.session()
    session.arm(MAIN)
    (group,) = session.states["p"].groups
    thread = threading.Thread(target=load, args=("up.mod",))
    thread.start()
    try:
        assert gate.reached.wait(20)
        assert (group.thread, group.loads) == (thread.ident, True)
        session.after_fork()
        assert (group.thread, group.loads) == (None, False)
    finally:
        gate.go.set()
        thread.join(20)


def test_a_package_keeps_its_name_when_a_module_executes_again(world: World) -> None:
    """A reload of `up.late` leaves the name `late`, which the package has given a function."""
    world.module("up.late", "def late(): ...\n")
    world.module("up.__init__", "from .late import late\n")
    change = "BeforeImport('up.late', call='before')"
    world.pack(row("p", "patch_a", change), patch_a="def before(): ...\n")
    session = world.session()
    session.arm(MAIN)
    package = load("up")
    function = package.late
    assert callable(function)
    importlib.reload(sys.modules["up.late"])
    assert package.late is function
