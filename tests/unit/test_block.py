from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import itertools
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import packages
import pytest
from packages import World, row

import patchkit
from patchkit import Role, applied, process
from patchkit.bodies import BodyFinder
from patchkit.errors import (
    ApplyError,
    DeclarationError,
    SettingsError,
    UndoError,
    UnknownPatchError,
    VersionError,
)
from patchkit.finder import Finder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

world = packages.world

BODY = """
from up.mod import function as original
def function(): return ('new', original())
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
def two(wrapped, instance, args, kwargs): return ('two', wrapped(*args, **kwargs))
def fill(module): module.filled = True
def ask(): return 'not today'
"""
UPSTREAM = "def function(): return 'old'\nclass Thing:\n    def method(self): return 'old'\n"
ROWS = (
    row("p", "patch_a", "Wrap('up.mod:function', by='by')", roles="{Role.WORKER}"),
    row("q", "patch_a", "Wrap('up.mod:Thing.method', by='two')", roles="{Role.ENGINE_CORE}"),
    row("broken", "patch_a", "Replace('up.mod:gone', by='function')"),
    row("optional", "patch_a", "Replace('up.mod:gone', by='function')", required="False"),
    row("old", "patch_a", "Wrap('up.mod:function', by='two')", requires="('up<1',)"),
    row("absent", "patch_a", "Wrap('up.mod:function', by='two')", requires="('no-such-dist',)"),
    row("asks", "patch_a", "Wrap('up.mod:function', by='two')", when="'ask'"),
    row("env", "patch_a", "Wrap('up.mod:function', by='two')", env="'ACME_FLAG'"),
    row("llm", "patch_a", "Provide('up.llm', by='fill')"),
    row("early", "patch_a", "BeforeImport('up.mod', call='ask')"),
    row("elsewhere", "patch_a", "Wrap('gone.mod:function', by='by')"),
)


