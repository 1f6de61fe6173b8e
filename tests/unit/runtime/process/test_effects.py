"""What is called, never called, or not observable, as journals tell."""

from __future__ import annotations

import contextlib
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import row
from support.programs import program

from patchkit import Role
from patchkit.runtime.process.effects import (
    CALLED,
    NEVER_CALLED,
    NOT_OBSERVABLE,
    Compilers,
)
from runtime.process.lookouts import AWAIT

if TYPE_CHECKING:
    from support.packages import World

world = packages.world

UP = program(__file__, "effects_upstream")
BODY = program(__file__, "effects_body")


@pytest.fixture
def applied(world: World) -> Any:
    """Applies changes of `up.mod`, in a session with a journal, and says of each what it is."""

    def make(*changes: str) -> SimpleNamespace:
        world.module("up.mod", UP)
        world.pack(row("p", "patch_a", *changes, roles="{Role.MAIN}"), patch_a=BODY)
        session = world.session()
        session.journal.directory = str(world.journal)
        session.arm({Role.MAIN})
        mod = __import__("up.mod").mod
        effects = session.lookout.effects

        def words(*, is_last: bool = False) -> dict[str, str]:
            effects.look(is_last=is_last)
            told = [
                one for one in session.journal.entries if one["event"] == "in-effect"
            ]
            return {k: v for one in told for k, v in one["patches"]["p"].items()}

        return SimpleNamespace(mod=mod, words=words, session=session, effects=effects)

    return make


CALLS = {
    "Wrap('up.mod:function', by='by')": lambda mod: mod.function(),
    "Wrap('up.mod:Thing.method', by='by')": lambda mod: mod.Thing().method(),
    "Wrap('up.mod:Thing.plain', by='by')": lambda mod: mod.Thing.plain(),
    "Wrap('up.mod:Thing.size', by='by')": lambda mod: mod.Thing().size,
    "Wrap('up.mod:coroutine', by='by')": lambda mod: mod.coroutine().send(None),
    "Replace('up.mod:function', by='function')": lambda mod: mod.function(),
    "Replace('up.mod:function', by='cached')": lambda mod: mod.function(),
    "Replace('up.mod:Thing.size', by='size')": lambda mod: mod.Thing().size,
    "Replace('up.mod:Thing', by='Thing')": lambda mod: mod.Thing(),
    "Edit('up.mod:function', old=\"'old'\", new=\"'new'\")": lambda mod: mod.function(),
    "Add('up.mod:more', by='function')": lambda mod: mod.more(),
}


@pytest.mark.parametrize("change", CALLS)
def test_a_call_is_seen(applied: Any, change: str) -> None:
    """Never called before the first call, called after it, and for good."""
    world = applied(change)
    assert list(world.words().values()) == [NEVER_CALLED]
    with contextlib.suppress(StopIteration):
        CALLS[change](world.mod)
    assert list(world.words().values()) == [CALLED]
    assert list(world.words(is_last=True).values()) == [CALLED]


