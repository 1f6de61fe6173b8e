"""Several patches on one target: who lies where, who hides whom, who refuses whom."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import pytest
from support import packages
from support.one_patch import MAIN, UPSTREAM, WRAP, load
from support.packages import World, row
from support.undoing import undo

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import FAILED

world = packages.world

BY = "def by(w, i, a, k): return ({!r}, w())\ndef function(): return {!r}\n"
REPLACE = "Replace('up.mod:function', by='function')"
ROLES = ("MAIN", "ENGINE_CORE", "WORKER")


def a_pack(world: World, *changes: str, **fields: str) -> None:
    """Write patches p0, p1, … of one module, for main, for engine-core, for worker."""
    world.module("up.mod", UPSTREAM)
    rows = []
    for n, change in enumerate(changes):
        roles = f"{{Role.{ROLES[n]}}}"
        rows.append(row(f"p{n}", f"patch_{n}", change, **{"roles": roles, **fields}))
    world.pack(*rows, **bodies(len(changes)))


def bodies(count: int) -> dict[str, str]:
    """Bodies of p0, p1, …; each answers with the name of its patch."""
    return {f"patch_{n}": BY.format(f"p{n}", f"p{n}") for n in range(count)}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_layers_lie_in_the_order_of_the_rows(
    world: World, order: tuple[int, ...]
) -> None:
    """Wrappers lie in the order of their rows, whichever role came first, and in the journal."""
    a_pack(world, WRAP, WRAP, WRAP)
    session = world.session()
    session.arm(frozenset())
    module = load("up.mod")
    for number in order:
        session.enter(Role[ROLES[number]])
    assert module.function() == ("p2", ("p1", ("p0", "old")))
    entry = session.journal.entries[-1]
    assert entry["layers"] == {"up.mod:function": ["p0", "p1", "p2"]}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_replacements_the_later_row_wins(
    world: World, order: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The later row replaces, whichever role came first; without it the earlier one does.

    Journal and log say which one is hidden, as long as it is.
    """
    a_pack(world, REPLACE, REPLACE)
    session = world.session(log="info")
    session.arm(frozenset())
    module = load("up.mod")
    for number in order:
        session.enter(Role[ROLES[number]])
    assert module.function() == "p1"
    entry = session.journal.entries[-1]
    assert entry["layers"] == {"up.mod:function": ["p0", "p1"]}
    assert entry["hidden"] == {"up.mod:function": {"p0": "p1"}}
    said = "p0 is hidden by p1 at up.mod:function"
    assert capsys.readouterr().err.count(said) == 1
    undo(session, ["p1"])
    assert module.function() == "p0"
    entry = session.journal.entries[-1]
    assert (entry["name"], entry["status"], entry["hidden"]) == ("p0", "applied", {})
    assert entry["layers"] == {"up.mod:function": ["p0"]}


def test_one_target_alone_has_one_layer(world: World) -> None:
    """The journal names one layer, and nothing that is untraced."""
    a_pack(world, WRAP)
    session = world.session()
    session.arm(MAIN)
    load("up.mod")
    entry = session.journal.entries[-1]
    assert entry["layers"] == {"up.mod:function": ["p0"]}
    assert "untraced" not in entry


def test_a_constant_that_is_replaced_late_is_untraced(world: World) -> None:
    """The journal says that copies of a number that was imported before are not known."""
    a_pack(world, "Replace('up.mod:NUMBER', by='function')", roles="{Role.MAIN}")
    world.module("up.mod", UPSTREAM + "NUMBER = 8\n")
    session = world.session()
    load("up.mod")
    session.arm(MAIN)
    words = "a int, which is not told from its equals"
    assert session.journal.entries[-1]["untraced"] == {"up.mod:NUMBER": words}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("names", [{0: 1}, {1: 0}])
def test_patches_of_two_roles_conflict(
    world: World, first: int, names: dict[int, int]
) -> None:
    """Either role entry raises, whichever row names the other: a process may enter both."""
    world.module("up.mod", UPSTREAM)
    rows = []
    for n in range(2):
        roles = f"{{Role.{ROLES[n]}}}"
        conflicts = f"('p{names[n]}',)" if n in names else "()"
        rows.append(row(f"p{n}", f"patch_{n}", WRAP, roles=roles, conflicts=conflicts))
    world.pack(*rows, **bodies(2))
    session = world.session()
    session.arm(frozenset())
    module = load("up.mod")
    with pytest.raises(
        ApplyError, match=f"it conflicts with p{1 - first}, which is selected too"
    ):
        session.enter(Role[ROLES[first]])
    assert session.states[f"p{first}"].status == FAILED
    assert module.function() == "old"


def test_a_conflict_with_patches_that_are_left_out(world: World) -> None:
    """A patch does not conflict with one that is disabled, or that is for other versions."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("a", "patch_a", WRAP, conflicts="('b', 'c')"),
        row("b", "patch_b", WRAP),
        row("c", "patch_c", WRAP, requires="('up>5',)"),
        **{f"patch_{name}": BY.format(name, name) for name in "abc"},
    )
    session = world.session(disabled=("b",))
    session.arm(MAIN)
    assert load("up.mod").function() == ("a", "old")


def test_an_after_import_is_undone_before_the_next_execution(world: World) -> None:
    """A reload undoes the first call on the old module, and the new one is called afresh."""
    body = """
executions = []
def after(module):
    before, module.function = module.function, lambda: ('after', before())
    executions.append(before)
    def undo():
        module.function = before
    return undo
"""
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", "AfterImport('up.mod', call='after')"), patch_a=body)
    session = world.session()
    session.arm(MAIN)
    module: Any = load("up.mod")
    executions = load("pack.patch_a").executions
    importlib.reload(module)
    assert module.function() == ("after", "old")
    assert load("pack.patch_a").executions[-1] is not executions[0]
    undo(session)
    assert module.function is load("pack.patch_a").executions[-1]