@pytest.fixture(autouse=True)
def upstream(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A pack with a patch of each sort; this process is not armed."""
    world.module("up.mod", UPSTREAM)
    world.module("up.user", "from up.mod import function\n")
    world.pack(*ROWS, patch_a=BODY)
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=1.0")
    monkeypatch.setattr(process, "_here", process._Here())  # another test may have armed it
    return world


def load(name: str) -> Any:
    return importlib.import_module(name)


def trace() -> tuple[Any, ...]:
    """What a session leaves in a process."""
    return (
        list(sys.meta_path),
        importlib.util.spec_from_file_location,
        process.current(),
        process._here.session,
        [finder.is_resting for finder in sys.meta_path if isinstance(finder, BodyFinder)],
    )


# -- in a process that is not armed ---------------------------------------------------------------


def test_a_block_is_patched_and_nothing_after_it(world: World) -> None:
    """A worker's patch acts in a process without a role; then the very objects are back."""
    user = load("up.user")
    function, before = user.function, trace()
    with applied("p"):
        assert load("up.mod").function() == user.function() == ("by", "old")
        assert load("up.mod").Thing().method() == "old"
        assert process.current() is None
    assert load("up.mod").function is user.function is function
    assert trace() == before


def test_it_is_in_the_vocabulary(world: World) -> None:
    """`from patchkit import applied`, which imports no session."""
    code = """
import json, sys
from patchkit import applied
heavy = ["patchkit.process", "patchkit.session", "importlib.metadata", "asyncio"]
print(json.dumps([name for name in heavy if name in sys.modules]))
"""
    assert world.answer(code) == []
    assert "applied" in patchkit.__all__
    with pytest.raises(AttributeError, match="'patchkit' has no attribute 'aplied'"):
        patchkit.aplied  # type: ignore[attr-defined]  # noqa: B018


def test_targets_are_imported(world: World) -> None:
    """Whoever names a patch has its change made, though nobody has imported the target yet."""
    with applied("p"):
        assert sys.modules["up.mod"].function() == ("by", "old")
        assert load("up.user").function() == ("by", "old")
    assert load("up.user").function() == "old"


def test_what_was_copied_within_the_block_goes_back(world: World) -> None:
    """A module that was imported meanwhile has the original afterwards."""
    with applied("p"):
        world.module("up.late", "from up.mod import function\n")
        assert load("up.late").function() == ("by", "old")
    assert load("up.late").function is load("up.mod").function
    assert load("up.late").function() == "old"


def test_several_names_and_several_times(world: World) -> None:
    """Each in its place; once more after it was undone."""
    block = applied("q", "p")
    for _ in range(3):
        with block:
            module = load("up.mod")
            assert (module.function(), module.Thing().method()) == (("by", "old"), ("two", "old"))
        assert (module.function(), module.Thing().method()) == ("old", "old")


def test_no_name_is_all_that_is_for_here(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are left out without a word, as in an armed process."""
    monkeypatch.setenv("PATCHKIT_DISABLE", "broken,optional,elsewhere,asks,early")
    with applied():
        module = load("up.mod")
        assert (module.function(), module.Thing().method()) == (("by", "old"), ("two", "old"))
        assert load("up.llm").filled


def test_changes_that_come_before_an_import_wait_for_it(world: World) -> None:
    """A module is provided within the block, when it is imported, and not after it."""
    with applied("llm"):
        assert "up.llm" not in sys.modules
        assert load("up.llm").filled
    assert "up.llm" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    load("up.mod")
    with pytest.raises(ApplyError, match="was imported before"), applied("early"):
        pass


def test_the_blocks_own_error_comes_out(world: World) -> None:
    """Undo runs all the same."""
    function, before = load("up.mod").function, trace()
    with pytest.raises(KeyError, match="mine"), applied("p"):
        raise KeyError("mine")
    assert load("up.mod").function is function
    assert trace() == before


@pytest.mark.parametrize("own_error", [True, False])
def test_what_cannot_be_undone(world: World, own_error: bool) -> None:
    """Somebody overwrote the target: an error, unless the block has one of its own."""
    before = trace()
    other = object()

    def overwrite() -> None:
        with applied("p"):
            load("up.mod").function = other
            if own_error:
                raise KeyError

    with pytest.raises(KeyError if own_error else UndoError):
        overwrite()
    assert load("up.mod").function is other
    assert trace() == before


# -- nested, overlapping, again -------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_overlapping_blocks_end_in_any_order(world: World, order: tuple[int, ...]) -> None:
    """A patch is there as long as one block has it."""
    before, module = trace(), load("up.mod")
    function, method = module.function, module.Thing.method
    names = [("p",), ("p", "q"), ("q",)]
    blocks = [applied(*chosen) for chosen in names]
    for block in blocks:
        block.__enter__()
    left = set(range(3))
    for number in order:
        blocks[number].__exit__(None, None, None)
        left.discard(number)
        there = {name for one in left for name in names[one]}
        assert (module.function is not function) is ("p" in there)
        assert (module.Thing.method is not method) is ("q" in there)
    assert trace() == before


def test_a_block_within_itself(world: World) -> None:
    """One object, entered twice."""
    block = applied("p")
    with block:
        with block:
            assert load("up.mod").function() == ("by", "old")
        assert load("up.mod").function() == ("by", "old")
    assert load("up.mod").function() == "old"


# -- what is no silent nothing --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("old", "patch old is not for here: up 1.0 is outside <1"),
        ("absent", "patch absent is not for here: no-such-dist is not installed"),
        ("asks", "patch asks is not for here: not today"),
        ("env", "patch env is not for here: ACME_FLAG is not set"),
        ("broken", r"patch broken \(pack.patch_a\) failed: TargetError: target up.mod:gone"),
        ("optional", r"patch optional \(pack.patch_a\) failed: TargetError: target up.mod:gone"),
        ("elsewhere", "patch elsewhere: its target's module gone.mod cannot be imported"),
    ],
)
@pytest.mark.parametrize("policy", ["stop", "warn"])
@pytest.mark.parametrize("late", [True, False])
def test_a_patch_that_cannot_be_applied(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, said: str, policy: str, late: bool
) -> None:
    """An error that says why, whatever the policy; the others of the block come off again."""
    monkeypatch.setenv("PATCHKIT_ON_FAILURE", policy)
    before = trace()
    if late:
        load("up.mod")
    with pytest.raises(ApplyError, match=said) as caught, applied("p", name):
        pytest.fail("the block ran")
    assert load("up.mod").function() == "old"
    assert trace() == before
    if "failed" in said or "imported" in said:
        assert caught.value.__cause__ is not None
    with applied("p"):  # and nothing of it is left
        assert load("up.mod").function() == ("by", "old")


def test_switched_off_by_hand(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """PATCHKIT_DISABLE, PATCHKIT_ONLY and PATCHKIT=0 are said, not obeyed in silence."""
    monkeypatch.setenv("PATCHKIT_DISABLE", "p")
    with pytest.raises(ApplyError, match="p is not for here: disabled by PATCHKIT_DISABLE"):
        applied("p").__enter__()
    monkeypatch.setenv("PATCHKIT", "0")
    with pytest.raises(SettingsError, match="PATCHKIT is '0'"):
        applied("p").__enter__()
    assert process._here.borrowers == 0


def test_a_version_that_says_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error asks for the version."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=0.1.dev5+g123")
    before = trace()
    with pytest.raises(VersionError, match="PATCHKIT_VERSIONS=up=release"):
        applied("p").__enter__()
    assert trace() == before


def test_an_unknown_name(world: World) -> None:
    """A typing error names what there is."""
    before = trace()
    with pytest.raises(UnknownPatchError, match=r"'pp', expected a patch's name: .*p, q"):
        applied("pp").__enter__()
    assert trace() == before


def test_two_that_conflict(world: World) -> None:
    """Together they are refused; one alone is not disturbed by the other's being there."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')", conflicts="('q',)"),
        row("q", "patch_a", "Wrap('up.mod:function', by='two')"),
        patch_a=BODY,
    )
    with applied("p"):
        assert load("up.mod").function() == ("by", "old")
    with applied("q"):
        assert load("up.mod").function() == ("two", "old")
    with pytest.raises(ApplyError, match="conflicts with"), applied("p", "q"):
        pass


