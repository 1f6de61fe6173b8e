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
from patchkit.errors import ApplyError
from patchkit.runtime.process.effects import (
    CALLED,
    NEVER_CALLED,
    NOT_OBSERVABLE,
    Compilers,
)
from runtime.process.lookouts import AWAIT

if TYPE_CHECKING:
    from support.packages import World

    from patchkit.runtime.process.session import Session

world = packages.world

UP = program(__file__, "effects_upstream")
BODY = program(__file__, "effects_body")


@pytest.fixture
def applied(world: World) -> Any:
    """Return a function that applies changes of `up.mod`, and tells which of them were called."""

    def make(*changes: str) -> SimpleNamespace:
        world.module("up.mod", UP)
        world.pack(row("p", "patch_a", *changes, roles="{Role.MAIN}"), patch_a=BODY)
        session = world.session()
        session.journal.directory = str(world.journal)
        session.arm({Role.MAIN})
        mod = __import__("up.mod").mod
        effects = session.lookout.effects

        def words(*, is_last: bool = False) -> dict[str, str]:
            """Look, and return the latest word of the journal on each target."""
            effects.look(is_last=is_last)
            latest: dict[str, str] = {}
            for entry in session.journal.entries:
                if entry["event"] == "in-effect":
                    latest |= entry["patches"]["p"]
            return latest

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
    "Decorate('up.mod:function', by='loud')": lambda mod: mod.function(),
    "Decorate('up.mod:Thing.size', by='loud')": lambda mod: mod.Thing().size,
}


@pytest.mark.parametrize("change", CALLS)
def test_a_call_is_seen(applied: Any, change: str) -> None:
    """A change is never called before its target's first call, and called from then on."""
    patched = applied(change)
    assert list(patched.words().values()) == [NEVER_CALLED]
    with contextlib.suppress(StopIteration):
        CALLS[change](patched.mod)
    assert list(patched.words().values()) == [CALLED]
    assert list(patched.words(is_last=True).values()) == [CALLED]