def test_a_look_of_the_session_tells_it(
    applied: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that looks whether targets were overwritten; it outlives what cannot be told."""
    world = applied("Replace('up.mod:function', by='function')")
    world.session.lookout.look()
    assert "in-effect" in [one["event"] for one in world.session.journal.entries]
    monkeypatch.setattr(type(world.effects), "look", lambda _: 1 / 0)
    world.session.lookout.look()


def test_a_cache_that_was_warm_before_it_was_observed(applied: Any) -> None:
    """It answers without its function: in a forked child, nobody sees that it was called."""
    world = applied("Replace('up.mod:function', by='cached')")
    world.mod.function()
    world.effects.after_fork()
    assert list(world.words(is_last=True).values()) == [NOT_OBSERVABLE]


def test_code_that_is_new_since_the_last_look(applied: Any) -> None:
    """A function that somebody gives other code later is seen by that."""
    world = applied("Replace('up.mod:function', by='function')")
    assert list(world.words().values()) == [NEVER_CALLED]
    world.mod.function.__code__ = (lambda: "newer").__code__
    assert list(world.words().values()) == [NEVER_CALLED]
    world.mod.function()
    assert list(world.words().values()) == [CALLED]


@pytest.mark.parametrize(
    "change",
    [
        "Replace('up.mod:LIMIT', by='LIMIT')",
        "Replace('up.mod:function', by='held', unrelated=True)",
        "Replace('up.mod:function', by='compiled', unrelated=True)",
        "Replace('up.mod:Bare', by='Pair', unrelated=True)",
        "Replace('up.mod:Bare', by='Mode', unrelated=True)",
        "Replace('up.mod:Bare', by='Bare')",
        "AddField('up.mod:Options', 'two', 'int', 2)",
    ],
)
def test_what_acts_unseen(applied: Any, change: str) -> None:
    """A constant, an instance, a field; a class whose objects are made by upstream's code."""
    assert list(applied(change).words().values()) == [NOT_OBSERVABLE]


def test_what_runs_with_an_import_was_called(applied: Any) -> None:
    """It was patchkit that called it."""
    assert applied("AfterImport('up.mod', call='beside')").words() == {"up.mod": CALLED}


def test_a_class_is_called_when_a_method_of_the_pack_runs(applied: Any) -> None:
    """Also through a subclass of somebody's; until then it may act unseen."""
    world = applied("Replace('up.mod:Bare', by='Bare')")
    sub = type("Sub", (world.mod.Bare,), {"__module__": "somebody"})
    assert world.words() == {"up.mod:Bare": NOT_OBSERVABLE}
    sub().method()
    assert world.words() == {"up.mod:Bare": CALLED}


def test_two_wrappers_of_one_function(applied: Any) -> None:
    """Each target has code of its own, though one body function is around both."""
    world = applied("Wrap('up.mod:function', by='by')", "Wrap('up.mod:other', by='by')")
    world.mod.other()
    assert world.words() == {"up.mod:function": NEVER_CALLED, "up.mod:other": CALLED}


def test_code_that_serves_two_targets(applied: Any) -> None:
    """Nobody knows for which it was called; before, it was called for neither."""
    world = applied(
        "Replace('up.mod:function', by='function')",
        "Replace('up.mod:other', by='function')",
    )
    assert set(world.words().values()) == {NEVER_CALLED}
    world.mod.other()
    assert set(world.words().values()) == {NOT_OBSERVABLE}


def test_only_what_is_new_is_written(applied: Any) -> None:
    """A look that finds nothing new leaves no entry; the last one says everything again."""
    world = applied("Wrap('up.mod:function', by='by')", "Wrap('up.mod:other', by='by')")
    entries = world.session.journal.entries
    for _ in range(3):
        world.effects.look()
    assert [one["event"] for one in entries].count("in-effect") == 1
    world.mod.other()
    world.effects.look()
    assert entries[-1]["patches"] == {"p": {"up.mod:other": CALLED}}
    world.effects.look(is_last=True)
    assert set(entries[-1]["patches"]["p"]) == {"up.mod:function", "up.mod:other"}


def test_undone_and_applied_again(applied: Any) -> None:
    """What was called before it was taken back is not called since."""
    world = applied("Wrap('up.mod:function', by='by')")
    world.mod.function()
    assert list(world.words().values()) == [CALLED]
    world.session.become([])
    world.effects.look()
    world.session.become([Role.MAIN])
    assert list(world.words().values()) == [NEVER_CALLED]


def test_without_a_journal_nothing_is_observed(world: World) -> None:
    """Nobody could read it."""
    world.module("up.mod", UP)
    change = "Wrap('up.mod:function', by='by')"
    world.pack(row("p", "patch_a", change, roles="{Role.MAIN}"), patch_a=BODY)
    session = world.session()
    session.arm({Role.MAIN})
    __import__("up.mod")
    session.lookout.effects.look()
    assert "in-effect" not in [one["event"] for one in session.journal.entries]


# -- forks and exits -------------------------------------------------------------------------------

FORKED = program(__file__, "effects_in_a_fork")


@pytest.mark.processes
def test_a_fork_begins_anew(world: World) -> None:
    """What the parent has called is not called in the child until the child calls it."""
    world.module("up.mod", UP)
    changes = "Wrap('up.mod:function', by='by')", "Wrap('up.mod:other', by='by')"
    world.pack(row("p", "patch_a", *changes, roles="set(Role)"), patch_a=BODY)
    child = world.answer(FORKED)
    told: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for one in world.entries():
        if one["event"] == "in-effect":
            told[one["pid"] == child] |= one["patches"]["p"]
    assert told[False] == {"up.mod:function": CALLED, "up.mod:other": CALLED}
    assert told[True] == {"up.mod:function": NEVER_CALLED, "up.mod:other": CALLED}


@pytest.mark.processes
def test_a_live_process_tells_soon(world: World) -> None:
    """A look of the verifier tells of a call, long before the process ends."""
    world.module("up.mod", UP)
    change = "Wrap('up.mod:function', by='by')"
    world.pack(row("p", "patch_a", change, roles="set(Role)"), patch_a=BODY)
    world.module("awaiting", AWAIT)
    code = """
    import patchkit.auto, awaiting
    from up.mod import function
    awaiting.await_entry(event="in-effect", patches={"p": {"up.mod:function": "never called"}})
    function()
    awaiting.await_entry(event="in-effect", patches={"p": {"up.mod:function": "called"}})
    print("true")
    """
    assert world.answer(code, PATCHKIT_VERIFY="0.01") is True


# -- torch.compile ---------------------------------------------------------------------------------


class _Context:
    def __init__(self, codes: list[Any]) -> None:
        self.traced_code = codes


def test_what_is_traced_is_called(applied: Any) -> None:
    """It runs as part of other code, never as a call."""
    world = applied("Wrap('up.mod:function', by='by')")
    context = _Context([])
    world.effects.compilers.begins(context)
    assert list(world.words().values()) == [NEVER_CALLED]
    context.traced_code.append(world.mod.function.__code__)
    del context
    assert list(world.words().values()) == [CALLED]


def test_tracings_are_forgotten() -> None:
    """Once they are over, and were looked at."""
    compilers = Compilers()
    context = _Context([sys._getframe().f_code])
    compilers.begins(context)
    assert compilers.traced() == {id(sys._getframe().f_code)}
    assert len(compilers.tracings) == 1
    del context
    assert len(compilers.traced()) == 1
    assert not compilers.tracings


def test_a_silent_compiler(applied: Any) -> None:
    """Where torch does not list what it traces, nobody knows what was never called."""
    world = applied("Wrap('up.mod:function', by='by')")
    world.effects.compilers.begins(object())
    assert list(world.words().values()) == [NOT_OBSERVABLE]
    world.mod.function()
    assert list(world.words().values()) == [CALLED]


@pytest.mark.parametrize(
    ("module", "change", "word"),
    [
        ("up.mod", "Wrap('up.mod:function', by='by')", NOT_OBSERVABLE),
        ("pack.patch_a", "Wrap('up.mod:function', by='by')", NOT_OBSERVABLE),
        ("other", "Wrap('up.mod:function', by='by')", NEVER_CALLED),
        (
            "other",
            "Edit('up.mod:function', old=\"'old'\", new=\"'new'\")",
            NOT_OBSERVABLE,
        ),
    ],
)
def test_an_artefact_of_a_cache(
    applied: Any, module: str, change: str, word: str
) -> None:
    """It may hold what was inlined in another process, of the modules that it names; or edits."""
    world = applied(change)
    sources = SimpleNamespace(inlined_sources=[SimpleNamespace(module=module)])
    world.effects.compilers.loads(SimpleNamespace(source_info=lambda: sources))
    assert list(world.words().values()) == [word]