# -- packs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("packs", ["other", ("other",), ["other"]])
def test_a_pack_that_is_not_installed(world: World, packs: Any) -> None:
    """Its rows are known within the block only, and its other patches stay off."""
    world.pack(
        row("o", "patch_o", "Wrap('up.mod:function', by='by')"),
        row("o2", "patch_o", "Wrap('up.mod:Thing.method', by='by')"),
        name="other",
        patch_o=BODY,
    )
    with applied("o", packs=packs), applied("q"):
        assert load("up.mod").function() == ("by", "old")
        assert load("up.mod").Thing().method() == ("two", "old")
    with pytest.raises(UnknownPatchError):
        applied("o").__enter__()
    with applied("q"), applied("o", "p", packs=packs):
        assert load("up.mod").function() == ("by", ("by", "old"))
    assert process._here.session is None


def test_a_pack_that_cannot_be_read(world: World) -> None:
    """The error is the registry's, and nothing stays behind."""
    before = trace()
    with pytest.raises(DeclarationError, match="pack gone, import"):
        applied("p", packs="gone").__enter__()
    with applied("p"), pytest.raises(DeclarationError):
        applied("p", packs="gone").__enter__()
    assert trace() == before


# -- as a decorator -------------------------------------------------------------------------------


def test_a_function(world: World) -> None:
    """Each call has a block of its own; name and signature stay."""

    @applied("p")
    def work(number: int, *, deep: bool = False) -> Any:
        """Doc."""
        return load("up.mod").function() if not deep else work(number)

    assert work(1, deep=True) == ("by", "old")
    assert load("up.mod").function() == "old"
    assert (work.__name__, work.__doc__) == ("work", "Doc.")
    assert list(inspect.signature(work).parameters) == ["number", "deep"]


