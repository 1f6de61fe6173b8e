"""Bodies, as they are loaded for the modules that they change."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import weakref
from typing import Any

from support import packages
from support.one_patch import MAIN, UPSTREAM, WRAP, load
from support.packages import World, row

from patchkit.runtime.process.patch_state import APPLIED, ARMED, FAILED

world = packages.world

COUNTS = """
import counter
counter.executed += 1
from up.mod import Thing
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
"""


def test_a_body_executes_anew_with_its_module(world: World) -> None:
    """A body executes once for each execution of its target, and copies from the new module."""
    world.module("counter", "executed = 0\n")
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", WRAP), patch_a=COUNTS)
    world.session().arm(MAIN)
    module, counter = load("up.mod"), load("counter")
    first_class = module.Thing
    assert counter.executed == 1
    assert load("pack.patch_a").Thing is first_class
    importlib.reload(module)
    assert module.function() == ("by", "old")
    assert counter.executed == 2
    assert load("pack.patch_a").Thing is module.Thing is not first_class


def test_a_module_that_is_imported_again_and_again_is_not_kept(world: World) -> None:
    """Of a module that was imported once more nothing stays alive for the sake of its patches."""
    source = """
    from dataclasses import dataclass
    class Base:
        def method(self): ...
    class Thing(Base): ...
    @dataclass
    class Fields: a: int = 1
    def function(): return 'old'
    """
    world.module("up.mod", source)
    changes = [
        WRAP,
        "Wrap('up.mod:Thing.method', by='by')",
        "AddField('up.mod:Fields', 'new', 'int', default=0)",
    ]
    world.pack(
        row("one", "patch_a", *changes),
        row("two", "patch_a", WRAP, "Wrap('up.other:function', by='by')"),
        patch_a="def by(w, i, a, k): return ('by', w())",
    )
    world.module("up.other", UPSTREAM)
    session = world.session()
    session.arm(MAIN)
    former = []
    counts = []
    for _ in range(5):
        for name in ("up.mod", "up.other"):
            sys.modules.pop(name, None)
            module = load(name)
            former.append(weakref.ref(module))
        counts.append(len(list(session.sites)))
    del module
    gc.collect()
    # What a body that two rows share has held is let go of one import later.
    assert [reference() for reference in former[:6]] == [None] * 6
    assert counts[1:] == counts[1:2] * 4


def test_a_body_that_was_imported_before_its_target_executes_once(
    world: World,
) -> None:
    """The first import of the target does not execute a loaded body again."""
    world.module("counter", "executed = 0\n")
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", WRAP), patch_a=COUNTS)
    world.session().arm(MAIN)
    load("pack.patch_a")
    assert load("up.mod").function() == ("by", "old")
    assert load("counter").executed == 1


def test_a_body_that_needs_a_half_imported_module(world: World) -> None:
    """A patch waits, and says so, until the module is imported that its body needs."""
    world.module("up.mod", UPSTREAM)
    source = "import seen\nimport up.mod\nseen.note()\nlater = 1\n"
    world.module("up.whole", source)
    world.module("seen", "notes = []\ndef note(): notes.append(tell())\n")
    body = "from up.whole import later\ndef by(w, i, a, k): return ('by', w(*a, **k))\n"
    world.pack(row("p", "patch_a", WRAP), patch_a=body)
    session = world.session()
    session.arm(MAIN)
    state = session.states["p"]
    load("seen").tell = lambda: (state.status, state.reason)
    load("up.whole")
    waits = "waits for the end of the import of up.whole, which its body needs"
    assert load("seen").notes == [(ARMED, waits)]
    assert state.status == APPLIED
    assert load("up.mod").function() == ("by", "old")


def test_a_body_that_is_loaded_twice_leaves_upstreams_packages_whole(
    world: World,
) -> None:
    """What the first, failed import of a body took out of a package is in it in the end."""
    world.module("up.mod", UPSTREAM)
    world.module("up.whole", "import up.mod\nlater = 1\n")
    world.module("up.part", "import up.part.first\nfrom up.whole import later\n")
    world.module("up.part.first", "name = 'first'\n")
    world.module("up.more", "import up.more.inner.leaf\nfrom up.part import later\n")
    world.module("up.more.inner", "import up.more.inner.leaf\nimport up.part\n")
    world.module("up.more.inner.leaf", "name = 'leaf'\n")
    body = "import up.more\ndef by(w, i, a, k): return ('by', w(*a, **k))\n"
    world.pack(row("p", "patch_a", WRAP), patch_a=body)
    session = world.session()
    session.arm(MAIN)
    load("up.whole")
    assert session.states["p"].status == APPLIED
    up = load("up")
    assert up.part.first.name == "first"
    assert up.more.inner.leaf.name == "leaf"
    assert up.part is sys.modules["up.part"]


def test_a_body_that_needs_an_absent_module(world: World) -> None:
    """A patch fails with Python's error where its body imports an absent module."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("p", "patch_a", WRAP, required="False"), patch_a="import absent_module"
    )
    session = world.session()
    session.arm(MAIN)
    assert load("up.mod").function() == "old"
    state = session.states["p"]
    assert state.status == FAILED
    assert state.reason == "ModuleNotFoundError: No module named 'absent_module'"
    assert not any(group.loads for group in state.groups)


def test_a_body_that_looks_at_its_own_state(world: World) -> None:
    """A group is being loaded by this thread while its body executes, and by none after."""
    world.module("up.mod", UPSTREAM)
    world.module("seen")
    body = "import seen\nseen.note()\ndef by(w, i, a, k): return ('by', w(*a, **k))\n"
    world.pack(row("p", "patch_a", WRAP), patch_a=body)
    session = world.session()
    session.arm(MAIN)
    (group,) = session.states["p"].groups
    notes: list[Any] = []
    load("seen").note = lambda: notes.append((group.loads, group.thread))
    load("up.mod")
    assert notes == [(True, threading.get_ident())]
    assert (group.loads, group.thread) == (False, None)
