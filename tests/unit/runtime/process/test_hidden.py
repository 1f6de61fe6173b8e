"""Which replacements never act, as another one lies on them: the journal says so, always."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, row
from support.sampling import examples
from support.undoing import apply, disarm, undo

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

TARGETS = {
    "up.mod:function": lambda module: module.function(),
    "up.mod:Thing.method": lambda module: module.Thing().method(),
    "up.mod:Thing.static": lambda module: module.Thing.static(),
    "up.mod:TABLE['k']": lambda module: module.TABLE["k"](),
}
UPSTREAM = """
def function(): return ()
class Thing:
    def method(self): return ()
    @staticmethod
    def static(): return ()
TABLE = {'k': function}
"""
# What each body does: answer without the function below, or with the one that it has imported.
BODIES = {
    "Wrap": "def by(w, i, a, k): return ({name!r}, *w(*a, **k))",
    "Replace": "def by(*args): return ({name!r},)",
    "Calling": "import up.mod\nformer = {read}\ndef by(*args): return ({name!r}, *former(*args))",
}
READ = {
    "up.mod:function": "up.mod.function",
    "up.mod:Thing.method": "up.mod.Thing.method",
    "up.mod:Thing.static": "up.mod.Thing.static",
    "up.mod:TABLE['k']": "up.mod.TABLE['k']",
}


def told_hidden(session: Session) -> set[str]:
    """The patches that are applied and hidden, by their last entries."""
    last = {
        entry["name"]: entry
        for entry in session.journal.entries
        if entry["event"] == "patch"
    }
    return {
        name
        for name, entry in last.items()
        if entry["status"] == "applied" and entry.get("hidden")
    }


@settings(
    max_examples=examples(few=15, many=200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    target=st.sampled_from(sorted(TARGETS)),
    kinds=st.lists(st.sampled_from(sorted(BODIES)), min_size=2, max_size=5),
    steps=st.lists(
        st.tuples(st.booleans(), st.sets(st.integers(0, 4), max_size=3)), max_size=6
    ),
    together=st.booleans(),
)
def test_a_replacement_that_does_not_run_is_told_as_hidden_and_no_other(
    target: str, kinds: list[str], steps: list[Any], together: bool
) -> None:
    """Whatever is applied and undone, in any order, the journal agrees with what a call shows."""
    with pytest.MonkeyPatch.context() as patching:
        folder = Path(tempfile.mkdtemp())
        patching.syspath_prepend(str(folder))
        before = set(sys.modules)
        world = World(folder)
        session = a_session(world, target, kinds)
        try:
            session.arm(MAIN)
            module = load("up.mod")
            names = list(session.states)
            on = set(names)
            check(session, module, target, kinds, on)
            for is_undo, numbers in steps:
                chosen = [name for name in names if int(name[1:]) in numbers]
                for group in [chosen] if together else [[name] for name in chosen]:
                    if is_undo:
                        undo(session, group) if group else None
                        on -= set(group)
                    else:
                        apply(session, group)
                        on |= set(group)
                    check(session, module, target, kinds, on)
        finally:
            disarm(session)
            for name in set(sys.modules) - before:
                if name.partition(".")[0] in {"up", "pack"}:
                    del sys.modules[name]
            shutil.rmtree(folder)


def a_session(world: World, target: str, kinds: list[str]) -> Session:
    """Patches p0, p1, … of one target, each with a body of its own."""
    world.module("up.mod", UPSTREAM)
    rows = []
    bodies = {}
    for number, kind in enumerate(kinds):
        name = f"p{number}"
        change = "Wrap" if kind == "Wrap" else "Replace"
        rows.append(row(name, f"patch_{number}", f"{change}({target!r}, by='by')"))
        bodies[f"patch_{number}"] = BODIES[kind].format(name=name, read=READ[target])
    world.pack(*rows, **bodies)
    return world.session()


def check(
    session: Session, module: Any, target: str, kinds: list[str], on: set[str]
) -> None:
    """Compare who has acted in a call with whom the journal tells as hidden."""
    ran = set(TARGETS[target](module))
    replacing = {
        f"p{number}" for number, kind in enumerate(kinds) if kind != "Wrap"
    } & on
    assert told_hidden(session) == replacing - ran


BODY = "def by(*args): return {!r}\n"


def test_what_comes_below_is_told_as_hidden_in_its_first_entries(world: World) -> None:
    """A patch that is applied under another one, whose body ran before, is told as hidden."""
    session = a_session(world, "up.mod:function", ["Replace", "Replace"])
    session.arm(MAIN)
    load("up.mod")
    undo(session, ["p0"])
    apply(session, ["p0"])
    assert told_hidden(session) == {"p0"}


def test_of_two_targets_only_the_hidden_one_is_named(world: World) -> None:
    """A patch that is hidden at one of its targets names that one alone."""
    world.module("up.mod", UPSTREAM)
    both = (
        "Replace('up.mod:function', by='by')",
        "Replace('up.mod:Thing', by='Thing')",
    )
    more = "from up.mod import Thing as Old\nclass Thing(Old): ...\n"
    world.pack(
        row("p", "patch_a", *both),
        row("q", "patch_b", both[0]),
        patch_a=BODY.format("p") + more,
        patch_b=BODY.format("q"),
    )
    session = world.session()
    session.arm(MAIN)
    load("up.mod")
    entry = [entry for entry in session.journal.entries if entry.get("name") == "p"][-1]
    assert entry["hidden"] == {"up.mod:function": {"p": "q"}}