def test_a_coroutine_function(world: World) -> None:
    """Patched until it is through, also where it waits."""

    @applied("p")
    async def work() -> Any:
        await asyncio.sleep(0)
        return load("up.mod").function()

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(work()) == ("by", "old")
    assert load("up.mod").function() == "old"


def test_a_generator(world: World) -> None:
    """A fixture is one: patched from its first step to its end, and what is sent goes in."""

    @applied("p")
    def work() -> Iterator[Any]:
        sent = yield load("up.mod").function()
        yield sent
        return "end"

    generator: Any = work()
    assert inspect.isgeneratorfunction(work)
    assert load("up.mod").function() == "old"
    assert next(generator) == ("by", "old")
    assert load("up.mod").function() == ("by", "old")
    assert generator.send(3) == 3
    with pytest.raises(StopIteration, match="end"):
        next(generator)
    assert load("up.mod").function() == "old"


def test_an_asynchronous_generator(world: World) -> None:
    """The same for fixtures that wait; one that is left early is closed."""
    ended = []

    @applied("p")
    async def work() -> AsyncIterator[Any]:
        try:
            yield load("up.mod").function()
            yield 2
        finally:
            ended.append(load("up.mod").function())

    async def use() -> list[Any]:
        first = work()
        seen = [await first.__anext__()]
        await first.aclose()  # type: ignore[attr-defined]
        return seen + [value async for value in work()]

    assert inspect.isasyncgenfunction(work)
    assert asyncio.run(use()) == [("by", "old"), ("by", "old"), 2]
    assert ended == [("by", "old")] * 2
    assert load("up.mod").function() == "old"


def test_what_cannot_be_decorated() -> None:
    """Parentheses that were forgotten, a class: errors at once, not tests that never run."""
    with pytest.raises(UnknownPatchError, match=r"expected a patch's name: @applied\('name'\)"):

        @applied  # type: ignore[arg-type]
        def work() -> None: ...

    with pytest.raises(UnknownPatchError, match="decorate a class's methods"):

        @applied("p")
        class Tests: ...


# -- in an armed process --------------------------------------------------------------------------

ARMED = """
import json, sys
import {first}patchkit
from patchkit import Role, applied
from patchkit.process import arm, current
session = arm(frozenset({{Role.MAIN}}))
seen = []
def see():
    import up.mod
    states = {{name: state.status for name, state in session.states.items() if name in {names}}}
    seen.append([up.mod.function(), states])
{code}
print(json.dumps(seen))
"""


def armed(world: World, code: str, *names: str, first: str = "", **environ: str) -> Any:
    """Run code in a process that is armed as main; returns what `see()` saw."""
    text = ARMED.format(code=code, names=repr(set(names)), first=first)
    return world.answer(text, PATCHKIT_DISABLE="broken,optional,early,elsewhere", **environ)


def test_what_was_applied_stays_applied(world: World) -> None:
    """The block changes nothing, and takes nothing away."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:function', by='by')"), patch_a=BODY)
    code = """
see()
with applied("p"): see()
see()
"""
    assert armed(world, code, "p") == [[["by", "old"], {"p": "applied"}]] * 3


def test_what_was_armed_is_as_if_there_had_been_no_block(world: World) -> None:
    """Another role's patch is armed again; this role's stays, as its target is imported now."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        row("q", "patch_a", "Wrap('up.mod:function', by='two')", roles="{Role.WORKER}"),
        patch_a=BODY,
    )
    code = """
with applied("p"), applied("q"), applied("q"): see()
see()
session.enter(Role.WORKER)
see()
"""
    assert armed(world, code, "p", "q") == [
        [["two", ["by", "old"]], {"p": "applied", "q": "applied"}],
        [["by", "old"], {"p": "applied", "q": "armed"}],
        [["two", ["by", "old"]], {"p": "applied", "q": "applied"}],
    ]