def test_a_look_of_the_session_writes_what_is_in_effect(
    applied: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's look writes an in-effect entry, and goes on where the observer raises."""
    patched = applied("Replace('up.mod:function', by='function')")
    patched.session.lookout.look()
    assert "in-effect" in [entry["event"] for entry in patched.session.journal.entries]
    monkeypatch.setattr(type(patched.effects), "look", lambda _: 1 / 0)
    patched.session.lookout.look()


def test_a_cache_that_was_warm_before_it_was_observed(applied: Any) -> None:
    """In a forked child, a cache that answers without its function is not observable."""
    patched = applied("Replace('up.mod:function', by='cached')")
    patched.mod.function()
    patched.effects.after_fork()
    assert list(patched.words(is_last=True).values()) == [NOT_OBSERVABLE]


def test_code_that_is_new_since_the_last_look(applied: Any) -> None:
    """A function that is given other code after a look is observed by its new code."""
    patched = applied("Replace('up.mod:function', by='function')")
    assert list(patched.words().values()) == [NEVER_CALLED]
    patched.mod.function.__code__ = (lambda: "newer").__code__
    assert list(patched.words().values()) == [NEVER_CALLED]
    patched.mod.function()
    assert list(patched.words().values()) == [CALLED]


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
def test_changes_that_are_not_observable(applied: Any, change: str) -> None:
    """Constants, instances, fields and classes that upstream instantiates are not observable."""
    assert list(applied(change).words().values()) == [NOT_OBSERVABLE]


def test_an_after_import_counts_as_called(applied: Any) -> None:
    """An `AfterImport` that was applied is called, since patchkit itself has called it."""
    assert applied("AfterImport('up.mod', call='beside')").words() == {"up.mod": CALLED}


def test_a_class_is_called_when_a_method_of_the_pack_runs(applied: Any) -> None:
    """A replaced class is not observable until a method runs, also through a subclass."""
    patched = applied("Replace('up.mod:Bare', by='Bare')")
    subclass = type("Sub", (patched.mod.Bare,), {"__module__": "somebody"})
    assert patched.words() == {"up.mod:Bare": NOT_OBSERVABLE}
    subclass().method()
    assert patched.words() == {"up.mod:Bare": CALLED}


def test_one_body_function_around_two_targets(applied: Any) -> None:
    """Each target is observed by itself, although the same body function wraps both."""
    patched = applied(
        "Wrap('up.mod:function', by='by')", "Wrap('up.mod:other', by='by')"
    )
    patched.mod.other()
    assert patched.words() == {"up.mod:function": NEVER_CALLED, "up.mod:other": CALLED}


def test_one_body_function_in_place_of_two_targets(applied: Any) -> None:
    """Both targets are never called before the function is, and not observable after."""
    patched = applied(
        "Replace('up.mod:function', by='function')",
        "Replace('up.mod:other', by='function')",
    )
    assert set(patched.words().values()) == {NEVER_CALLED}
    patched.mod.other()
    assert set(patched.words().values()) == {NOT_OBSERVABLE}


def test_only_what_is_new_is_written(applied: Any) -> None:
    """A look that finds nothing new leaves no entry; the last one says everything again."""
    patched = applied(
        "Wrap('up.mod:function', by='by')", "Wrap('up.mod:other', by='by')"
    )
    entries = patched.session.journal.entries
    for _ in range(3):
        patched.effects.look()
    assert [entry["event"] for entry in entries].count("in-effect") == 1
    patched.mod.other()
    patched.effects.look()
    assert entries[-1]["patches"] == {"p": {"up.mod:other": CALLED}}
    patched.effects.look(is_last=True)
    assert set(entries[-1]["patches"]["p"]) == {"up.mod:function", "up.mod:other"}


def test_a_patch_that_is_undone_and_applied_again(applied: Any) -> None:
    """A patch that was called before its undo counts as never called once it is applied again."""
    patched = applied("Wrap('up.mod:function', by='by')")
    patched.mod.function()
    assert list(patched.words().values()) == [CALLED]
    patched.session.become([])
    patched.effects.look()
    patched.session.become([Role.MAIN])
    assert list(patched.words().values()) == [NEVER_CALLED]


@pytest.fixture
def two_rows(world: World) -> Any:
    """Return a function that declares `p` for the main process, and `q` for an engine core."""
    roles = {"p": "{Role.MAIN}", "q": "{Role.ENGINE_CORE}"}

    def make(*, q_works: bool = True, **changes: str) -> Session:
        verify = {"p": "None", "q": "None" if q_works else "'function'"}
        world.module("up.mod", UP)
        rows = [
            row(name, f"patch_{name}", change, roles=roles[name], verify=verify[name])
            for name, change in changes.items()
        ]
        world.pack(*rows, patch_p=BODY, patch_q=BODY)
        session = world.session()
        session.journal.directory = str(world.journal)
        return session

    return make


def look_at_p(session: Session) -> list[str]:
    """Look, and return the latest words of the journal on the targets of `p`."""
    session.lookout.effects.look()
    words: dict[str, str] = {}
    for entry in session.journal.entries:
        if entry["event"] == "in-effect":
            words |= entry["patches"].get("p", {})
    return list(words.values())


WRAP = "Wrap('up.mod:function', by='by')"
EDIT = "Edit('up.mod:function', old=\"'old'\", new=\"'new'\")"


@pytest.mark.parametrize("is_looked_at", [True, False])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (WRAP, WRAP),
        (EDIT, "Edit('up.mod:function', old='return', new='return 1 and')"),
    ],
)
def test_a_call_of_what_a_later_row_has_made_anew(
    two_rows: Any, first: str, second: str, *, is_looked_at: bool
) -> None:
    """A target counts as called if what ran for it is gone at the next look."""
    session = two_rows(p=first, q=second)
    session.arm({Role.MAIN})
    mod = __import__("up.mod").mod
    if is_looked_at:
        assert look_at_p(session) == [NEVER_CALLED]
    mod.function()
    session.enter(Role.ENGINE_CORE)
    assert session.states["q"].status == "applied"
    assert look_at_p(session) == [CALLED]
    assert look_at_p(session) == [CALLED]


def test_a_call_of_what_an_undo_has_made_anew(two_rows: Any) -> None:
    """What an undo makes anew is observed at once, not from the next look on."""
    session = two_rows(
        q="Replace('up.mod:Bare', by='Bare')",
        p="Wrap('up.mod:Bare.method', by='by')",
        q_works=False,
    )
    session.arm({Role.MAIN})
    mod = __import__("up.mod").mod
    with pytest.raises(ApplyError, match="required patch q"):
        session.enter(Role.ENGINE_CORE)
    assert mod.Bare().method() == "old"
    assert look_at_p(session) == [CALLED]


def test_without_a_journal_nothing_is_observed(world: World) -> None:
    """A session without a journal folder makes no in-effect entry."""
    world.module("up.mod", UP)
    change = "Wrap('up.mod:function', by='by')"
    world.pack(row("p", "patch_a", change, roles="{Role.MAIN}"), patch_a=BODY)
    session = world.session()
    session.arm({Role.MAIN})
    __import__("up.mod")
    session.lookout.effects.look()
    assert "in-effect" not in [entry["event"] for entry in session.journal.entries]


# -- forks and exits -------------------------------------------------------------------------------

FORKED = program(__file__, "effects_in_a_fork")


@pytest.mark.processes
def test_a_fork_begins_anew(world: World) -> None:
    """What the parent has called is not called in the child until the child calls it."""
    world.module("up.mod", UP)
    changes = "Wrap('up.mod:function', by='by')", "Wrap('up.mod:other', by='by')"
    world.pack(row("p", "patch_a", *changes, roles="set(Role)"), patch_a=BODY)
    child = world.answer(FORKED)
    in_parent: dict[str, str] = {}
    in_child: dict[str, str] = {}
    for entry in world.entries():
        if entry["event"] == "in-effect":
            words = in_child if entry["pid"] == child else in_parent
            words |= entry["patches"]["p"]
    assert in_parent == {"up.mod:function": CALLED, "up.mod:other": CALLED}
    assert in_child == {"up.mod:function": NEVER_CALLED, "up.mod:other": CALLED}


@pytest.mark.processes
def test_a_live_process_tells_soon(world: World) -> None:
    """The verifier writes that a patch was called while the process still runs."""
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
    """What torch keeps of a tracing: the code objects that it has traced."""

    def __init__(self, codes: list[Any]) -> None:
        self.traced_code = codes


def test_what_is_traced_is_called(applied: Any) -> None:
    """Code that torch.compile has traced is called, as it runs inside of other code."""
    patched = applied("Wrap('up.mod:function', by='by')")
    context = _Context([])
    patched.effects.compilers.begins(context)
    assert list(patched.words().values()) == [NEVER_CALLED]
    context.traced_code.append(patched.mod.function.__code__)
    del context
    assert list(patched.words().values()) == [CALLED]


def test_tracings_are_forgotten() -> None:
    """A tracing that is over is dropped after the next look at what it traced."""
    compilers = Compilers()
    context = _Context([sys._getframe().f_code])
    compilers.begins(context)
    assert compilers.traced() == {id(sys._getframe().f_code)}
    assert len(compilers.tracings) == 1
    del context
    assert len(compilers.traced()) == 1
    assert not compilers.tracings


def test_a_compiler_that_does_not_list_what_it_traces(applied: Any) -> None:
    """A patch is not observable until it is called, where torch does not list what it traces."""
    patched = applied("Wrap('up.mod:function', by='by')")
    patched.effects.compilers.begins(object())
    assert list(patched.words().values()) == [NOT_OBSERVABLE]
    patched.mod.function()
    assert list(patched.words().values()) == [CALLED]


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
def test_an_artefact_from_the_compile_cache(
    applied: Any, module: str, change: str, word: str
) -> None:
    """An artefact makes edits, and changes of the modules that it has inlined, not observable."""
    patched = applied(change)
    sources = SimpleNamespace(inlined_sources=[SimpleNamespace(module=module)])
    patched.effects.compilers.loads(SimpleNamespace(source_info=lambda: sources))
    assert list(patched.words().values()) == [word]