def test_what_was_undone_is_off_again(world: World) -> None:
    """A patch that somebody had taken back comes back for the block only."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:function', by='by')"), patch_a=BODY)
    code = """
see()
session.undo(["p"])
see()
with applied("p"): see()
see()
"""
    on, off = [["by", "old"], {"p": "applied"}], ["old", {"p": "skipped"}]
    assert armed(world, code, "p") == [on, off, on, off]


def test_what_was_skipped_may_be_for_here_by_now(world: World) -> None:
    """The environment is asked again; afterwards the patch is skipped as before."""
    code = """
import os
world = session.states["env"]
session.enter(Role.MAIN)
see()
try: applied("env").__enter__()
except Exception as error: seen.append(str(error))
os.environ["ACME_FLAG"] = "1"
with applied("env"): see()
see()
"""
    skipped, held = ["old", {"env": "skipped"}], [["two", "old"], {"env": "applied"}]
    said = "patch env is not for here: ACME_FLAG is not set"
    assert armed(world, code, "env") == [skipped, said, held, skipped]


def test_a_failure_in_a_block_does_not_stop_the_process_later(world: World) -> None:
    """A patch of another role that failed in a test is armed again for its own."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:gone', by='by')", roles="{Role.WORKER}"), patch_a=BODY
    )
    code = """
try: applied("p").__enter__()
except Exception as error: seen.append(type(error).__name__)
see()
session.stop_if_failed()
"""
    assert armed(world, code, "p") == ["ApplyError", ["old", {"p": "armed"}]]


def test_packs_in_an_armed_process(world: World) -> None:
    """Rows that come for a block are gone after it, and were for no role meanwhile."""
    world.pack(
        row("o", "patch_o", "Wrap('up.mod:function', by='by')"),
        row("o2", "patch_o", "Wrap('up.mod:function', by='two')"),
        name="other",
        patch_o=BODY,
    )
    code = """
with applied("o", packs="other"):
    session.enter(Role.WORKER)
    see()
see()
"""
    assert armed(world, code, "o", "o2", PATCHKIT_PATCHES="") == [
        [["by", "old"], {"o": "applied", "o2": "armed"}],
        ["old", {}],
    ]


def test_a_process_that_is_armed_within_a_block(world: World) -> None:
    """Plugins of vLLM's arm it, say: one session goes on, with all its roles and nothing twice."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        row("q", "patch_a", "Wrap('up.mod:function', by='two')", roles="{Role.WORKER}"),
        row("r", "patch_a", "Wrap('up.mod:Thing.method', by='two')"),
        patch_a=BODY,
    )
    code = """
import json, sys
from patchkit import applied
from patchkit.finder import Finder
seen = []
def see():
    import up.mod
    finders = [type(one).__name__ for one in sys.meta_path if isinstance(one, Finder)]
    seen.append([up.mod.function(), up.mod.Thing().method(), finders])
with applied("p", "q"):
    see()
    import patchkit.plugin
    patchkit.plugin.general()
    see()
see()
with applied("q"): see()
print(json.dumps(seen))
"""
    assert world.answer(code) == [
        [["two", ["by", "old"]], "old", ["Finder", "BodyFinder"]],
        [["two", ["by", "old"]], ["two", "old"], ["Finder"]],
        [["by", "old"], ["two", "old"], ["Finder"]],
        [["two", ["by", "old"]], ["two", "old"], ["Finder"]],
    ]


def test_bodies_bring_patchkit_again_after_a_block(world: World) -> None:
    """A body that comes from elsewhere arms the process, but not one that a block loads."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        row("q", "patch_b", "Wrap('up.mod:function', by='by')"),
        patch_a=BODY,
        patch_b=BODY,
    )
    code = """
import json
from patchkit import applied, process
seen = []
with applied("p"): seen.append(process.current() is None)
seen.append(process.current() is None)
import pack.patch_b
seen.append(process.current() is None)
print(json.dumps(seen))
"""
    assert world.answer(code) == [True, True, False]


# -- children, threads ----------------------------------------------------------------------------


def test_a_forked_child_has_what_its_parent_had(world: World) -> None:
    """It lets go of it by itself, and the parent is not touched."""
    code = """
import json, os, up.mod
from patchkit import applied
read, write = os.pipe()
with applied("p"):
    if os.fork() == 0:
        try:
            first = up.mod.function()
            with applied("q"): second = up.mod.Thing().method()
            os.write(write, json.dumps([first, second]).encode())
        finally:
            os._exit(0)
    os.wait()
    print(json.dumps([json.loads(os.read(read, 100)), up.mod.function()]))
"""
    assert world.answer(code) == [[["by", "old"], ["two", "old"]], ["by", "old"]]


def test_blocks_in_threads(world: World) -> None:
    """Each thread's own patch comes and goes; one session, and nothing is left."""
    rows = [row(f"p{n}", "patch_a", f"Wrap('up.mod:f{n}', by='by')") for n in range(4)]
    world.module("up.mod", UPSTREAM + "".join(f"def f{n}(): return {n}\n" for n in range(4)))
    world.pack(*rows, patch_a=BODY)
    code = """
import json, sys, threading, up.mod
sys.setswitchinterval(1e-6)
from patchkit import applied, process
before, wrong, barrier = list(sys.meta_path), [], threading.Barrier(4)
def work(number):
    barrier.wait(10)
    for _ in range(20):
        with applied(f"p{number}"):
            if getattr(up.mod, f"f{number}")() != ("by", number): wrong.append(number)
        if getattr(up.mod, f"f{number}")() != number: wrong.append(number)
threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join(20)
left = [thread.is_alive() for thread in threads]
print(json.dumps([wrong, any(left), sys.meta_path == before, process._here.session is None]))
"""
    assert world.answer(code) == [[], False, True, True]


def test_another_thread_imports_the_body(world: World) -> None:
    """A block does not begin before its patches are applied, whoever is loading their body."""
    code = """
import json, sys, threading, up.mod
from importlib.machinery import PathFinder, SourceFileLoader
from patchkit import applied, process
begun, tried = threading.Event(), threading.Event()
class Slow(SourceFileLoader):
    def exec_module(self, module):
        begun.set()
        tried.wait(0.3)  # in vain, as the block waits for this very import
        super().exec_module(module)
class Slowing:
    def find_spec(self, name, path, target=None):
        if name == "pack.patch_a":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec
sys.meta_path.insert(0, Slowing())
with applied("llm"):  # so that importing a body does not arm the process
    other = threading.Thread(target=__import__, args=("pack.patch_a",), daemon=True)
    other.start()
    begun.wait(10)
    try:
        with applied("p"): seen = up.mod.function()
    except Exception as error:
        seen = str(error)
    tried.set()
    other.join(10)
print(json.dumps([seen, up.mod.function()]))
"""
    assert world.answer(code) == [["by", "old"], "old"]


def test_finders_of_others_stay(world: World) -> None:
    """A finder that was installed within a block is there afterwards."""

    class Other:
        def find_spec(self, *_: object) -> None: ...

    other, ours = Other(), {finder for finder in sys.meta_path if type(finder) is Finder}
    try:
        with ExitStack() as stack:
            stack.enter_context(applied("p"))
            sys.meta_path.insert(0, other)
            load("up.user")
        assert other in sys.meta_path
        assert {finder for finder in sys.meta_path if type(finder) is Finder} == ours
    finally:
        sys.meta_path.remove(other)


def test_roles_are_left_alone(world: World) -> None:
    """A block enters no role."""
    with applied("p"):
        assert process._here.session is not None
        assert process._here.session.roles == set[Role]()
